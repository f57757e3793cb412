"""What the rule says, and when it says nothing. What is changed into what: tests/rules/tier-fallback."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    claim,
    controller,
    device_class,
    device_slice,
    exactly,
    fleet_of,
    gpu,
    local_queue,
    owned_by,
    pod,
    pod_spec,
    template,
)
from tests.harness import NOW, reasons, review_of
from tests.injecting import document, in_tier, policies, tier, view_of
from webhook.engine import admit, decide
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Finding
from webhook.model.json_patch import apply_patch
from webhook.rulekit.injection.restore import INJECTED
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.rule import Mutation
from webhook.rules.tier_fallback import RULE, check, mutate

MIG = "mig.nvidia.com"
PAIR = {"name": "pair", "deviceClassName": NVIDIA, "count": 2}
SLICE = {"name": "slice", "deviceClassName": MIG, "count": 1}
GONE = {"name": "gone", "deviceClassName": "gone.example.com", "count": 1}
POLICIES = policies(tier(PAIR, SLICE))
KEEP = "to keep the plain request, annotate the pod, claim or template with fallgate.dev/fallback: none"


def cluster(*objects: Raw, **server: Any) -> Fleet:
    return in_tier(fleet_of(device_class(NVIDIA), device_class(MIG, "true"), **server), *objects)


def mutated(body: Raw, policy_set: PolicySet = POLICIES, fleet: Fleet | None = None) -> Mutation:
    return mutate(view_of(body, fleet or cluster(), policy_set), policy_set.tier_fallback[0])


def checked(body: Raw, policy_set: PolicySet = POLICIES, fleet: Fleet | None = None) -> list[Finding]:
    return list(check(view_of(body, fleet or cluster(), policy_set), policy_set.tier_fallback[0]))


def said(findings: Any) -> list[tuple[str, str, str, str, str]]:
    assert all(item.rule == "tier-fallback" for item in findings)
    assert all(RULE.reason(item.reason).severity == item.severity for item in findings)
    return [(item.severity, item.reason, item.path, item.detail, item.remedy) for item in findings]


def test_a_list_that_is_injected() -> None:
    found = mutated(claim("c", exactly("nic", "other.example.com", mode="All"), exactly()))
    assert len(found.ops) == 3
    assert said(found.findings) == [
        (
            "note",
            "inject-default-list",
            "spec.devices.requests[1]",
            'by TierFallback default, request "gpu" becomes the list requested (1x gpu.nvidia.com, as asked), '
            "pair (2x gpu.nvidia.com), slice (1x mig.nvidia.com)",
            KEEP,
        )
    ]


def test_alternatives_left_out_and_nothing_left() -> None:
    gone = policies(tier(GONE))
    found = mutated(template("t"), policies(tier(GONE, targets=["templates"])))
    assert found.ops == ()
    label = gone.tier_fallback[0].header.name
    assert [(item.severity, item.reason, item.path, item.detail) for item in found.findings] == [
        (
            "warn",
            "inject-left-out",
            "spec.spec.devices.requests[0]",
            f"TierFallback {label} leaves out gone (1x gone.example.com): DeviceClass gone.example.com does not exist, and one "
            "missing class keeps the whole pod from being scheduled",
        ),
        (
            "warn",
            "inject-nothing-left",
            "spec.spec.devices.requests[0]",
            f'request "gpu" stays as it is: of the list of TierFallback {label} nothing is left',
        ),
    ]


def test_a_remedy_of_what_is_left_out() -> None:
    assert mutated(claim("c"), policies(tier(GONE))).findings[0].remedy == ""
    factor = policies(
        tier({"name": "x", "deviceClassName": MIG, "countFactor": 2}, match={"deviceClasses": ["*"], "allocationModeAll": True})
    )
    assert mutated(claim("c", exactly(mode="All")), factor).findings[0].remedy == "correct TierFallback default"


def test_why_the_policy_is_not_applied() -> None:
    found = mutated(claim("c"), fleet=cluster(local_queue()))
    assert found.ops == ()
    assert said(found.findings) == [
        (
            "note",
            "inject-skipped",
            "",
            "TierFallback default is not applied: namespace team-a has a LocalQueue, and Kueue cannot admit lists",
            "",
        )
    ]


def test_a_choice_that_does_not_exist() -> None:
    body = claim("c", annotations={"fallgate.dev/fallback": "big"})
    several = policies(tier(PAIR, SLICE), tier(SLICE, name="another", tiers="prod"))
    found = mutated(body, several, cluster(local_queue()))
    assert found.ops == ()
    assert said(found.findings) == [
        (
            "warn",
            "inject-choice-unknown",
            "",
            'fallgate.dev/fallback names TierFallback "big", which does not exist: nothing is injected',
            "write none, or one of another, default",
        )
    ]


@pytest.mark.parametrize(
    "body",
    [
        claim("c", exactly(adminAccess=True)),
        claim("c", annotations={"fallgate.dev/fallback": "another"}),
        template("t"),
        pod("p", templates={"gpu": "t"}),
        # a claim that nothing of the policy is for: not even the queue is worth a word
        claim("c", exactly(mode="All"), labels={"kueue.x-k8s.io/queue-name": "q"}),
        claim("c", exactly(mode="All"), annotations={"fallgate.dev/fallback": "big"}),
    ],
)
def test_nothing_to_say(body: Raw) -> None:
    several = policies(tier(PAIR, SLICE), tier(SLICE, name="another", tiers="prod"))
    assert mutated(body, several) == Mutation()


def test_counts_what_the_author_wrote_when_asked_again() -> None:
    twenty = {"name": "twenty", "deviceClassName": MIG, "count": 20}
    first = policies(tier({**SLICE, "name": "small"}, match={"deviceClasses": [NVIDIA]}))
    second = policies(tier(twenty, match={"deviceClasses": [MIG]}))
    body = claim("c", exactly(count=13), exactly("mig", MIG))
    once = apply_patch(body, mutated(body, first).ops)
    assert INJECTED in once["metadata"]["annotations"]
    # 13 as asked, not 1 as the list could make do with
    assert [item.reason for item in mutated(once, second).findings] == ["inject-left-out", "inject-nothing-left"]


def announced(*lists: str, whose: str, policy: str = "default") -> str:
    return f"{whose} get the list of TierFallback {policy}: {'; '.join(lists)}"


LIST = "becomes the list requested (1x gpu.nvidia.com, as asked), pair (2x gpu.nvidia.com), slice (1x mig.nvidia.com)"
TEMPLATE = "claims generated from this template"
PODS = "the claims of its pods"


def test_a_template_is_announced() -> None:
    body = template("t", exactly(), exactly("b"))
    assert said(checked(body)) == [
        (
            "warn",
            "inject-announced",
            "spec.spec.devices.requests",
            announced(f'request "gpu" {LIST}', f'request "b" {LIST}', whose=TEMPLATE),
            KEEP,
        )
    ]


def test_a_template_whose_pods_have_to_declare() -> None:
    spec: Raw = {"match": {"deviceClasses": [NVIDIA]}}
    devices = [device_slice("node-1", gpu("gpu-0"), gpu("gpu-1"))]
    declare = policies(tier(PAIR, **spec), document("FallbackCompatibility", "declared"))
    lists = "becomes the list requested (1x gpu.nvidia.com, as asked), pair (2x gpu.nvidia.com)"
    (finding,) = checked(template("t"), declare, cluster(*devices))
    assert finding.detail == announced(f'request "gpu" {lists}, as far as their pods declare it', whose=TEMPLATE)
    shapes = "fallgate.dev/compatible-shapes"
    (finding,) = checked(template("t", annotations={shapes: "2x *"}), declare, cluster(*devices))
    assert finding.detail == announced(f'request "gpu" {lists}', whose=TEMPLATE)
    # what the template says counts for all pods that say nothing
    assert checked(template("t", annotations={shapes: "h100-80gb"}), declare, cluster(*devices)) == []
    # a workload's pods are known
    workload = controller("Deployment", "d", pod_spec(templates={"gpu": "t"}))
    assert checked(workload, declare, cluster(*devices, template("t"))) == []
    # nobody asks for declarations
    (finding,) = checked(template("t"), policies(tier(PAIR, **spec)), cluster(*devices))
    assert finding.detail == announced(f'request "gpu" {lists}', whose=TEMPLATE)


def test_a_workload_is_announced() -> None:
    spec = pod_spec(templates={"one": "one", "two": "two", "gone": "gone"}, claims={"own": "own"})
    fleet = cluster(template("one"), template("two", exactly("b")), claim("own"))
    lists = (f'claim "one", request "gpu" {LIST}', f'claim "two", request "b" {LIST}')
    body = controller("Deployment", "d", spec)
    assert said(checked(body, fleet=fleet)) == [
        ("warn", "inject-announced", "spec.template.spec.resourceClaims", announced(*lists, whose=PODS), KEEP)
    ]
    body["metadata"]["ownerReferences"] = owned_by("Any", "above", "u")
    assert checked(body, fleet=fleet) == []
    body["metadata"]["ownerReferences"][0]["controller"] = False
    assert len(checked(body, fleet=fleet)) == 1


@pytest.mark.parametrize(
    ("body", "spec", "objects"),
    [
        # injected at once, or never
        (template("t"), {"targets": ["templates", "generatedClaims"]}, []),
        (template("t"), {"targets": ["claims"]}, []),
        (template("t"), {"tiers": "prod"}, []),
        (template("t", annotations={"fallgate.dev/fallback": "none"}), {}, []),
        (template("t", annotations={"fallgate.dev/fallback": "nobody"}), {}, []),
        (template("t"), {}, [local_queue()]),
        (template("t", exactly(mode="All")), {}, []),
        (claim("c"), {}, []),
        (controller("Deployment", "d", pod_spec(templates={"gpu": "t"})), {}, [local_queue(), template("t")]),
        (
            controller(
                "Deployment", "d", pod_spec(templates={"gpu": "t"}), pod_meta={"annotations": {"fallgate.dev/uniform": "true"}}
            ),
            {},
            [template("t")],
        ),
    ],
)
def test_nothing_to_announce(body: Raw, spec: Raw, objects: list[Raw]) -> None:
    assert checked(body, policies(tier(PAIR, SLICE, **spec)), cluster(*objects)) == []


def test_a_list_of_which_nothing_is_left_is_not_announced() -> None:
    assert checked(template("t"), policies(tier(GONE))) == []


def test_a_namespace_is_no_workload() -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    assert checked(body) == []


def test_in_warn_mode_the_change_is_said_and_not_made() -> None:
    body = claim("c")
    answer = admit(review_of(body), cluster(), policies(tier(PAIR, SLICE, mode="warn")), NOW)
    assert answer.object == body
    assert answer.decision.patch == ()
    assert answer.decision.warnings == (
        "[tier-fallback] spec.devices.requests[0]: not done in warn mode: "
        f'by TierFallback default, request "gpu" {LIST} ({KEEP})',
    )
    assert len(answer.decision.would_patch) == 3


def test_in_audit_mode_nothing_is_said() -> None:
    answer = admit(review_of(claim("c")), cluster(), policies(tier(PAIR, SLICE, mode="audit")), NOW)
    assert answer.decision.patch == ()
    assert answer.decision.warnings == ()
    assert reasons(answer.decision) == ["inject-default-list"]
    assert len(answer.decision.would_patch) == 3


def test_a_forged_record_goes_whatever_the_mode() -> None:
    body = claim("c", annotations={INJECTED: "x"})
    for policy_set in (PolicySet(), policies(tier(PAIR, mode="audit"))):
        decision = decide(review_of(body), cluster(), policy_set, NOW, phase="mutate")
        assert decision.patch == ({"op": "remove", "path": "/metadata/annotations/fallgate.dev~1injected"},)


def test_an_update_restores_whatever_the_mode() -> None:
    body = claim("c")
    stored = apply_patch(body, mutated(body).ops)
    capped = policies(tier(PAIR, mode="audit"))
    decision = decide(review_of(body, operation="UPDATE", old=stored), cluster(), capped, NOW, phase="mutate")
    assert apply_patch(body, decision.patch) == stored


def test_two_policies_of_one_tier() -> None:
    both = policies(
        tier(SLICE, match={"deviceClasses": [NVIDIA]}),
        tier({**PAIR, "deviceClassName": NVIDIA}, name="second", match={"deviceClasses": [MIG]}),
    )
    body = claim("c", exactly("a"), exactly("b", MIG))
    decision = decide(review_of(body), cluster(), both, NOW, phase="mutate")
    done = apply_patch(body, decision.patch)
    listed = [[item["name"] for item in request["firstAvailable"]] for request in done["spec"]["devices"]["requests"]]
    assert listed == [["requested", "slice"], ["requested", "pair"]]
    assert decide(review_of(done), cluster(), both, NOW, phase="mutate").patch == ()


def test_the_rule() -> None:
    assert (RULE.id, RULE.policy_kind, RULE.phases) == ("tier-fallback", "TierFallback", frozenset({"validate"}))
    assert RULE.subjects == {"ResourceClaim", "ResourceClaimTemplate", "Workload"}
    assert {reason.id for reason in RULE.reasons} == {
        "inject-default-list",
        "inject-left-out",
        "inject-nothing-left",
        "inject-skipped",
        "inject-choice-unknown",
        "inject-announced",
    }


def test_pods_of_injected_templates_are_not_denied_when_the_policy_has_changed() -> None:
    h100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
    cards = [gpu(f"gpu-{i}", "NVIDIA A100-SXM4-40GB", "40Gi") for i in range(3)]
    fleet = cluster(device_slice("node-1", gpu("gpu-0")), device_slice("node-2", *cards))
    declared = document("FallbackCompatibility", "declared")

    def asking(count: int) -> PolicySet:
        alternative = {"name": "more", "model": "a100-40gb", "count": count}
        return policies(tier(alternative, targets=["templates"], match={"deviceClasses": [NVIDIA]}), declared)

    tolerations = [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}]
    annotations = {"fallgate.dev/compatible-shapes": "2x a100-40gb"}
    body = template("t", exactly("gpu", NVIDIA, h100, tolerations=tolerations), annotations=annotations)
    stored = admit(review_of(body), fleet, asking(2), NOW).object
    assert INJECTED in stored["metadata"]["annotations"]
    later = in_tier(fleet, stored)
    # h100 is what the author asked for: nobody need declare it
    for count in (2, 3):
        assert admit(review_of(pod("p", templates={"gpu": "t"})), later, asking(count), NOW).decision.allowed
