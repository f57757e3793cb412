"""Device ownership with many nodes, several policies, modes, claims and workloads: what its manifests do not show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    alternative,
    claim,
    container,
    controller,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
    node,
    node_affinity,
    owned_by,
    pod,
    pod_spec,
    result,
    template,
)
from tests.harness import ask, reasons, without_digests
from tests.ownership import PLUGIN, owner, ownership, view_of
from webhook.model.finding import Finding
from webhook.model.labels import LabelExpression
from webhook.policyfile import parse_policies
from webhook.rules.device_ownership import check, steer

STACK = "stack"
OWNERS = (owner("dra", {STACK: "dra"}), owner("device-plugin", {STACK: "plugin"}), owner("split", {STACK: "split"}))
CLASS, ONE = device_class(NVIDIA), template("one")
CLAIM: dict[str, Any] = {"templates": {"gpu": "one"}}


def both(name: str, labels: dict[str, str] | None = None, units: int = 1) -> tuple[dict, ...]:
    """A node that both sides have."""
    return node(name, labels, allocatable={PLUGIN: str(units)}), device_slice(name, *(gpu(f"gpu-{i}") for i in range(units)))


def only_dra(name: str, labels: dict[str, str] | None = None) -> tuple[dict, ...]:
    return node(name, labels), device_slice(name, gpu("gpu-0"))


def found(body: dict, *cluster: dict, policy: Any = None, **server: Any) -> list[Finding]:
    return list(check(view_of(body, fleet_of(CLASS, ONE, *cluster, **server)), policy or ownership()))


def the_one(body: dict, *cluster: dict, policy: Any = None, **server: Any) -> Finding:
    (finding,) = found(body, *cluster, policy=policy, **server)
    return finding


def crowd(count: int) -> list[dict]:
    return [item for i in range(count) for item in both(f"n{i:02}")]


def test_three_nodes_are_named_and_the_rest_counted() -> None:
    finding = the_one(pod("p", **CLAIM), *crowd(7))
    numbers = "(nvidia.com/gpu allocatable 1, 1 device of gpu.nvidia.com, what plugin pods hold is unknown)"
    assert finding.detail == (
        'request "gpu" may be given devices of gpu.nvidia.com that the device plugin has too: '
        f"n00 {numbers}, n01 {numbers}, n02 {numbers} and 4 more"
    )
    assert finding.remedy == (
        "no feasible node is safe: an administrator has to give n00, n01, n02 and 4 more to DRA, "
        "once the other side's pods are gone:\n"
        "  kubectl label node n00 n01 n02 device-owner=dra  # and 4 more\n"
        "and name the label in DeviceOwnership nvidia-gpus:\n"
        "  owners: [{nodeSelector: {matchLabels: {device-owner: dra}}, owner: dra}]"
    )


def test_exactly_three_nodes() -> None:
    assert "  kubectl label node n00 n01 n02 device-owner=dra\n" in the_one(pod("p", **CLAIM), *crowd(3)).remedy


def test_more_nodes_than_an_affinity_can_name() -> None:
    body = pod("p", **CLAIM)
    fleet = fleet_of(CLASS, ONE, *crowd(17), *only_dra("safe"))
    assert steer(view_of(body, fleet), ownership()).ops == ()
    (finding,) = check(view_of(body, fleet), ownership())
    assert finding.severity == "deny"
    assert finding.remedy == (
        "17 nodes conflict, and a node affinity may name 16: an administrator has to label the nodes by their owner and name "
        "the labels in DeviceOwnership nvidia-gpus:\n"
        "  owners: [{nodeSelector: {matchLabels: {device-owner: dra}}, owner: dra}, "
        "{nodeSelector: {matchLabels: {device-owner: device-plugin}}, owner: device-plugin}]"
    )


def test_what_was_steered_is_found_right_and_what_was_not_is_refused_with_the_affinity() -> None:
    body = pod("p", **CLAIM)
    finding = the_one(body, *both("dual"), *only_dra("safe"))
    assert finding.severity == "deny"
    assert finding.remedy == (
        "the affinity that the mutating webhook adds is not there; add to its spec:\n"
        "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
        "[{matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}]}]}}}"
    )
    terms = node_affinity({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["dual"]}]})
    assert found(pod("p", **CLAIM, affinity=terms), *both("dual"), *only_dra("safe")) == []


@pytest.mark.parametrize("action", ["deny", "warn"])
def test_only_the_action_steer_changes_pods(action: str) -> None:
    fleet = fleet_of(CLASS, ONE, *both("dual"), *only_dra("safe"))
    mutation = steer(view_of(pod("p", **CLAIM), fleet), ownership(action=action))
    assert (mutation.ops, mutation.findings) == ((), ())


@pytest.mark.parametrize(
    "body",
    [
        controller("Deployment", "d", pod_spec(**CLAIM)),
        claim("by-hand"),
        pod("asks-nothing"),
        pod("past-the-scheduler", **CLAIM, nodeName="dual"),
        pod("nowhere-safe", **CLAIM, nodeSelector={"zone": "dual"}),
    ],
    ids=lambda body: body["metadata"]["name"],
)
def test_what_is_never_steered(body: dict) -> None:
    fleet = fleet_of(CLASS, ONE, *both("dual", {"zone": "dual"}), *only_dra("safe"))
    mutation = steer(view_of(body, fleet), ownership())
    assert (mutation.ops, mutation.findings) == ((), ())


def test_steering_says_what_it_did_in_a_note() -> None:
    fleet = fleet_of(CLASS, ONE, *both("dual"), *only_dra("safe"))
    (note,) = steer(view_of(pod("p", **CLAIM), fleet), ownership()).findings
    assert (note.rule, note.reason, note.severity) == ("device-ownership", "double-booking", "note")
    assert note.detail == (
        'kept off by node affinity: request "gpu" may be given devices of gpu.nvidia.com that the device plugin has too: '
        "dual (nvidia.com/gpu allocatable 1, 1 device of gpu.nvidia.com, what plugin pods hold is unknown)"
    )
    assert note.remedy == ("each node selector term gets matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}]")


def test_each_cause_is_a_finding_of_its_own() -> None:
    cluster = (*both("b"), *both("d", {STACK: "dra"}), *both("p", {STACK: "plugin"}))
    details = [item.detail for item in found(pod("p", **CLAIM), *cluster, policy=ownership(*OWNERS, action="deny"))]
    assert [detail.partition(":")[0] for detail in details] == [
        'request "gpu" may be given devices of gpu.nvidia.com where the device plugin owns them',
        'request "gpu" may be given devices of gpu.nvidia.com that the device plugin has too',
    ]
    details = [
        item.detail for item in found(pod("p", extended={PLUGIN: "1"}), *cluster, policy=ownership(*OWNERS, action="deny"))
    ]
    assert [detail.partition(": ")[2].partition(":")[0] for detail in details] == [
        "1 may be served by the device plugin where DRA owns the devices",
        "1 may be given devices that DRA has too",
    ]


@pytest.mark.parametrize(
    ("objects", "numbers"),
    [
        (
            [pod("holder", extended={PLUGIN: "3"}, nodeName="dual")],
            "nvidia.com/gpu allocatable 8, 8 devices of gpu.nvidia.com, 3 held by plugin pods",
        ),
        (
            [pod("elsewhere", extended={PLUGIN: "3"}, nodeName="other")],
            "nvidia.com/gpu allocatable 8, 8 devices of gpu.nvidia.com",
        ),
        (
            [
                pod("mig", extended={"nvidia.com/mig-1g.5gb": "2", "amd.com/gpu": "4"}, nodeName="dual"),
                pod("whole", extended={PLUGIN: "1"}, nodeName="dual"),
            ],
            "nvidia.com/gpu allocatable 8, 8 devices of gpu.nvidia.com, 3 held by plugin pods",
        ),
        (
            [claim("held", allocated=[result("gpu-0", "dual"), result("gpu-1", "dual")])],
            "nvidia.com/gpu allocatable 8, 8 devices of gpu.nvidia.com, what plugin pods hold is unknown, 2 held by claims",
        ),
    ],
)
def test_the_numbers_of_a_node(objects: list[dict], numbers: str) -> None:
    finding = the_one(pod("p", **CLAIM), *both("dual", units=8), *objects)
    assert finding.detail.endswith(f"that the device plugin has too: dual ({numbers})")


def test_a_node_that_dra_still_holds_though_nothing_is_published() -> None:
    cluster = (node("n", allocatable={PLUGIN: "8"}), claim("held", allocated=[result("gpu-0", "n")]))
    finding = the_one(pod("p", extended={PLUGIN: "1"}), *cluster)
    assert finding.detail == (
        "nvidia.com/gpu: 1 may be given devices that DRA has too: n (nvidia.com/gpu allocatable 8, "
        "no devices of gpu.nvidia.com, what plugin pods hold is unknown, 1 held by claims)"
    )


def test_the_ask_that_conflicts_is_named_not_the_first() -> None:
    labelled = f'device.attributes["{NVIDIA}"].productName == "{{}}"'
    cluster = (
        template("a100", exactly("gpu", NVIDIA, labelled.format("A100"))),
        template("t4", exactly("gpu", NVIDIA, labelled.format("T4"))),
        device_slice("safe", gpu("gpu-0", "A100")),
        node("dual", allocatable={PLUGIN: "1"}),
        device_slice("dual", gpu("gpu-0", "T4")),
    )
    finding = the_one(pod("p", templates={"a": "a100", "b": "t4"}), *cluster)
    assert finding.path == "spec.resourceClaims[1]"
    classes = (
        device_class("a100", labelled.format("A100")),
        device_class("t4", labelled.format("T4")),
    )
    prefix = "deviceclass.resource.kubernetes.io/"
    body = pod("p", extended={f"{prefix}a100": "1", f"{prefix}t4": "1"})
    assert the_one(body, *cluster, *classes).path == f"spec.containers[0].resources.limits[{prefix}t4]"
    other = node("other", allocatable={"nvidia.com/mig-1g.5gb": "1"})
    body = pod("p", container("a", extended={"nvidia.com/mig-1g.5gb": "1"}), container("b", extended={PLUGIN: "1"}))
    assert the_one(body, *cluster, other).path == "spec.containers[1].resources.limits[nvidia.com/gpu]"
    either = first_available(
        "any",
        alternative("small", NVIDIA, labelled.format("A100")),
        alternative("big", NVIDIA, labelled.format("T4")),
    )
    finding = the_one(pod("p", templates={"gpu": "either"}), *cluster, template("either", either))
    assert finding.place == "spec.spec.devices.requests[0].firstAvailable[1]"
    assert finding.detail.startswith('alternative "big" may be given')


def test_a_limit_where_the_plugin_has_nothing_to_give_on_dras_node() -> None:
    cluster = (node("d", {STACK: "dra"}, allocatable={PLUGIN: "0"}), device_slice("d", gpu("gpu-0")))
    finding = the_one(pod("p", extended={PLUGIN: "1"}), *cluster, policy=ownership(*OWNERS))
    assert finding.path == "spec.containers[0].resources.limits[nvidia.com/gpu]"
    assert finding.detail.startswith("nvidia.com/gpu: 1 may be served by the device plugin where DRA owns the devices: d (")


# Ways out.


def test_where_a_class_would_step_in_for_a_plugin_that_restarts() -> None:
    cluster = (
        device_class(NVIDIA, extended_resource=PLUGIN),
        node("p", {STACK: "plugin"}, allocatable={PLUGIN: "0"}),
        device_slice("p", gpu("gpu-0")),
    )
    finding = the_one(pod("p", extended={PLUGIN: "1"}), *cluster, policy=ownership(*OWNERS))
    assert finding.detail.startswith(
        "nvidia.com/gpu: 1 may be given devices of gpu.nvidia.com where the device plugin owns them: p ("
    )
    assert finding.path == "spec.containers[0].resources.limits[nvidia.com/gpu]"
    assert finding.remedy == (
        "no feasible node is safe: an administrator has to give p to DRA, once the other side's pods are gone:\n"
        "  kubectl label node p stack=dra"
    )


@pytest.mark.parametrize(
    ("allocatable", "resources", "asked", "limit"),
    [
        ({"nvidia.com/mig-1g.5gb": "7"}, (PLUGIN, "nvidia.com/mig-*"), exactly("gpu", count=1), "nvidia.com/mig-1g.5gb: 1"),
        ({}, ("nvidia.com/mig-*", "a.com/?", "a.com/[xy]", PLUGIN), exactly("gpu", count=2), "nvidia.com/gpu: 2"),
        ({}, ("nvidia.com/mig-*",), exactly("gpu", mode="All"), '"nvidia.com/mig-*": 1'),
    ],
)
def test_the_limit_that_the_plugins_nodes_serve(allocatable: dict, resources: tuple[str, ...], asked: dict, limit: str) -> None:
    cluster = (node("p", {STACK: "plugin"}, allocatable=allocatable), device_slice("p", gpu("gpu-0"), gpu("gpu-1")))
    fleet = fleet_of(CLASS, template("some", asked), *cluster)
    (finding,) = check(view_of(pod("p", templates={"gpu": "some"}), fleet), ownership(*OWNERS, resources=resources))
    assert finding.remedy == (
        "no feasible node is safe: ask as these nodes serve it, with a limit of the container instead of the claim:\n"
        f"  resources: {{limits: {{{limit}}}}}"
    )


def test_a_claim_that_has_its_devices_counts_them() -> None:
    held = claim("held", exactly("gpu", count=2), allocated=[result("gpu-0", "p"), result("gpu-1", "p")])
    cluster = (node("p", {STACK: "plugin"}, allocatable={PLUGIN: "2"}), device_slice("p", gpu("gpu-0"), gpu("gpu-1")), held)
    finding = the_one(pod("p", claims={"gpu": "held"}), *cluster, policy=ownership(*OWNERS))
    assert finding.remedy.endswith("\n  resources: {limits: {nvidia.com/gpu: 2}}")


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        ([CLASS, device_class("a-gpu", "true")], NVIDIA),
        ([device_class("big-gpu", "true"), device_class("a-gpu", "true"), device_class("amd", "false")], "a-gpu"),
        ([device_class("amd", "device.driver == 'gpu.amd.com'")], NVIDIA),
    ],
)
def test_the_class_that_dras_nodes_serve(classes: list[dict], chosen: str) -> None:
    fleet = fleet_of(*classes, *both("d", {STACK: "dra"}, units=2))
    (finding,) = check(view_of(pod("p", extended={PLUGIN: "2"}), fleet), ownership(*OWNERS))
    request = f"{{name: devices, exactly: {{deviceClassName: {chosen}, count: 2}}}}"
    assert finding.remedy == (
        "no feasible node is safe: ask as these nodes serve it, with a claim instead of the limit; a template:\n"
        "  {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: devices}, "
        f"spec: {{spec: {{devices: {{requests: [{request}]}}}}}}}}\n"
        "in the pod's spec and in the container:\n"
        "  resourceClaims: [{name: devices, resourceClaimTemplateName: devices}]\n"
        "  resources: {claims: [{name: devices}]}"
    )


def test_two_resources_that_ask_both_ways() -> None:
    implicit = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
    finding = the_one(pod("p", extended={PLUGIN: "1", implicit: "1"}), *both("dual", units=2))
    assert finding.detail.startswith(
        f"{implicit}: 1 and nvidia.com/gpu: 1 may be given the same device, one by DRA and one by the device plugin: dual ("
    )
    assert finding.remedy == (
        f"ask one way only: take nvidia.com/gpu out of the containers' limits, or {implicit} out of the containers' limits"
    )


def test_the_owner_label_of_several_keys_and_one_of_expressions() -> None:
    strange = owner("dra", {STACK: "dra"}, LabelExpression(key="x", operator="Exists"))
    empty = owner("dra", {}, LabelExpression(key="y", operator="Exists"))
    policy = ownership(owner("device-plugin", {STACK: "p"}), strange, empty, owner("dra", {"a": "1", "b": "2"}))
    finding = the_one(pod("p", **CLAIM), *both("dual"), policy=policy)
    assert finding.remedy == (
        "no feasible node is safe: an administrator has to give dual to DRA, once the other side's pods are gone:\n"
        "  kubectl label node dual a=1 b=2"
    )


# Both styles.


def test_both_styles_where_dra_serves_both() -> None:
    mapped = device_class(NVIDIA, extended_resource=PLUGIN)
    body = pod(
        "p",
        container("a", extended={PLUGIN: "2"}),
        container("b", claims=["gpu"]),
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}],
    )
    finding = the_one(body, mapped, device_slice("n", gpu("gpu-0"), gpu("gpu-1")))
    assert (finding.reason, finding.severity) == ("mixed-request-styles", "warn")
    assert finding.path == "spec.containers[0].resources.limits[nvidia.com/gpu]"
    assert finding.detail == 'nvidia.com/gpu: 2 is asked beside claim "gpu": where DRA serves both, the pod takes 3 devices'
    assert (
        finding.remedy == 'ask one way only: take nvidia.com/gpu out of the containers\' limits, or claim "gpu" out of the pod'
    )


@pytest.mark.parametrize(
    "asked",
    [
        exactly("gpu", mode="All"),
        exactly("gpu", mode="Someday", count=1),
        first_available("gpu", alternative("one", count=1), alternative("two", count=2)),
    ],
)
def test_both_styles_with_a_number_that_is_not_known(asked: dict) -> None:
    body = pod("p", templates={"gpu": "some"}, extended={PLUGIN: "2"})
    finding = the_one(body, template("some", asked), device_slice("n", gpu("gpu-0"), gpu("gpu-1")))
    assert (
        finding.detail == 'nvidia.com/gpu: 2 is asked beside claim "gpu": where DRA serves both, the pod takes devices for each'
    )


def test_both_styles_with_alternatives_of_one_number() -> None:
    asked = first_available("gpu", alternative("one", count=2), alternative("two", count=2))
    body = pod("p", templates={"gpu": "some"}, extended={PLUGIN: "2"})
    finding = the_one(body, template("some", asked), device_slice("n", gpu("gpu-0"), gpu("gpu-1")))
    assert finding.detail.endswith(": where DRA serves both, the pod takes 4 devices")


@pytest.mark.parametrize(
    ("action", "severities"), [("deny", ["deny", "deny"]), ("steer", ["deny", "deny"]), ("warn", ["warn", "warn"])]
)
def test_both_styles_on_a_conflicting_node_are_part_of_the_refusal(action: str, severities: list[str]) -> None:
    body = pod("p", **CLAIM, extended={PLUGIN: "1"})
    findings = found(body, *both("dual"), policy=ownership(action=action))
    assert [item.reason for item in findings] == ["double-booking", "mixed-request-styles"]
    assert [item.severity for item in findings] == severities
    assert findings[1].detail == 'nvidia.com/gpu: 1 is asked beside claim "gpu": both may be given the same device on dual'


def test_both_styles_only_warn_where_the_conflict_is_another() -> None:
    body = pod("p", **CLAIM, extended={PLUGIN: "1"})
    findings = found(body, *only_dra("d"), *only_dra("p", {STACK: "plugin"}), policy=ownership(*OWNERS, action="deny"))
    assert [(item.reason, item.severity) for item in findings] == [("double-booking", "deny"), ("mixed-request-styles", "warn")]


# Claims and workloads.

EARLY = {"ownerReferences": owned_by("Pod", "early", "u-1"), "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}}


def generated(**fields: Any) -> dict:
    return claim("early-gpu-x7k2p", exactly("gpu"), **{**EARLY, **fields})


@pytest.mark.parametrize(
    ("action", "severity", "remedy"),
    [
        ("steer", "deny", 'delete pod "early": a new one is kept off these nodes when it is created'),
        (
            "deny",
            "deny",
            'delete pod "early": a new one must be kept off these nodes; add to every term of its required node affinity:\n'
            "  matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}]",
        ),
        (
            "warn",
            "warn",
            'delete pod "early": a new one must be kept off these nodes; add to every term of its required node affinity:\n'
            "  matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}]",
        ),
    ],
)
def test_a_generated_claim_is_judged_for_its_pod(action: str, severity: str, remedy: str) -> None:
    affinity = node_affinity({"matchExpressions": [{"key": "zone", "operator": "Exists"}]})
    early = pod("early", **CLAIM, affinity=affinity, meta={"uid": "u-1"})
    cluster = (*both("dual", {"zone": "z"}), *both("elsewhere"), *only_dra("safe", {"zone": "z"}), early)
    finding = the_one(generated(), *cluster, policy=ownership(action=action))
    assert finding.headline == 'claim "early-gpu-x7k2p" may be given devices that somebody else hands out too'
    assert (finding.severity, finding.remedy) == (severity, remedy)
    assert (finding.path, finding.via, finding.place) == ("spec.devices.requests[0].exactly", (), "")
    assert "elsewhere" not in finding.detail


def test_a_generated_claim_is_not_judged_for_what_its_pod_asks_besides() -> None:
    early = pod("early", **CLAIM, extended={PLUGIN: "1"}, meta={"uid": "u-1"})
    # On d the claim is right, and the limit of its pod is not: that was the pod's affair.
    assert found(generated(), *both("d", {STACK: "dra"}), early, policy=ownership(owner("split", {STACK: "dra"}))) == []
    plugin_only = node("d", {STACK: "dra"}, allocatable={PLUGIN: "1"})
    assert found(generated(), plugin_only, *only_dra("e", {STACK: "dra"}), early, policy=ownership(*OWNERS)) == []


def test_a_generated_claim_is_judged_where_it_can_be_met_itself() -> None:
    implicit = "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
    early = pod("early", **CLAIM, extended={PLUGIN: "1", implicit: "1"}, meta={"uid": "u-1"})
    only_a100 = f'device.attributes["{NVIDIA}"].productName == "A100"'
    mine = claim("early-gpu-x7k2p", exactly("gpu", NVIDIA, only_a100), **EARLY)
    labels = {STACK: "plugin"}
    cluster = (
        device_slice("a100", gpu("gpu-0", "A100")),
        # Where the pod asks both ways, where its resource is DRA's on a plugin's node, where both sides have the node.
        *both("both-ways"),
        node("plugins", labels), device_slice("plugins", gpu("gpu-0")),
        node("held", allocatable={"nvidia.com/mig-1g.5gb": "1"}), device_slice("held", gpu("gpu-0")),
    )  # fmt: skip
    assert found(mine, *cluster, early, policy=ownership(*OWNERS)) == []
    assert len(found(pod("p", extended={PLUGIN: "1", implicit: "1"}), *cluster, policy=ownership(*OWNERS, action="deny"))) == 3


def test_a_generated_claim_on_dras_node_whose_plugin_has_gone() -> None:
    early = pod("early", **CLAIM, extended={PLUGIN: "1"}, meta={"uid": "u-1"})
    cluster = (node("d", {STACK: "dra"}, allocatable={PLUGIN: "0"}), device_slice("d", gpu("gpu-0")))
    assert found(generated(), *cluster, early, policy=ownership(*OWNERS)) == []


def test_a_generated_claim_and_a_limit_of_its_pod_on_one_node() -> None:
    early = pod("early", **CLAIM, extended={PLUGIN: "1"}, meta={"uid": "u-1"})
    finding = the_one(generated(), *both("dual"), early)
    assert finding.reason == "double-booking"
    assert finding.detail.startswith(
        'request "gpu" and nvidia.com/gpu: 1 may be given the same device, one by DRA and one by the device plugin: dual ('
    )
    assert (
        finding.remedy == 'ask one way only: take nvidia.com/gpu out of the containers\' limits, or claim "gpu" out of the pod'
    )


def test_a_claim_of_a_pod_that_does_not_say_which_entry_it_is_for() -> None:
    early = pod("early", **CLAIM, extended={PLUGIN: "1"}, meta={"uid": "u-1"})
    finding = the_one(generated(annotations={}), *both("dual"), early)
    assert finding.remedy.endswith(', or claim "early-gpu-x7k2p" out of the pod')


@pytest.mark.parametrize(
    "owner_reference",
    [owned_by("Pod", "unknown", "u-9"), owned_by("PodGroup", "group", "u-1", "scheduling.k8s.io/v1alpha2"), []],
)
def test_a_claim_without_a_known_pod_only_warns(owner_reference: list[dict]) -> None:
    early = pod("early", **CLAIM, meta={"uid": "u-1"})
    finding = the_one(generated(ownerReferences=owner_reference), *both("dual"), *only_dra("safe"), early)
    assert finding.severity == "warn"
    assert finding.remedy == "pods that use it are kept off these nodes when they are created"


@pytest.mark.parametrize(
    ("action", "safe", "remedy"),
    [
        ("steer", True, "pods that use it are kept off these nodes when they are created"),
        (
            "deny",
            True,
            "keep the pods that use it off these nodes; add to their spec:\n"
            "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}]}]}}}",
        ),
        (
            "steer",
            False,
            "no feasible node is safe: an administrator has to give dual to DRA, once the other side's pods are gone:\n"
            "  kubectl label node dual stack=dra",
        ),
    ],
)
def test_a_hand_made_claim_is_judged_with_all_nodes_and_warned_about(action: str, safe: bool, remedy: str) -> None:
    cluster = (*both("dual"), *(only_dra("safe") if safe else ()))
    policy = ownership(owner("dra", {STACK: "dra"}), action=action)
    finding = the_one(claim("by-hand"), *cluster, policy=policy)
    assert (finding.severity, finding.remedy) == ("warn", remedy)


@pytest.mark.parametrize(
    ("kind", "action", "start"),
    [
        ("Deployment", "steer", "its pods are kept off these nodes when they are created"),
        ("DaemonSet", "steer", "keep its pods off these nodes; add to the pod template's spec:\n  affinity: {"),
        ("Deployment", "deny", "keep its pods off these nodes; add to the pod template's spec:\n  affinity: {"),
        ("Deployment", "warn", "keep its pods off these nodes; add to the pod template's spec:\n  affinity: {"),
    ],
)
def test_a_workloads_author_is_warned(kind: str, action: str, start: str) -> None:
    body = controller(kind, "trainers", pod_spec(**CLAIM))
    finding = the_one(body, *both("dual"), *only_dra("safe"), policy=ownership(action=action))
    assert finding.severity == "warn"
    assert finding.headline == f'pods of {kind} "trainers" may be given devices that somebody else hands out too'
    assert finding.path == "spec.template.spec.resourceClaims[0]"
    assert finding.via == ('spec.template.spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate one',)
    assert finding.place == "spec.spec.devices.requests[0].exactly"
    assert finding.remedy.startswith(start)


def test_a_workload_that_asks_both_ways() -> None:
    body = controller("Deployment", "trainers", pod_spec(**CLAIM, extended={PLUGIN: "1"}))
    findings = found(body, *both("dual"))
    assert [(item.reason, item.severity) for item in findings] == [("double-booking", "warn"), ("mixed-request-styles", "warn")]


def test_a_workload_with_terms_of_its_own() -> None:
    affinity = node_affinity({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})
    body = controller("Deployment", "trainers", pod_spec(**CLAIM, affinity=affinity))
    finding = the_one(body, *both("dual"), *only_dra("safe"), policy=ownership(action="deny"))
    assert finding.remedy == (
        "keep its pods off these nodes; add to every term of the pod template's required node affinity:\n"
        "  matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}]"
    )


# Through the engine: modes, two groups, both calls.

POLICY = """
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {{name: nvidia-gpus}}
spec: {{mode: {mode}, driver: gpu.nvidia.com, extendedResources: [nvidia.com/gpu]}}
---
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {{name: nics}}
spec: {{mode: enforce, driver: nic.example.com, extendedResources: [example.com/nic]}}
"""


def admitted(body: dict, *cluster: dict, mode: str = "enforce") -> Any:
    return ask(body, cluster=[CLASS, ONE, *cluster], policies=parse_policies([("p.yaml", POLICY.format(mode=mode).encode())]))


def test_two_groups_steer_one_pod_one_after_the_other() -> None:
    nic_class = device_class("nic.example.com")
    nics = template("nic", exactly("nic", "nic.example.com"))

    def nic(where: str) -> dict:
        return device_slice(where, gpu("nic-0"), driver="nic.example.com", pool=f"{where}-nics")

    cluster = (
        nic_class, nics,
        *both("gpu-dual"), nic("gpu-dual"),
        node("nic-dual", allocatable={"example.com/nic": "1"}), device_slice("nic-dual", gpu("gpu-0")), nic("nic-dual"),
        *only_dra("safe"), nic("safe"),
    )  # fmt: skip
    answer = admitted(pod("p", templates={"gpu": "one", "nic": "nic"}), *cluster)
    assert answer.decision.allowed
    terms = answer.object["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert terms == [
        {
            "matchFields": [
                {"key": "metadata.name", "operator": "NotIn", "values": ["gpu-dual"]},
                {"key": "metadata.name", "operator": "NotIn", "values": ["nic-dual"]},
            ]
        }
    ]
    assert without_digests(answer.object["metadata"]["annotations"]["fallgate.dev/steered"]) == (
        '[{"policy":"nvidia-gpus","added":{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["gpu-dual"]}]}},'
        '{"policy":"nics","added":{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["nic-dual"]}]}}]'
    )
    assert admitted(answer.object, *cluster).decision.patch == ()


def test_warn_mode_says_what_would_be_added_and_adds_nothing() -> None:
    body = pod("p", **CLAIM)
    answer = admitted(body, *both("dual"), *only_dra("safe"), mode="warn")
    assert (answer.object, answer.decision.patch) == (body, ())
    assert answer.decision.warnings == (
        '[device-ownership] spec.resourceClaims[0] "gpu" -> ResourceClaimTemplate one: spec.spec.devices.requests[0].exactly: '
        'not done in warn mode: kept off by node affinity: request "gpu" may be given devices of gpu.nvidia.com that the '
        "device plugin has too: dual (nvidia.com/gpu allocatable 1, 1 device of gpu.nvidia.com, what plugin pods hold is "
        "unknown) (each node selector term gets matchFields: [{key: metadata.name, operator: NotIn, values: [dual]}])",
    )


def test_audit_mode_allows_and_records() -> None:
    answer = admitted(pod("p", **CLAIM), *both("dual"), mode="audit")
    assert answer.decision.allowed
    assert answer.decision.warnings == ()
    assert reasons(answer.decision) == ["double-booking"]
