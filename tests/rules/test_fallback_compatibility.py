"""fallback-compatibility where manifests are not enough: several claims at once, injected lists, what was looked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    alternative,
    catalog,
    claim,
    controller,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
    namespace,
    owned_by,
    pod,
    pod_spec,
    product,
    result,
    template,
)
from tests.harness import NOW, ask, reasons, review_of
from webhook.engine import decide
from webhook.model.finding import Finding
from webhook.model.json_patch import apply_patch
from webhook.model.meta import ObjectRef
from webhook.model.review import Review
from webhook.policyfile import parse_policies
from webhook.rulekit.policies import FallbackCompatibility, Header, PolicySet
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View
from webhook.rules import fallback_count_differs
from webhook.rules.fallback_compatibility import check

H100, A100, T4 = "NVIDIA H100 80GB HBM3", "NVIDIA A100 40GB", "Tesla T4"
MODELS = catalog(product("h100", H100), product("a100", A100), product("t4", T4))
POLICY = FallbackCompatibility(header=Header(kind="FallbackCompatibility", name="p", digest="1a2b3c4"))
CLUSTER = (
    device_class(),
    device_slice("n-h100", gpu("g0", H100), gpu("g1", H100)),
    device_slice("n-a100", gpu("g0", A100), gpu("g1", A100)),
    device_slice("n-t4", gpu("g0", T4)),
)
SHAPES, WHEN = "fallgate.dev/compatible-shapes", "fallgate.dev/compatible-when"


def of(product_name: str) -> str:
    return f'device.attributes["{NVIDIA}"].productName == "{product_name}"'


ONE_H100 = alternative("h100", NVIDIA, of(H100))
TWO_A100 = alternative("a100-pair", NVIDIA, of(A100), count=2)
ONE_T4 = alternative("t4", NVIDIA, of(T4))
LIST = first_available("gpu", ONE_H100, TWO_A100)


def declares(text: str) -> Raw:
    return {"annotations": {SHAPES: text}}


def view_of(body: Raw, *objects: Raw, policies: PolicySet = MODELS, review: Review | None = None) -> View:
    group = body["apiVersion"].rpartition("/")[0]
    subject = read_subject(group, body["kind"], body)
    assert subject is not None
    fleet = fleet_of(*CLUSTER, *objects)
    return View(review=review or review_of(body), subject=subject, fleet=fleet, policies=policies, now=NOW)


def found(body: Raw, *objects: Raw, policy: FallbackCompatibility = POLICY, policies: PolicySet = MODELS) -> list[Finding]:
    return list(check(view_of(body, *objects, policies=policies), policy))


def places(findings: list[Finding]) -> list[tuple[str, str, str]]:
    return [(item.path, item.place, item.detail) for item in findings]


# One remedy for everything.


def remedy(body: Raw, *objects: Raw) -> list[str]:
    (text,) = {item.remedy for item in found(body, *objects) if item.reason == "shape-undeclared"}
    return text.splitlines()


def test_two_claims_get_one_remedy() -> None:
    second = template("b", first_available("x", ONE_H100, ONE_T4))
    body = pod("p", templates={"one": "a", "two": "b"}, meta=declares("h100"))
    assert places(found(body, template("a", LIST), second)) == [
        (
            "spec.resourceClaims[0]",
            "spec.spec.devices.requests[0].firstAvailable[1]",
            '"a100-pair": 2x a100 is not declared (declared: h100)',
        ),
        (
            "spec.resourceClaims[1]",
            "spec.spec.devices.requests[0].firstAvailable[1]",
            '"t4": 1x t4 is not declared (declared: h100)',
        ),
    ]
    assert remedy(body, template("a", LIST), second) == [
        "if the program handles it, add to the pod's annotations:",
        '  fallgate.dev/compatible-shapes: "h100, 2x a100, t4"',
        "otherwise remove the alternatives a100-pair and t4",
    ]


def test_what_another_request_is_declared_for_stays_in_the_remedy() -> None:
    body = template("t", LIST, first_available("nic", ONE_T4), **declares("gpu: h100, nic: t4"))
    assert remedy(body)[1:] == [
        '  fallgate.dev/compatible-shapes: "gpu: h100, nic: t4, gpu: 2x a100"',
        "otherwise remove the alternative a100-pair",
    ]


def test_a_nearer_annotation_repeats_what_a_condition_further_off_covers() -> None:
    further = namespace(annotations={WHEN: "shape.count == 1"})
    assert remedy(pod("p", templates={"one": "a"}), template("a", LIST), further)[1] == (
        '  fallgate.dev/compatible-shapes: "h100, 2x a100"'
    )
    own = pod("p", templates={"one": "a"}, meta={"annotations": {WHEN: "shape.count == 1"}})
    assert remedy(own, template("a", LIST), further)[1] == '  fallgate.dev/compatible-shapes: "2x a100"'


@pytest.mark.parametrize(
    ("requests", "text", "expected"),
    [
        ([LIST], "h100", "otherwise remove the alternative a100-pair"),
        ([LIST], "t4", "otherwise leave only alternatives that it runs on"),
        ([first_available("gpu", ONE_H100, TWO_A100, ONE_T4)], "h100", "otherwise remove the alternatives a100-pair and t4"),
        (
            [first_available("gpu", ONE_H100, TWO_A100, ONE_T4, alternative("any", NVIDIA, of(H100), count=2))],
            "h100",
            "otherwise remove the alternatives a100-pair, t4 and any",
        ),
        ([LIST, first_available("b", TWO_A100)], "h100", "otherwise leave only alternatives that it runs on"),
        ([LIST, first_available("b", ONE_H100, TWO_A100)], "h100", "otherwise remove the alternative a100-pair"),
    ],
)
def test_the_way_out(requests: list[Raw], text: str, expected: str) -> None:
    assert remedy(template("t", *requests, **declares(text)))[2] == expected


def test_where_a_generated_claims_pod_has_a_template_the_remedy_goes_there() -> None:
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    body = claim("c", LIST, annotations=annotations, ownerReferences=owned_by("Pod", "p", "u1"))
    meta: Raw = {"uid": "u1"}
    assert remedy(body, pod("p", templates={"gpu": "t"}, meta=meta))[0].endswith("add to the pod's annotations:")
    meta["ownerReferences"] = owned_by("Job", "j", "u2", "batch/v1")
    assert remedy(body, pod("p", templates={"gpu": "t"}, meta=meta))[0].endswith("add to the pod template's annotations:")
    assert found(body, pod("p", templates={"gpu": "t"}, meta=meta))[0].headline == (
        'pod "p" may be given devices that its owner has not declared it can run on'
    )


def test_an_owned_claim_that_was_not_generated_is_made_by_hand() -> None:
    by_hand = claim("c", LIST, ownerReferences=owned_by("Pod", "p", "u1"))
    findings = found(by_hand, pod("p", templates={"gpu": "t"}, meta={"uid": "u1", **declares("h100, 2x a100")}))
    assert [(item.reason, item.severity) for item in findings] == [("shape-undeclared", "warn")] * 2


# What was looked for.


def test_a_missing_template_is_wanted() -> None:
    view = view_of(pod("p", templates={"gpu": "t"}), namespace())
    (finding,) = check(view, POLICY)
    assert (finding.reason, finding.severity, finding.detail) == (
        "verdict-deferred",
        "note",
        "verdict deferred: template not found",
    )
    assert finding.via == ('spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate t',)
    assert view.wanted == (ObjectRef(kind="ResourceClaimTemplate", namespace="team-a", name="t"),)


def test_a_missing_claim_and_a_reference_of_the_future() -> None:
    (finding,) = found(pod("p", claims={"gpu": "c"}))
    assert finding.detail == "verdict deferred: claim not found"
    future = pod("p", templates={"gpu": "t"})
    future["spec"]["resourceClaims"] = [{"name": "gpu", "somethingNew": "t"}]
    (finding,) = found(future)
    assert finding.detail == "verdict deferred: this release does not know how the claim is referred to"


def test_an_unknown_owner_pod_is_wanted() -> None:
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    body = claim("c", LIST, annotations=annotations, ownerReferences=owned_by("Pod", "p", "u1"))
    view = view_of(body, namespace())
    (finding,) = check(view, POLICY)
    assert (finding.reason, finding.severity) == ("shape-uncertain", "warn")
    assert view.wanted == (ObjectRef(kind="Pod", namespace="team-a", name="p", uid="u1"),)
    # what is declared further off is a judgement, in either direction
    assert found(body, namespace(**declares("h100, 2x a100"))) == []
    (finding,) = found(body, namespace(**declares("h100")))
    assert (finding.reason, finding.severity) == ("shape-undeclared", "deny")
    plain = claim("c", exactly(), annotations=annotations, ownerReferences=owned_by("Pod", "p", "u1"))
    assert found(plain) == []
    by_hand = claim("c", LIST, ownerReferences=owned_by("Pod", "p", "u1"))
    assert [(item.reason, item.severity) for item in found(by_hand)] == [("shape-undeclared", "warn")] * 2


# Severities.


@pytest.mark.parametrize(
    ("on_uncertain", "workloads", "expected"),
    [("deny", "warn", "warn"), ("deny", "deny", "deny"), ("note", "deny", "note"), ("warn", "deny", "warn")],
)
def test_uncertainty_about_a_workload_weighs_at_most_what_workloads_do(
    on_uncertain: Any, workloads: Any, expected: str
) -> None:
    later = template("t", first_available("gpu", alternative("later", NVIDIA, of("B200"))))
    body = controller("Deployment", "web", pod_spec(templates={"gpu": "t"}), replicas=1)
    (finding,) = found(body, later, policy=replace(POLICY, on_uncertain=on_uncertain, workloads=workloads))
    assert (finding.reason, finding.severity) == ("shape-uncertain", expected)


def test_uncertainty_about_a_pod_weighs_what_the_policy_says() -> None:
    later = template("t", first_available("gpu", alternative("later", NVIDIA, of("B200"))))
    (finding,) = found(pod("p", templates={"gpu": "t"}), later, policy=replace(POLICY, on_uncertain="deny"))
    assert (finding.reason, finding.severity) == ("shape-uncertain", "deny")


def test_uncertainty_about_a_plain_ask_has_no_name_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.rulekit.shapes.enumeration.MOST_SHAPES", 2)
    body = template("t", exactly(), **declares("*"))
    details = [item.detail for item in found(body, policy=replace(POLICY, requests="all"))]
    assert details == ["more than 4,096 different shapes would have to be told apart"]


@pytest.mark.parametrize(("workloads", "expected"), [("warn", "warn"), ("deny", "deny")])
def test_a_workload_that_is_not_uniform_weighs_what_workloads_do(workloads: Any, expected: str) -> None:
    meta = {"annotations": {"fallgate.dev/uniform": "true", SHAPES: "h100, 2x a100"}}
    body = controller("Job", "train", pod_spec(templates={"gpu": "t"}), api_version="batch/v1", pod_meta=meta)
    (finding,) = found(body, template("t", LIST), policy=replace(POLICY, workloads=workloads))
    assert (finding.reason, finding.severity) == ("uniform-not-kept", expected)
    assert finding.headline == (
        'the pods of Job "train" are to get the same devices every time (fallgate.dev/uniform), but may get different ones'
    )


def test_a_generated_claim_of_a_uniform_pod() -> None:
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    body = claim("c", exactly(), annotations=annotations, ownerReferences=owned_by("Pod", "p", "u1"))
    owner = pod("p", templates={"gpu": "t"}, meta={"uid": "u1", "annotations": {"fallgate.dev/uniform": "true"}})
    (finding,) = found(body, owner)
    assert (finding.reason, finding.severity, finding.path) == ("uniform-not-kept", "deny", "spec.devices.requests[0]")


def test_a_declaration_one_level_too_high_weighs_what_is_missing_does() -> None:
    body = controller("Deployment", "web", pod_spec(templates={"gpu": "t"}), **declares("h100, 2x a100"))
    severities = [
        (item.reason, item.severity) for item in found(body, template("t", LIST), policy=replace(POLICY, workloads="deny"))
    ]
    assert severities == [
        ("shape-undeclared", "deny"),
        ("shape-undeclared", "deny"),
        ("declaration-misplaced", "deny"),
    ]


@pytest.mark.parametrize("meta", [declares("h100"), {"annotations": {WHEN: "shape.count == 1"}}])
def test_a_pod_template_that_declares_is_not_one_level_too_high(meta: Raw) -> None:
    body = controller("Deployment", "web", pod_spec(templates={"gpu": "t"}), pod_meta=meta, **declares("h100, 2x a100"))
    assert [item.reason for item in found(body, template("t", LIST))] == ["shape-undeclared"]


def test_both_annotations_may_be_one_level_too_high() -> None:
    both = {"annotations": {SHAPES: "h100", WHEN: "true"}}
    body = controller("Deployment", "web", pod_spec(templates={"gpu": "t"}), **both)
    assert [item.path for item in found(body, template("t", exactly()))] == [
        "metadata.annotations[fallgate.dev/compatible-shapes]",
        "metadata.annotations[fallgate.dev/compatible-when]",
    ]
    assert found(controller("Deployment", "web", pod_spec(), **both)) == []


def test_a_pods_controller_is_mentioned_only_when_something_is_missing() -> None:
    owner = controller("ReplicaSet", "web", pod_spec(), uid="u1", **declares("h100, 2x a100"))
    meta = {"ownerReferences": owned_by("ReplicaSet", "web", "u1", "apps/v1")}
    body = pod("p", templates={"gpu": "t"}, meta=meta)
    assert found(body, template("t", LIST, **declares("h100, 2x a100")), owner) == []
    missing = ["shape-undeclared", "shape-undeclared"]
    assert [item.reason for item in found(body, template("t", LIST), owner)] == [*missing, "declaration-misplaced"]
    assert [item.reason for item in found(body, template("t", LIST))] == missing
    assert [item.reason for item in found(pod("p", templates={"gpu": "t"}), template("t", LIST), owner)] == missing


# What cannot be read.


def test_a_faulty_declaration_further_off_is_reported_once_and_instead_of_what_is_missing() -> None:
    body = pod("p", templates={"one": "t", "two": "t"})
    (finding,) = found(body, template("t", LIST), namespace(**declares("2x")))
    assert (finding.reason, finding.severity, finding.path) == ("declaration-invalid", "deny", "spec.resourceClaims[0]")
    assert (finding.place, finding.detail) == (f"{SHAPES} of Namespace team-a", "cannot be read: a model is missing here")


def test_a_faulty_declaration_of_a_template_denies_its_pods_and_claims() -> None:
    bad = template("t", LIST, claim_metadata=declares("2x"))
    (finding,) = found(pod("p", templates={"gpu": "t"}), bad)
    assert finding.place == f"{SHAPES} of ResourceClaimTemplate t"
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu", SHAPES: "2x"}
    generated = claim("c", LIST, annotations=annotations, ownerReferences=owned_by("PodGroup", "g", "u1"))
    (finding,) = found(generated)
    assert (finding.place, finding.headline) == (
        f"{SHAPES} of ResourceClaim c",
        'a declaration that is in force for ResourceClaim "c" cannot be read',
    )


def test_a_faulty_declaration_does_no_harm_where_nothing_has_to_be_declared() -> None:
    assert found(pod("p", templates={"gpu": "t"}), template("t", exactly()), namespace(**declares("2x"))) == []


def test_a_workloads_faulty_declaration_weighs_what_workloads_do() -> None:
    body = controller("Deployment", "web", pod_spec(templates={"gpu": "t"}), pod_meta=declares("2x"))
    (finding,) = found(body, template("t", LIST), policy=replace(POLICY, workloads="deny"))
    assert (finding.severity, finding.path) == ("deny", "spec.template.metadata.annotations[fallgate.dev/compatible-shapes]")


# Injected lists.

TIER = """
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: models}
spec:
  models:
  - {name: h100, driver: gpu.nvidia.com, selector: 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'}
  - {name: a100, driver: gpu.nvidia.com, selector: 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100 40GB"'}
  - {name: t4, driver: gpu.nvidia.com, selector: 'device.attributes["gpu.nvidia.com"].productName == "Tesla T4"'}
---
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: research}
spec:
  tier: ""
  targets: [generatedClaims, claims, templates]
  asks:
  - match: {deviceClasses: [gpu.nvidia.com]}
    alternatives:
    - name: a100-pair
      deviceClassName: gpu.nvidia.com
      count: 2
      selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100 40GB"'}}]
---
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: p}
spec: {requests: REQUESTS}
"""
PLAIN = exactly("gpu", NVIDIA, of(H100))


def tiered(requests: str = "lists") -> PolicySet:
    return parse_policies([("tier.yaml", TIER.replace("REQUESTS", requests).encode())])


def injected(body: Raw, policies: PolicySet) -> Raw:
    """`body` as the mutating call leaves it."""
    decision = decide(review_of(body), fleet_of(*CLUSTER), policies, NOW, phase="mutate")
    assert decision.patch
    stored: Raw = apply_patch(body, decision.patch)
    return stored


def judged(body: Raw, *objects: Raw, policies: PolicySet) -> list[tuple[str, str]]:
    (policy,) = policies.fallback_compatibility
    return [(item.reason, item.detail) for item in found(body, *objects, policy=policy, policies=policies)]


def test_the_authors_own_ask_in_an_injected_list_needs_no_declaration() -> None:
    policies = tiered()
    for body in (claim("c", PLAIN, **declares("2x a100")), template("t", PLAIN, **declares("2x a100"))):
        assert judged(injected(body, policies), policies=policies) == []


def test_what_was_added_does() -> None:
    policies = tiered()
    body = injected(template("t", PLAIN, **declares("2x a100")), policies)
    pods = pod("p", templates={"gpu": "t"}, meta=declares("h100"))
    assert judged(pods, body, policies=policies) == [
        ("shape-undeclared", '"a100-pair": 2x a100 is not declared (declared: h100)')
    ]


def test_a_pod_of_an_injected_claim_or_template_passes_too() -> None:
    policies = tiered()
    stored = injected(claim("c", PLAIN, **declares("2x a100")), policies)
    assert judged(pod("p", claims={"gpu": "c"}), stored, policies=policies) == []
    stored = injected(template("t", PLAIN, **declares("2x a100")), policies)
    assert judged(pod("p", templates={"gpu": "t"}), stored, policies=policies) == []
    workload = controller("Deployment", "web", pod_spec(templates={"gpu": "t"}))
    assert judged(workload, stored, policies=policies) == []


def generated(requests: list[Raw]) -> Raw:
    annotations = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    return claim("c", *requests, annotations=annotations, ownerReferences=owned_by("Pod", "p", "u1"))


def test_a_claim_generated_from_an_injected_template_passes_too() -> None:
    policies = tiered()
    stored = injected(template("t", PLAIN, **declares("2x a100")), policies)
    requests = stored["spec"]["spec"]["devices"]["requests"]
    owner = pod("p", templates={"x": "other", "gpu": "t"}, meta={"uid": "u1"})
    assert judged(generated(requests), owner, stored, policies=policies) == []
    # without the template nobody knows that the list was injected
    unknown = judged(generated(requests), owner, namespace(**declares("2x a100")), policies=policies)
    assert unknown == [("shape-undeclared", '"requested": 1x h100 is not declared (declared by Namespace team-a: 2x a100)')]
    # and a list that is not the template's was written by somebody else
    other = [first_available("gpu", *requests[0]["firstAvailable"], ONE_T4)]
    assert [detail for _, detail in judged(generated(other), owner, stored, policies=policies)] == [
        '"requested": 1x h100 is not declared (declared by ResourceClaim c: 2x a100)',
        '"t4": 1x t4 is not declared (declared by ResourceClaim c: 2x a100)',
    ]


def test_a_forged_record_is_not_believed() -> None:
    policies = tiered()
    stored = injected(template("t", PLAIN, **declares("2x a100")), policies)
    stored["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"][0]["count"] = 2
    pods = pod("p", templates={"gpu": "t"})
    forged = ("shape-undeclared", '"requested": 2x h100 is not declared (declared by ResourceClaimTemplate t: 2x a100)')
    assert judged(pods, stored, policies=policies) == [forged]
    assert judged(stored, policies=policies) == [
        ("shape-undeclared", '"requested": 2x h100 is not declared (declared: 2x a100)')
    ]


def test_a_record_that_cannot_be_read_says_nothing() -> None:
    body = template("t", LIST, annotations={SHAPES: "2x a100", "fallgate.dev/injected": "{"})
    assert [item.detail for item in found(body)] == ['"h100": 1x h100 is not declared (declared: 2x a100)']


def test_a_record_about_another_request_says_nothing() -> None:
    policies = tiered()
    stored = injected(template("t", PLAIN, **declares("2x a100")), policies)
    stored["spec"]["spec"]["devices"]["requests"].append(first_available("second", ONE_T4))
    assert judged(stored, policies=policies) == [("shape-undeclared", '"t4": 1x t4 is not declared (declared: 2x a100)')]


def test_a_field_that_is_not_understood_makes_a_stored_record_incredible() -> None:
    policies = tiered()
    stored = injected(template("t", PLAIN, **declares("2x a100")), policies)
    stored["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"][1]["somethingNew"] = 1
    reasons_found = [reason for reason, _ in judged(pod("p", templates={"gpu": "t"}), stored, policies=policies)]
    assert reasons_found == ["shape-undeclared", "shape-uncertain"]


def test_where_plain_asks_are_judged_so_is_the_authors() -> None:
    policies = tiered("all")
    narrow = injected(claim("c", PLAIN, **declares("2x a100")), policies)
    assert judged(narrow, policies=policies) == []
    broad = injected(claim("c", exactly(), **declares("2x a100, h100, a100")), policies)
    assert judged(broad, policies=policies) == [
        ("shape-undeclared", '"requested": 1x t4 is not declared (declared: 2x a100, h100, a100)')
    ]
    (policy,) = policies.fallback_compatibility
    (finding,) = found(broad, policy=policy, policies=policies)
    assert finding.remedy.splitlines()[2] == "otherwise add a selector that leaves only models it runs on"


def test_an_allocated_injected_claim_is_judged_by_which_alternative_it_was_given() -> None:
    policies = tiered()
    stored = injected(claim("c", PLAIN, **declares("2x a100")), policies)
    pods = pod("p", claims={"gpu": "c"}, meta=declares("t4"))

    def given(name: str, *devices: tuple[str, str]) -> Raw:
        results = [result(device, pool, request=f"gpu/{name}") for pool, device in devices]
        return stored | {"status": {"allocation": {"devices": {"results": results}}}}

    assert judged(pods, given("requested", ("n-h100", "g0")), policies=policies) == []
    assert judged(pods, given("a100-pair", ("n-a100", "g0"), ("n-a100", "g1")), policies=policies) == [
        ("shape-undeclared", "has been given 2x a100, which is not declared (declared: t4)")
    ]


def test_a_plain_ask_that_was_allocated_is_not_judged() -> None:
    given = claim("c", exactly(), allocated=[result("g0", "n-t4")])
    assert found(pod("p", claims={"gpu": "c"}, meta=declares("h100")), given, policy=replace(POLICY, requests="all")) == []


def test_the_record_on_the_claim_under_review_is_compared_with_what_was_sent() -> None:
    policies = tiered()
    patient = [{"key": "x", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
    body = claim("c", exactly("gpu", NVIDIA, of(H100), tolerations=patient), **declares("2x a100"))
    assert judged(injected(body, policies), policies=policies) == []


def test_a_claim_made_by_hand_has_no_name_in_a_pod() -> None:
    meta = {"annotations": {"resource.kubernetes.io/pod-claim-name": "accelerator", SHAPES: "accelerator/gpu: h100, 2x t4"}}
    assert [item.detail for item in found(claim("c", LIST, **meta))] == [
        '"h100": 1x h100 is not declared (declared: 2x t4)',
        '"a100-pair": 2x a100 is not declared (declared: 2x t4)',
    ]


def test_checks_of_lists_leave_injected_ones_alone() -> None:
    policies = tiered()
    stored = injected(claim("c", PLAIN, **declares("2x a100")), policies)
    view = view_of(stored, policies=policies)
    assert list(fallback_count_differs.check(view, None)) == []
    written = claim("c", LIST)
    assert len(list(fallback_count_differs.check(view_of(written), None))) == 1


def test_the_mutated_claim_passes_the_validating_call() -> None:
    decision = ask(claim("c", PLAIN, **declares("2x a100")), cluster=CLUSTER, policies=tiered()).decision
    assert decision.allowed
    assert reasons(decision) == ["inject-default-list"]
