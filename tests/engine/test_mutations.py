"""Changes: how several compose in every mode, and what exemptions hold back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    gpu,
    namespace,
    node,
    owned_by,
    pod,
    template,
)
from tests.harness import NOW, review_of
from tests.injecting import document, policies, tier
from tests.ownership import PLUGIN, ownership
from webhook.engine import Admission, admit, decide
from webhook.fleet.build import build_fleet, with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Finding, Mode
from webhook.model.json_patch import apply_patch
from webhook.model.labels import LabelSelector
from webhook.rulekit.policies import Checks, DeviceOwnership, Exemption, Header, Match, PolicySet
from webhook.rulekit.rule import Mutation, Rule
from webhook.rulekit.view import View

AMD, AMD_PLUGIN = "gpu.amd.com", "amd.com/gpu"
FLEET = build_fleet(
    [
        namespace(labels={"fallgate.dev/tier": "dev"}),
        device_class(),
        device_class(AMD),
        node("n-safe"),
        node("n-nvidia", allocatable={PLUGIN: "8"}),
        node("n-amd", allocatable={AMD_PLUGIN: "8"}),
        *(device_slice(name, gpu("g0")) for name in ("n-safe", "n-nvidia", "n-amd")),
        *(device_slice(name, device("c0"), driver=AMD) for name in ("n-safe", "n-nvidia", "n-amd")),
        template("nvidia"),
        template("amd", exactly("gpu", AMD)),
    ],
    observed=["Pod"],
)
POD = pod("p", templates={"nvidia": "nvidia", "amd": "amd"}, meta={"labels": {"app": "validator"}})


def steering(driver: str, mode: Mode) -> DeviceOwnership:
    resource = PLUGIN if driver == NVIDIA else AMD_PLUGIN
    policy = ownership(driver=driver, resources=(resource,), name=driver.replace(".", "-"))
    return replace(policy, header=replace(policy.header, mode=mode))


def both(nvidia: Mode, amd: Mode, *exemptions: Exemption, body: Raw = POD, fleet: Fleet = FLEET) -> Admission:
    owners = (steering(NVIDIA, nvidia), steering(AMD, amd))
    return admit(review_of(body), fleet, PolicySet(device_ownership=owners, exemptions=exemptions), NOW)


def avoided(body: Any) -> set[str]:
    """The nodes that the pod's affinity names."""
    affinity = (body["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    return {value for term in terms for entry in term["matchFields"] for value in entry["values"]}


STEERED: tuple[Mode, ...] = ("enforce", "warn", "audit")


@pytest.mark.parametrize(("nvidia", "amd"), [*product(STEERED, STEERED)])
def test_two_steering_policies_compose_in_every_mode(nvidia: Mode, amd: Mode) -> None:
    done = both(nvidia, amd)
    assert done.decision.allowed
    in_force = {name for name, mode in (("n-nvidia", nvidia), ("n-amd", amd)) if mode == "enforce"}
    assert avoided(done.object) == in_force
    # what modes hold back is composed with all the rest: nothing overwrites anything
    wished = apply_patch(done.object, done.decision.would_patch)
    assert avoided(wished) == {"n-nvidia", "n-amd"}
    assert wished["metadata"]["annotations"]["fallgate.dev/steered"].count('"policy"') == 2
    # and the validating call finds nothing: each policy would have its way
    assert {item.effect for item in done.decision.findings if not item.finding.detail.startswith("not done")} <= {"note"}


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_what_is_held_back_is_what_would_be_done(mode: Mode) -> None:
    held, done = both(mode, mode), both("enforce", "enforce")
    assert held.object == POD
    assert held.decision.would_patch == done.decision.patch
    assert apply_patch(POD, held.decision.would_patch) == done.object


KEPT_OFF = (
    'kept off by node affinity: request "gpu" may be given devices of gpu.nvidia.com that the device plugin has too: n-nvidia '
    "(nvidia.com/gpu allocatable 8, 1 device of gpu.nvidia.com)"
)


def exempt(**fields: Any) -> Exemption:
    return Exemption(**{"policy": "platform", "reason": "asks both ways", **fields})


@pytest.mark.parametrize("fields", [{}, {"rules": ("device-ownership",)}, {"rules": ("double-booking",)}])
@pytest.mark.parametrize("mode", STEERED)
def test_an_exempted_pod_is_not_steered(fields: dict[str, Any], mode: Mode) -> None:
    done = both(mode, mode, exempt(**fields))
    assert done.object == POD
    assert (done.decision.patch, done.decision.would_patch, done.decision.warnings) == ((), (), ())
    assert done.decision.allowed
    notes = [item for item in done.decision.findings if item.finding.detail.startswith("not done")]
    assert [(item.finding.rule, item.finding.reason, item.effect, item.mode) for item in notes] == [
        ("device-ownership", "exempted", "note", mode)
    ] * 2
    assert notes[0].finding.detail == ("not done because of exemption platform (asks both ways): " + KEPT_OFF)


@pytest.mark.parametrize(
    ("fields", "steered"),
    [
        ({"rules": ("mixed-request-styles",)}, {"n-nvidia", "n-amd"}),
        ({"rules": ("tier-fallback",)}, {"n-nvidia", "n-amd"}),
        ({"policies": ("gpu-nvidia-com",)}, {"n-amd"}),
        ({"namespaces": ("team-b",)}, {"n-nvidia", "n-amd"}),
        ({"users": ("tests",)}, set()),
        ({"users": ("others",)}, {"n-nvidia", "n-amd"}),
        ({"groups": ("g",)}, {"n-nvidia", "n-amd"}),
        ({"pods": LabelSelector(match_labels={"app": "validator"})}, set()),
        ({"pods": LabelSelector(match_labels={"app": "x"})}, {"n-nvidia", "n-amd"}),
        ({"expires": NOW}, set()),
        ({"expires": NOW - timedelta(seconds=1)}, {"n-nvidia", "n-amd"}),
        ({"effect": "warn"}, set()),
    ],
)
def test_an_exemption_holds_back_no_other_change(fields: dict[str, Any], steered: set[str]) -> None:
    assert avoided(both("enforce", "enforce", exempt(**fields)).object) == steered


def test_an_exemption_that_warns_says_what_would_have_been_done() -> None:
    done = both("enforce", "audit", exempt(effect="warn", policies=("gpu-nvidia-com",)))
    assert done.object == POD
    assert done.decision.allowed
    assert done.decision.warnings[0] == (
        '[device-ownership] spec.resourceClaims[0] "nvidia" -> ResourceClaimTemplate nvidia: '
        "spec.spec.devices.requests[0].exactly: not done because of exemption platform: "
        + KEPT_OFF
        + " (each node selector term gets matchFields: [{key: metadata.name, operator: NotIn, values: [n-nvidia]}])"
    )
    # the other policy's change is imagined, this one's is not: it is judged, and warns
    assert avoided(apply_patch(POD, done.decision.would_patch)) == {"n-amd"}
    assert len(done.decision.warnings) == 2


def test_of_two_exemptions_the_one_that_allows_counts() -> None:
    done = both("enforce", "enforce", exempt(effect="warn"), exempt(policy="other"))
    assert (done.decision.patch, done.decision.warnings) == ((), ())


def test_the_end_of_what_holds_back_a_change_is_announced() -> None:
    said = both("enforce", "off", exempt(expires=NOW + timedelta(days=14), owner="ops@example.com")).decision.warnings
    assert [text for text in said if "not done" in text] == [
        "[device-ownership] spec.resourceClaims[0]: not done because of exemption platform (asks both ways, asked for by "
        f"ops@example.com); it ends on 2027-01-15, in 14 days: {KEPT_OFF}"
    ]
    later = both("enforce", "off", exempt(expires=NOW + timedelta(days=14, seconds=1)))
    assert later.decision.warnings == ()
    audited = both("audit", "off", exempt(expires=NOW + timedelta(days=1)))
    assert audited.decision.warnings == ()


MODELS = policies(
    tier({"name": "pair", "deviceClassName": AMD}, {"name": "gone", "deviceClassName": "gone.example.com"}),
    document("Checks", "c"),
)
CLAIM = claim("c", exactly("gpu"))


def injected(*exemptions: Exemption, at: datetime = NOW) -> Admission:
    return admit(review_of(CLAIM), FLEET, replace(MODELS, exemptions=exemptions), at)


def test_without_an_exemption_the_list_is_injected() -> None:
    done = injected()
    assert done.object != CLAIM
    assert [item.finding.reason for item in done.decision.findings] == ["inject-default-list", "inject-left-out"]


@pytest.mark.parametrize("fields", [{}, {"rules": ("tier-fallback",)}, {"rules": ("inject-default-list",)}])
def test_an_exempted_claim_gets_no_list_and_no_lines_about_one(fields: dict[str, Any]) -> None:
    done = injected(exempt(**fields))
    assert done.object == CLAIM
    assert done.decision.warnings == ()
    (only,) = done.decision.findings
    assert (only.finding.reason, only.effect) == ("exempted", "note")


def test_an_exemption_from_a_line_is_none_from_the_list() -> None:
    done = injected(exempt(rules=("inject-left-out",)))
    assert done.object != CLAIM
    assert done.decision.warnings == ()


def test_an_injected_object_is_restored_whoever_is_exempted() -> None:
    stored = injected().object
    decision = decide(
        review_of(CLAIM, operation="UPDATE", old=stored),
        FLEET,
        replace(MODELS, exemptions=(exempt(),)),
        NOW,
        phase="mutate",
    )
    assert apply_patch(CLAIM, decision.patch)["spec"] == stored["spec"]


def test_a_forged_record_is_taken_off_whoever_is_exempted() -> None:
    forged = {**CLAIM, "metadata": {**CLAIM["metadata"], "annotations": {"fallgate.dev/injected": '{"requests":[]}'}}}
    decision = decide(review_of(forged), FLEET, replace(MODELS, exemptions=(exempt(),)), NOW, phase="mutate")
    assert [op["op"] for op in decision.patch] == ["remove"]


LABELLED = {"op": "add", "path": "/metadata/labels/seen", "value": "yes"}


def labels(_view: View, _policy: object) -> Mutation:
    return Mutation(ops=(LABELLED,))


def says_labels(view: View, _policy: object) -> Iterator[Finding]:
    yield Finding(rule="z-rule", reason="r", severity="note", detail=str(dict(view.meta.labels)))


@pytest.mark.parametrize(
    ("match", "exemptions", "seen"),
    [
        (Match(), (), True),
        (Match(device_classes=("other.example.com",)), (), False),
        (Match(), (exempt(rules=("a-rule",)),), False),
        (Match(), (exempt(rules=("a-rule",), effect="warn"),), False),
        (Match(), (exempt(rules=("a-rule",), expires=NOW - timedelta(days=1)),), True),
    ],
)
@pytest.mark.parametrize("phase", ["mutate", "validate"])
def test_only_what_a_mode_holds_back_is_imagined(
    use_rules: Callable[..., None],
    a_rule: Callable[..., Rule],
    match: Match,
    exemptions: tuple[Exemption, ...],
    seen: bool,
    phase: Any,
) -> None:
    plain = Header(kind="Checks", name="p", digest="1234567")
    held = replace(plain, name="h", mode="audit")
    use_rules(
        a_rule("a-rule", check=lambda _view, _policy: (), mutate=labels),
        a_rule("z-rule", check=says_labels, phases=frozenset({"mutate", "validate"})),
    )
    # the rule that changes things runs by one policy, the one that looks by both
    checks = (
        Checks(header=plain, rules={"a-rule": "off"}),
        Checks(header=replace(held, match=match), rules={"z-rule": "off"}),
    )
    decision = decide(review_of(POD), FLEET, PolicySet(checks=checks, exemptions=exemptions), NOW, phase=phase)
    found = [item.finding.detail for item in decision.findings if item.finding.reason == "r"]
    assert found == [str({"app": "validator", "seen": "yes"} if seen else {"app": "validator"})]


def test_the_pod_of_a_generated_claim_is_exempted_with_it() -> None:
    owned = {
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        "ownerReferences": owned_by("Pod", "owner", "u"),
    }
    owner = pod("owner", templates={"gpu": "nvidia"}, meta={"uid": "u", "labels": {"app": "validator"}})
    body, world = claim("c", exactly("gpu"), **owned), with_objects(FLEET, [owner])
    for app, patched in (("validator", False), ("trainer", True)):
        exemptions = (exempt(pods=LabelSelector(match_labels={"app": app})),)
        decision = decide(review_of(body), world, replace(MODELS, exemptions=exemptions), NOW, phase="mutate")
        assert bool(decision.patch) is patched
