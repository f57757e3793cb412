"""What was looked for and not found is wanted; with it the verdict is as if it had always been there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import pytest

from tests.build import (
    NAMESPACE,
    NVIDIA,
    Raw,
    alternative,
    claim,
    controller,
    device_class,
    device_slice,
    exactly,
    first_available,
    gpu,
    namespace,
    node,
    owned_by,
    pod,
    pod_spec,
    template,
)
from tests.harness import NOW, reasons, review_of, server
from webhook.engine import decide
from webhook.fleet.build import build_fleet, with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.meta import ObjectRef
from webhook.policyfile import parse_policies

H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"
POLICIES = parse_policies(
    [
        (
            "policy.yaml",
            b"""
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: nvidia}
spec:
  models:
  - {name: h100, driver: gpu.nvidia.com, deviceClassName: gpu.nvidia.com,
     selector: 'device.attributes["gpu.nvidia.com"].productName.contains("H100")'}
  - {name: a100, driver: gpu.nvidia.com, deviceClassName: gpu.nvidia.com,
     selector: 'device.attributes["gpu.nvidia.com"].productName.contains("A100")'}
---
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: declared}
spec: {existing: {createdBefore: 2026-06-01, mode: warn}}
---
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: research}
spec:
  tier: research
  targets: [generatedClaims, claims]
  asks:
  - match: {shapes: ["*x h100"]}
    alternatives:
    - {name: pair, model: a100, countFactor: 2}
---
apiVersion: fallgate.dev/v1alpha1
kind: Checks
metadata: {name: catalogue}
spec: {mode: enforce}
---
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {name: gpus}
spec:
  driver: gpu.nvidia.com
  extendedResources: ["nvidia.com/gpu"]
  owners: [{nodeSelector: {matchLabels: {stack: plugin}}, owner: device-plugin}]
  default: dra
  action: deny
""",
        )
    ]
)


def of(product: str) -> str:
    return f'device.attributes["{NVIDIA}"].productName == "{product}"'


LIST = first_available("gpu", alternative("h100", NVIDIA, of(H100)), alternative("a100", NVIDIA, of(A100)))
CLUSTER = (
    namespace(labels={"fallgate.dev/tier": "research"}),
    device_class(),
    node("n-h100"),
    node("n-a100"),
    device_slice("n-h100", gpu("g0", H100)),
    device_slice("n-a100", gpu("g0", A100), gpu("g1", A100)),
)
KINDS = {"Namespace", "DeviceClass", "Node", "ResourceSlice", "Pod", "ResourceClaim", "ResourceClaimTemplate", "ReplicaSet"}

TEMPLATE = template("t", LIST)
OWNER = controller("ReplicaSet", "rs", pod_spec(), uid="rs-uid", creationTimestamp="2026-05-01T00:00:00Z")
POD = pod("p", templates={"gpu": "t"}, meta={"uid": "pod-uid"})
OWNED: Raw = {"ownerReferences": owned_by("ReplicaSet", "rs", "rs-uid", "apps/v1")}
OLD_POD = pod("p", templates={"gpu": "t"}, meta=OWNED)
GENERATED: Raw = {
    "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
    "ownerReferences": owned_by("Pod", "p", "pod-uid"),
}
DECLARES: Raw = {"annotations": {"fallgate.dev/compatible-shapes": "h100, 2x a100"}}
MISSING = "later.example.com"


def live(*objects: Raw, less: Iterable[str] = ()) -> Fleet:
    """A fleet as watches give it: every kind is looked at, and it is dated. `less` are kinds that are missing in it."""
    there = [item for item in (*CLUSTER, *objects) if item["kind"] not in less]
    return build_fleet(there, server=server(), as_of=NOW, observed=KINDS)


def answers(body: Raw, fleet: Fleet, absent: Iterable[ObjectRef] = (), now: datetime = NOW) -> list[Decision]:
    review = review_of(body)
    return [decide(review, fleet, POLICIES, now, phase=phase, absent=frozenset(absent)) for phase in ("mutate", "validate")]


def wanted(body: Raw, fleet: Fleet, absent: Iterable[ObjectRef] = ()) -> set[ObjectRef]:
    return {ref for decision in answers(body, fleet, absent) for ref in decision.wanted}


@pytest.mark.parametrize(
    ("body", "before", "late", "ref"),
    [
        (POD, (), TEMPLATE, ObjectRef(kind="ResourceClaimTemplate", namespace=NAMESPACE, name="t")),
        (
            pod("p", claims={"gpu": "c"}),
            (),
            claim("c", LIST),
            ObjectRef(kind="ResourceClaim", namespace=NAMESPACE, name="c"),
        ),
        (
            claim("c", LIST, **GENERATED),
            (TEMPLATE,),
            pod(
                "p", templates={"gpu": "t"}, meta={"uid": "pod-uid", "annotations": {"fallgate.dev/compatible-shapes": "h100"}}
            ),
            ObjectRef(kind="Pod", namespace=NAMESPACE, name="p", uid="pod-uid"),
        ),
        (
            # what the template itself declares is not copied into the claim
            claim("c", LIST, **GENERATED),
            (POD,),
            template("t", LIST, annotations={"fallgate.dev/compatible-shapes": "h100, a100"}),
            ObjectRef(kind="ResourceClaimTemplate", namespace=NAMESPACE, name="t"),
        ),
        (
            OLD_POD,
            (TEMPLATE,),
            OWNER,
            ObjectRef(kind="ReplicaSet", namespace=NAMESPACE, name="rs", uid="rs-uid", api_version="apps/v1"),
        ),
        (
            template("t", exactly("gpu", MISSING)),
            (),
            device_class(MISSING),
            ObjectRef(kind="DeviceClass", namespace="", name=MISSING),
        ),
        (
            POD,
            (template("t", first_available("gpu", alternative("h100", NVIDIA, of(H100)), alternative("any", MISSING))),),
            device_class(MISSING),
            ObjectRef(kind="DeviceClass", namespace="", name=MISSING),
        ),
        (
            pod("p", extended={f"deviceclass.resource.kubernetes.io/{MISSING}": "1"}),
            (node("n-plugin", {"stack": "plugin"}), device_slice("n-plugin", gpu("g0", H100))),
            device_class(MISSING),
            ObjectRef(kind="DeviceClass", namespace="", name=MISSING),
        ),
    ],
    ids=["template", "claim", "owner pod", "template of the owner pod", "owner", "class", "class of a template", "implicit"],
)
def test_with_what_is_wanted_it_is_as_if_it_had_always_been_there(
    body: Raw, before: tuple[Raw, ...], late: Raw, ref: ObjectRef
) -> None:
    early, always = live(*before), live(*before, late)
    assert wanted(body, early) == {ref}
    assert answers(body, with_objects(early, [late])) == answers(body, always) != answers(body, early)
    assert wanted(body, always) == set()
    # what does not exist is not looked for a second time
    assert wanted(body, early, {ref}) == set()


def test_a_namespace_that_was_made_a_moment_ago() -> None:
    body = claim("c", exactly("gpu", NVIDIA, of(H100)), **DECLARES)
    early = live(less={"Namespace"})
    ref = ObjectRef(kind="Namespace", namespace="", name=NAMESPACE)
    assert wanted(body, early) == {ref}
    assert [decision.patch for decision in answers(body, early)] == [(), ()]
    assert answers(body, with_objects(early, [CLUSTER[0]])) == answers(body, live())
    assert answers(body, live())[0].patch
    assert wanted(body, early, {ref}) == set()


def test_a_class_of_a_list_to_come_is_wanted_although_what_is_injected_is_read_again() -> None:
    """The call that finds it missing changes the object; what was looked for before is not forgotten."""
    policies = replace(
        POLICIES,
        tier_fallback=parse_policies(
            [
                (
                    "tier.yaml",
                    b"""
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: research}
spec:
  tier: research
  asks:
  - match: {deviceClasses: [gpu.nvidia.com]}
    alternatives:
    - {name: later, deviceClassName: later.example.com}
    - {name: any, deviceClassName: gpu.nvidia.com}
""",
                )
            ]
        ).tier_fallback,
        fallback_compatibility=(),
    )
    decision = decide(review_of(claim("c", exactly("gpu", NVIDIA, of(H100)))), live(), policies, NOW, phase="mutate")
    assert [op["path"] for op in decision.patch if "requests" in op["path"]]
    assert decision.wanted == (ObjectRef(kind="DeviceClass", namespace="", name=MISSING),)


BODY = template("t", exactly("gpu", MISSING))
CLASS = ObjectRef(kind="DeviceClass", namespace="", name=MISSING)


def test_a_missing_class_denies_only_when_it_was_looked_up_live() -> None:
    _, first = answers(BODY, live())
    assert (first.allowed, reasons(first)) == (True, ["class-missing"])
    assert first.warnings == (
        f"[class-missing] spec.spec.devices.requests[0].exactly.deviceClassName: no DeviceClass {MISSING} is known, and it was "
        "not looked up live: while it is missing no pod with this claim is scheduled (ask for another class, or have the class "
        "installed first)",
    )
    _, second = answers(BODY, live(), {CLASS})
    assert not second.allowed
    assert second.findings[0].finding.detail == (
        f"there is no DeviceClass {MISSING}: while it is missing no pod with this claim is scheduled"
    )


def test_in_a_folder_what_is_not_there_does_not_exist() -> None:
    fleet = replace(live(), as_of=None)
    assert not answers(BODY, fleet)[1].allowed
    assert wanted(BODY, fleet) == {CLASS}


def test_a_class_that_does_not_exist_is_missing_although_classes_are_not_watched() -> None:
    fleet = build_fleet([CLUSTER[0]], as_of=NOW)
    assert reasons(answers(BODY, fleet)[1]) == []
    assert wanted(BODY, fleet) == {CLASS}
    assert not answers(BODY, fleet, {CLASS})[1].allowed


def test_another_objects_absence_says_nothing() -> None:
    assert answers(BODY, live(), {replace(CLASS, name="other"), replace(CLASS, kind="Pod")})[1].allowed


def test_owners_of_kinds_that_are_not_watched_are_not_looked_for() -> None:
    fleet = live(TEMPLATE)
    assert wanted(OLD_POD, replace(fleet, observed=fleet.observed - {"ReplicaSet"})) == set()
    mirror = pod("p", templates={"gpu": "t"}, meta={"ownerReferences": owned_by("Node", "n-h100", "node-uid")})
    assert wanted(mirror, fleet) == set()


def test_the_owner_of_an_owner_is_looked_for_where_its_label_matters() -> None:
    above = controller("ReplicaSet", "rs", pod_spec(), uid="rs-uid", ownerReferences=owned_by("Job", "j", "j-uid", "batch/v1"))
    job = controller("Job", "j", pod_spec(), uid="j-uid", labels={"kueue.x-k8s.io/queue-name": "q"})
    asks = exactly("gpu", NVIDIA, of(H100))
    owner = pod("p", templates={"gpu": "t"}, meta={"uid": "pod-uid", **OWNED, **DECLARES})
    body, before = claim("c", asks, **GENERATED), (template("t", asks), owner, above)
    early = live(*before)
    early = replace(early, observed=early.observed | {"Job"})
    ref = ObjectRef(kind="Job", namespace=NAMESPACE, name="j", uid="j-uid", api_version="batch/v1")
    assert wanted(body, early) == {ref}
    assert [len(answers(body, fleet)[0].patch) > 0 for fleet in (early, with_objects(early, [job]))] == [True, False]


def test_a_pod_of_the_name_with_another_uid_is_not_the_owner() -> None:
    body = claim("c", LIST, **GENERATED)
    early = live(TEMPLATE)
    other = pod("p", templates={"gpu": "t"}, meta={"uid": "another"})
    ref = ObjectRef(kind="Pod", namespace=NAMESPACE, name="p", uid="pod-uid")
    assert wanted(body, with_objects(early, [other])) == {ref}
    assert [item.findings for item in answers(body, early, {ref})] == [item.findings for item in answers(body, early)]


def test_a_pod_whose_template_does_not_exist_says_nothing_about_its_likes() -> None:
    """What was found out with `absent` must not be remembered for the next pod, whose template may be there by then."""
    fleet = live()
    ref = ObjectRef(kind="ResourceClaimTemplate", namespace=NAMESPACE, name="t")
    assert wanted(POD, fleet, {ref}) == set()
    assert wanted(pod("q", templates={"gpu": "t"}), fleet) == {ref}


def test_what_no_rule_that_reads_the_cluster_is_asked_about_is_not_wanted() -> None:
    policies = replace(POLICIES, fallback_compatibility=(), tier_fallback=(), device_ownership=(), checks=())
    assert decide(review_of(BODY), live(), policies, NOW).wanted == ()
