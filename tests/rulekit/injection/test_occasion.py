"""Whose claim it is, what its author chose, and who is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    claim,
    controller,
    device_class,
    exactly,
    fleet_of,
    local_queue,
    namespace,
    owned_by,
    pod,
    pod_spec,
    template,
)
from tests.injecting import in_tier, policies, tier, view_of
from webhook.fleet.fleet import Fleet
from webhook.model.claim import Claim, ClaimTemplate
from webhook.rulekit.injection.occasion import (
    Occasion,
    choice,
    meant,
    occasion_to_come,
    occasion_under_review,
    unknown_choice,
    why_not,
)
from webhook.rulekit.policies import PolicySet

SLICE = {"name": "slice", "deviceClassName": "mig.nvidia.com", "count": 1}
POLICIES = policies(tier(SLICE), tier(SLICE, name="other", tiers="prod", targets=["templates"]))
POD = {"annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}, "ownerReferences": owned_by("Pod", "trainer", "u-1")}


def trainer(**meta: Any) -> Raw:
    return pod("trainer", templates={"gpu": "one-gpu"}, meta={"uid": "u-1", **meta})


def generated(**annotations: str) -> Raw:
    return claim("c", **{**POD, "annotations": {**POD["annotations"], **annotations}})


def fleet(*objects: Raw, labels: Any = None, **server: Any) -> Fleet:
    return in_tier(fleet_of(device_class(NVIDIA), **server), *objects, labels=labels)


def occasion(body: Raw, known: Fleet | None = None, policy_set: PolicySet = POLICIES) -> Occasion:
    view = view_of(body, known or fleet(), policy_set)
    assert isinstance(view.subject, Claim | ClaimTemplate)
    return occasion_under_review(view, policy_set.tier_fallback[0], view.subject, view.subject.spec)


def to_come(body: Raw, known: Fleet) -> Occasion:
    view = view_of(body, known, POLICIES)
    found = occasion_to_come(view, POLICIES.tier_fallback[0], view.pod_claims[0] if view.pod_claims else None)
    assert found is not None
    return found


def test_a_claim_made_by_hand() -> None:
    found = occasion(claim("c"))
    assert (found.target, found.pod, found.pod_claim, found.template, found.awaits_pod) == ("claims", None, "", None, False)


def test_what_only_looks_like_a_generated_claim() -> None:
    # nobody controls it
    found = occasion(claim("c", annotations=POD["annotations"]))
    assert (found.target, found.pod_claim, found.awaits_pod) == ("claims", "", False)
    # a pod owns it, and no entry of that pod is meant
    found = occasion(claim("c", ownerReferences=POD["ownerReferences"]), fleet(trainer(), template("one-gpu")))
    assert (found.target, found.pod_claim, found.template) == ("claims", "", None)


def test_a_template() -> None:
    found = occasion(template("t"))
    assert (found.target, found.pod, found.pod_claim, found.awaits_pod) == ("templates", None, "", False)


def test_a_generated_claim() -> None:
    found = occasion(generated(), fleet(trainer(), template("one-gpu")))
    assert (found.target, found.pod_claim, found.awaits_pod) == ("generatedClaims", "gpu", False)
    assert found.pod is not None
    assert found.pod.meta.name == "trainer"
    assert found.template is not None
    assert found.template.meta.name == "one-gpu"


def test_a_generated_claim_whose_template_or_entry_is_not_known() -> None:
    assert occasion(generated(), fleet(trainer())).template is None
    other = {**POD, "annotations": {"resource.kubernetes.io/pod-claim-name": "other"}}
    assert occasion(claim("c", **other), fleet(trainer(), template("one-gpu"))).template is None


def test_a_generated_claim_whose_pod_is_not_known() -> None:
    found = occasion(generated())
    assert (found.target, found.pod, found.template, found.awaits_pod) == ("generatedClaims", None, None, True)
    assert why_not(found) == "the pod it is for is not known (yet), nor what it declares"


@pytest.mark.parametrize("owner", [("PodGroup", "v1"), ("Pod", "example.com/v1")])
def test_a_claim_generated_for_something_else_awaits_no_pod(owner: tuple[str, str]) -> None:
    kind, api_version = owner
    body = claim("c", annotations=POD["annotations"], ownerReferences=owned_by(kind, "g", "u-2", api_version))
    found = occasion(body)
    assert (found.target, found.pod_claim, found.awaits_pod) == ("generatedClaims", "gpu", False)
    assert why_not(found) == ""


def test_what_is_no_claim_to_come() -> None:
    assert occasion_to_come(view_of(claim("c"), fleet(), POLICIES), POLICIES.tier_fallback[0]) is None
    missing = view_of(trainer(), fleet(), POLICIES)
    assert occasion_to_come(missing, POLICIES.tier_fallback[0], missing.pod_claims[0]) is None


def test_claims_to_come() -> None:
    found = to_come(template("t"), fleet())
    assert (found.target, found.pod, found.pod_claim, found.any_pod) == ("generatedClaims", None, "", True)
    workload = controller("Deployment", "d", pod_spec(templates={"gpu": "one-gpu"}), pod_meta={"labels": {"a": "b"}})
    found = to_come(workload, fleet(template("one-gpu")))
    assert (found.target, found.pod_claim, found.any_pod) == ("generatedClaims", "gpu", False)
    assert found.pod is not None
    assert found.pod.meta.labels == {"a": "b"}


SAYS = "fallgate.dev/fallback"


@pytest.mark.parametrize(
    ("body", "objects", "expected"),
    [
        (claim("c"), [], ""),
        (claim("c", annotations={SAYS: "none"}), [], "none"),
        (claim("c", annotations={SAYS: " other "}), [], "other"),
        (claim("c", annotations={SAYS: " "}), [], ""),
        (template("t", annotations={SAYS: "none"}), [], "none"),
        (template("t", claim_metadata={"annotations": {SAYS: "none"}}), [], "none"),
        (template("t", annotations={SAYS: "none"}, claim_metadata={"annotations": {SAYS: "other"}}), [], "other"),
        (generated(**{SAYS: "other"}), [trainer(annotations={SAYS: "none"}), template("one-gpu")], "none"),
        (generated(**{SAYS: "other"}), [trainer(), template("one-gpu", annotations={SAYS: "none"})], "other"),
        (generated(), [trainer(), template("one-gpu", annotations={SAYS: "none"})], "none"),
        (generated(), [trainer(annotations={SAYS: ""}), template("one-gpu", annotations={SAYS: "none"})], "none"),
    ],
)
def test_the_nearest_choice(body: Raw, objects: list[Raw], expected: str) -> None:
    assert choice(occasion(body, fleet(*objects))) == expected


@pytest.mark.parametrize(
    ("said", "policy", "expected"),
    [
        ("", 0, True),
        ("", 1, False),
        ("none", 0, True),
        ("default", 0, True),
        ("other", 0, False),
        ("other", 1, True),
        ("default", 1, False),
        # nobody of that name: the policy of the tier says so
        ("nobody", 0, True),
        ("nobody", 1, False),
    ],
)
def test_which_policy_is_meant(said: str, policy: int, expected: bool) -> None:
    both = policies(tier(SLICE), tier(SLICE, name="other", tiers="prod"))
    view = view_of(claim("c", annotations={SAYS: said}), fleet(), both)
    assert isinstance(view.subject, Claim)
    found = occasion_under_review(view, both.tier_fallback[policy], view.subject, view.subject.spec)
    assert meant(found) is expected
    assert unknown_choice(found) == ("nobody" if said == "nobody" else "")


@pytest.mark.parametrize(
    ("body", "targets", "expected"),
    [
        (claim("c"), ["claims"], True),
        (claim("c"), ["generatedClaims", "templates"], False),
        (template("t"), ["templates"], True),
        (template("t"), ["generatedClaims", "claims"], False),
        (generated(), ["generatedClaims"], True),
        (generated(), ["claims", "templates"], False),
    ],
)
def test_targets(body: Raw, targets: list[str], expected: bool) -> None:
    assert meant(occasion(body, policy_set=policies(tier(SLICE, targets=targets)))) is expected


@pytest.mark.parametrize(("value", "expected"), [("true", False), ("false", True)])
def test_claims_of_a_scheduler_that_is_not_known(value: str, expected: bool) -> None:
    body = claim("c", annotations={"resource.kubernetes.io/extended-resource-claim": value})
    assert meant(occasion(body)) is expected


def test_namespaces_without_a_tier() -> None:
    untiered = policies(tier(SLICE, tiers=["", "prod"]))
    known = fleet_of(namespace())
    assert meant(occasion(claim("c"), known, untiered))
    assert not meant(occasion(claim("c"), policy_set=untiered))


def test_opted_out() -> None:
    assert why_not(occasion(claim("c", annotations={SAYS: "none"}))) == "fallgate.dev/fallback: none opts it out"


def test_servers_that_drop_lists() -> None:
    text = "this API server (1.33) drops firstAvailable: feature gate DRAPrioritizedList is off"
    assert why_not(occasion(claim("c"), fleet(server="1.33"))) == text
    assert why_not(occasion(claim("c"), fleet(server="1.34"))) == ""
    assert why_not(occasion(claim("c"), fleet(server="1.33", gates={"DRAPrioritizedList": True}))) == ""


@pytest.mark.parametrize(("said", "expected"), [("true", True), ("false", False), ("True", False)])
def test_uniform_pods(said: str, expected: bool) -> None:
    known = fleet(trainer(annotations={"fallgate.dev/uniform": said}), template("one-gpu"))
    text = 'fallgate.dev/uniform: "true" on its pod asks for one shape only'
    assert why_not(occasion(generated(), known)) == (text if expected else "")


KUEUE = "kueue.x-k8s.io/queue-name"
QUEUED = "label kueue.x-k8s.io/queue-name gives it to a queue manager that cannot admit lists"


def owner(kind: str, name: str, uid: str, above: str = "", **labels: str) -> Raw:
    owners = owned_by("Any", "above", above) if above else []
    return controller(kind, name, pod_spec(), api_version="batch/v1", uid=uid, labels=labels, ownerReferences=owners)


@pytest.mark.parametrize(
    ("body", "known"),
    [
        (claim("c", labels={KUEUE: "q"}), fleet()),
        (claim("c"), fleet(labels={KUEUE: "q"})),
        (generated(), fleet(trainer(labels={KUEUE: ""}))),
        (generated(), fleet(trainer(ownerReferences=owned_by("Job", "j", "u-2")), owner("Job", "j", "u-2", **{KUEUE: "q"}))),
        (
            generated(),
            fleet(
                trainer(ownerReferences=owned_by("Job", "j", "u-2")),
                owner("Job", "j", "u-2", above="u-3"),
                owner("JobSet", "s", "u-3", **{KUEUE: "q"}),
            ),
        ),
    ],
)
def test_queue_managers(body: Raw, known: Fleet) -> None:
    assert why_not(occasion(body, known)) == QUEUED


@pytest.mark.parametrize(
    "known",
    [
        fleet(trainer(labels={"other": "q"})),
        fleet(trainer(ownerReferences=owned_by("Job", "j", "u-2"))),
        fleet(trainer(ownerReferences=owned_by("Job", "j", "u-2")), owner("Job", "j", "u-2")),
        fleet(trainer(ownerReferences=owned_by("Job", "j", "u-2")), owner("Job", "j", "u-2", above="u-3")),
        # controllers that own each other
        fleet(trainer(ownerReferences=owned_by("Job", "j", "u-2")), owner("Job", "j", "u-2", above="u-2")),
    ],
)
def test_no_queue_manager(known: Fleet) -> None:
    assert why_not(occasion(generated(), known)) == ""


def test_labels_that_the_policy_names() -> None:
    own = policies(tier(SLICE, skipWhen={"labels": ["example.com/queue"]}))
    assert why_not(occasion(claim("c", labels={KUEUE: "q"}), policy_set=own)) == ""
    found = why_not(occasion(claim("c", labels={"example.com/queue": "q"}), policy_set=own))
    assert found == "label example.com/queue gives it to a queue manager that cannot admit lists"


def test_local_queues() -> None:
    text = "namespace team-a has a LocalQueue, and Kueue cannot admit lists"
    assert why_not(occasion(claim("c"), fleet(local_queue()))) == text
    assert why_not(occasion(claim("c"), fleet(local_queue(namespace="other")))) == ""
    lenient = policies(tier(SLICE, skipWhen={"localQueues": False}))
    assert why_not(occasion(claim("c"), fleet(local_queue()), lenient)) == ""


def test_schedulers() -> None:
    own = policies(tier(SLICE, skipWhen={"schedulerNames": ["batch"]}))
    batch = pod("trainer", templates={"gpu": "one-gpu"}, meta={"uid": "u-1"}, schedulerName="batch")
    assert why_not(occasion(generated(), fleet(batch), own)) == "scheduler batch cannot place lists"
    assert why_not(occasion(generated(), fleet(batch))) == ""
    assert why_not(occasion(generated(), fleet(trainer()), own)) == ""
    assert why_not(occasion(claim("c", exactly()), policy_set=own)) == ""
