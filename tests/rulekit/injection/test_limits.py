"""Every reason for which an alternative is left out, in its words; and what is not a reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    Raw,
    alternative,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    gpu,
    quota,
)
from tests.injecting import in_tier, occasion_of, policies, tier
from webhook.fleet.fleet import Fleet
from webhook.rulekit.injection.plan import Plan, plan, wanted_lists
from webhook.rulekit.policies import PolicySet

MIG, AMD = "mig.nvidia.com", "gpu.amd.com"
KIND = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == '
OBJECTS = [
    device_class(NVIDIA, KIND + '"gpu"'),
    device_class(MIG, KIND + '"mig"'),
    device_class(AMD),
    device_slice("node-1", gpu("gpu-0"), gpu("gpu-1", "NVIDIA A100-SXM4-40GB", "40Gi")),
    device_slice("node-2", device("mig-0", {"type": "mig", "profile": "1g.5gb"})),
    device_slice("node-3", device("card-0"), driver=AMD),
]
SLICE = {"name": "slice", "deviceClassName": MIG, "count": 1}
PAIR = {"name": "pair", "deviceClassName": NVIDIA, "count": 2}


def cluster(*objects: Raw, server: str = "1.36", gates: Any = None, labels: Any = None) -> Fleet:
    return in_tier(fleet_of(*OBJECTS, server=server, gates=gates), *objects, labels=labels)


def planned(body: Raw, fleet: Fleet, policy_set: PolicySet) -> Plan:
    occasion = occasion_of(body, fleet, policy_set)
    return plan(occasion, wanted_lists(occasion))


def why(body: Raw, fleet: Fleet, *alternatives: Raw, **spec: Any) -> list[tuple[str, str, str]]:
    """Name, reason and remedy of everything left out."""
    found = planned(body, fleet, policies(tier(*alternatives, **spec)))
    return [(item.candidate.name, item.why, item.remedy) for item in found.left_out]


def kept(body: Raw, fleet: Fleet, *alternatives: Raw, **spec: Any) -> list[str]:
    """The names of the first list."""
    found = planned(body, fleet, policies(tier(*alternatives, **spec)))
    return [item.name for item in found.injections[0].entries]


PLAIN = claim("c", exactly())


def test_nothing_against_it() -> None:
    assert why(PLAIN, cluster(), PAIR, SLICE) == []
    assert kept(PLAIN, cluster(), PAIR, SLICE) == ["requested", "pair", "slice"]


def test_what_cannot_be_made() -> None:
    everything = claim("c", exactly(mode="All"))
    spec = {"match": {"deviceClasses": ["*"], "allocationModeAll": True}}
    assert why(everything, cluster(), {"name": "x", "deviceClassName": MIG, "countFactor": 2}, **spec) == [
        ("x", "countFactor has nothing to multiply, the request asks for All", "correct TierFallback default")
    ]


def test_a_class_that_does_not_exist() -> None:
    gone = {"name": "gone", "deviceClassName": "gone.example.com", "count": 1}
    text = "DeviceClass gone.example.com does not exist, and one missing class keeps the whole pod from being scheduled"
    occasion = occasion_of(PLAIN, cluster(), policies(tier(gone)))
    found = plan(occasion, wanted_lists(occasion))
    assert [(item.why, item.remedy) for item in found.left_out] == [(text, "")]
    assert [str(item) for item in occasion.view.wanted] == ["DeviceClass gone.example.com"]
    assert [item.name for item in found.unchanged] == ["gpu"]
    assert found.injections == ()


def test_classes_are_not_known_at_all() -> None:
    nothing = in_tier(fleet_of())
    assert why(PLAIN, nothing, SLICE) == []
    assert kept(PLAIN, nothing, SLICE) == ["requested", "slice"]


def test_duplicates() -> None:
    again = {"name": "again", "deviceClassName": MIG, "count": 1}
    assert why(PLAIN, cluster(), SLICE, again) == [("again", 'it asks for the same as "slice"', "")]
    two = claim("c", exactly(count=2))
    assert why(two, cluster(), PAIR, {**PAIR, "name": "again"}) == [("again", 'it asks for the same as "pair"', "")]
    assert why(two, cluster(), SLICE, PAIR, {**PAIR, "name": "again"}, author="last") == [
        ("again", 'it asks for the same as "pair"', "")
    ]
    assert why(two, cluster(), PAIR, author="first") == []


def test_all_in_a_list_before_136() -> None:
    everything = {"name": "all", "deviceClassName": MIG, "allocationMode": "All"}
    text = "allocationMode All inside a list is not handled right before Kubernetes 1.36 (1.35 here)"
    assert why(PLAIN, cluster(server="1.35"), everything) == [("all", text, "")]
    assert kept(PLAIN, cluster(), everything) == ["requested", "all"]


@pytest.mark.parametrize(
    ("fields", "field", "gate"),
    [
        ({"capacity": {"requests": {"memory": "1Gi"}}}, "capacity request", "DRAConsumableCapacity"),
        ({"tolerations": [{"operator": "Exists"}]}, "tolerations", "DRADeviceTaints"),
    ],
)
def test_what_the_server_would_drop(fields: Raw, field: str, gate: str) -> None:
    text = f"this API server (1.35) would drop its {field}: feature gate {gate} is off"
    assert why(PLAIN, cluster(server="1.35"), {**SLICE, **fields}) == [("slice", text, "")]
    assert why(PLAIN, cluster(server="1.35", gates={gate: True}), {**SLICE, **fields}) == []


def test_inherited_tolerations_are_the_authors_affair() -> None:
    tolerant = claim("c", exactly(tolerations=[{"operator": "Exists"}]))
    assert why(tolerant, cluster(server="1.35"), SLICE) == []


def cards(*counts: int) -> list[Raw]:
    return [{"name": f"n-{count}", "deviceClassName": NVIDIA, "count": count} for count in counts]


def test_eight_alternatives() -> None:
    text = "a list has at most 8 alternatives"
    assert why(PLAIN, cluster(), *cards(2, 3, 4, 5, 6, 7, 8, 9)) == [("n-9", text, "")]
    assert kept(PLAIN, cluster(), *cards(2, 3, 4, 5, 6, 7, 8, 9), author="last") == [
        *(f"n-{count}" for count in range(2, 9)),
        "requested",
    ]
    assert why(PLAIN, cluster(), *cards(2, 3, 4, 5, 6, 7, 8, 9), author="replace") == []
    assert why(PLAIN, cluster(), *cards(1, 3, 4, 5, 6, 7, 8, 9)) == []


@pytest.mark.parametrize(
    ("others", "count", "needed"),
    [
        ([], 32, 0),
        ([exactly("b", count=1)], 32, 33),
        ([exactly("b", count=10), exactly("c", count=3)], 20, 33),
        ([exactly("b", mode="All")], 32, 33),
        ([exactly("b", mode="All", adminAccess=True)], 31, 0),
        ([first_available("b", alternative("x", count=5), alternative("y", count=2))], 30, 0),
        ([first_available("b", alternative("x", count=5), alternative("y", count=2))], 31, 33),
    ],
)
def test_32_devices(others: list[Raw], count: int, needed: int) -> None:
    body = claim("c", exactly(), *others)
    found = [item for item in why(body, cluster(), *cards(count)) if item[0] == f"n-{count}"][:1]
    text = f"with it the claim would need at least {needed} devices, and a claim can be given 32"
    assert found == ([(f"n-{count}", text, "")] if needed else [])


def test_all_counts_as_one_device_at_least() -> None:
    everything = {"name": "all", "deviceClassName": MIG, "allocationMode": "All"}
    assert why(
        claim("c", exactly(), exactly("b", MIG, count=32)), cluster(), everything, match={"deviceClasses": [NVIDIA]}
    ) == [("all", "with it the claim would need at least 33 devices, and a claim can be given 32", "")]


def test_a_cel_error_on_a_known_device() -> None:
    on_gpu = 'device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'
    picky = {"name": "picky", "deviceClassName": NVIDIA, "count": 1, "selectors": [{"cel": {"expression": on_gpu}}]}
    assert why(PLAIN, cluster(), picky) == [
        (
            "picky",
            "a selector raises a CEL error on device gpu-0 of pool node-1 (gpu.nvidia.com), where the scheduler would give up "
            "on the pod: no such key: profile",
            f"guard the attribute with has(...) in {on_gpu}",
        )
    ]


def test_a_selector_that_does_not_compile() -> None:
    fleet = cluster(device_class("broken.example.com", "device.nothing"))
    found = why(PLAIN, fleet, {"name": "x", "deviceClassName": "broken.example.com", "count": 1})
    assert [(name, text.partition(":")[0], remedy) for name, text, remedy in found] == [
        ("x", "a selector does not compile", "")
    ]


def config(kind: str, *requests: str, driver: str = NVIDIA) -> Raw:
    scope = {"requests": list(requests)} if requests else {}
    return {**scope, "opaque": {"driver": driver, "parameters": {"kind": kind}}}


def configured(*configs: Raw, requests: tuple[Raw, ...] = ()) -> Raw:
    return claim("c", exactly(), *requests, devices={"config": list(configs)})


def test_a_config_that_cannot_follow() -> None:
    text = (
        "spec.devices.config[1] (GpuConfig of gpu.nvidia.com) is for the request, and cannot be meant for 1x mig.nvidia.com too"
    )
    body = configured(config("Other", driver="other.example.com"), config("GpuConfig", "gpu"))
    assert why(body, cluster(), SLICE, PAIR) == [("slice", text, "")]
    assert why(configured(config("Other"), config("GpuConfig")), cluster(), SLICE)[0][1] == (
        "spec.devices.config[0] (Other of gpu.nvidia.com) is for the request, and cannot be meant for 1x mig.nvidia.com too"
    )
    unnamed = configured({"opaque": {"driver": NVIDIA, "parameters": {}}})
    assert why(unnamed, cluster(), SLICE)[0][1] == (
        "spec.devices.config[0] (config of gpu.nvidia.com) is for the request, and cannot be meant for 1x mig.nvidia.com too"
    )


def test_a_config_of_others() -> None:
    amd = {"name": "amd", "deviceClassName": AMD, "count": 1}
    body = configured(config("GpuConfig", "nic"), requests=(exactly("nic", AMD),))
    assert why(body, cluster(), SLICE, amd, match={"deviceClasses": [NVIDIA]}) == []
    assert why(configured(config("GpuConfig", "gpu")), cluster(), amd) == []


def test_32_names_in_a_config() -> None:
    others = tuple(exactly(f"r-{i}", AMD) for i in range(30))
    names = [f"r-{i}" for i in range(30)]
    spec: Raw = {"match": {"deviceClasses": [NVIDIA]}}
    small = [
        {"name": f"s-{i}", "deviceClassName": NVIDIA, "selectors": [{"cel": {"expression": f"{i} == {i}"}}]} for i in range(3)
    ]
    body = configured(config("GpuConfig", "gpu", *names), requests=others)
    text = "spec.devices.config[0] would have to name 33 requests, and it can name 32"
    assert why(body, cluster(), *small, **spec) == [("s-1", text, ""), ("s-2", text, "")]
    # one that named too many before is not made worse
    unpaid = claim("c", exactly(), devices={"config": [config("GpuConfig", "gpu", *(f"gone-{i}" for i in range(33)))]})
    amd = {"name": "amd", "deviceClassName": AMD, "count": 1}
    assert why(unpaid, cluster(), amd, **spec) == []


def test_spelling_out_too_many_requests() -> None:
    others = tuple(exactly(f"r-{i}", AMD) for i in range(31))
    amd = {"name": "amd", "deviceClassName": AMD, "count": 1}
    one_more = {"name": "more", "deviceClassName": NVIDIA, "selectors": [{"cel": {"expression": "1 == 1"}}]}
    spec: Raw = {"match": {"deviceClasses": [NVIDIA]}}
    body = configured(config("GpuConfig"), requests=others)
    text = "spec.devices.config[0] would have to name 33 requests, and it can name 32"
    assert why(body, cluster(), one_more, amd, **spec) == [("amd", text, "")]
    assert why(body, cluster(), amd, one_more, **spec) == [("more", text, "")]


def test_a_quota_that_cannot_pay() -> None:
    key = f"{MIG}.deviceclass.resource.k8s.io/devices"
    poor = cluster(quota("few", {key: "2"}, {key: "1"}))
    assert why(PLAIN, poor, SLICE) == []
    assert why(PLAIN, poor, {**SLICE, "count": 2}) == [
        (
            "slice",
            "quota few cannot pay it: with it the claim is charged 2 for mig.nvidia.com.deviceclass.resource.k8s.io/devices, "
            "of which 1 of 2 are left",
            "",
        )
    ]


def test_the_whole_claim_is_charged() -> None:
    key = f"{NVIDIA}.deviceclass.resource.k8s.io/devices"
    poor = cluster(quota("few", {key: "5"}))
    two = claim("c", exactly("a"), exactly("b", count=2))
    # a: 2 instead of 1, together 4; b: 2 as before
    assert why(two, poor, PAIR) == []
    # a: 4 and 2 of b; b: 4 and 1 of a
    four = {"name": "four", "deviceClassName": NVIDIA, "count": 4}
    found = planned(two, poor, policies(tier(four)))
    assert [(item.request.name, item.candidate.name) for item in found.left_out] == [("a", "four")]
    # what the author asked for is charged anyway
    assert why(claim("c", exactly(count=9)), poor, {**PAIR, "count": 8}) == []


def test_what_an_earlier_request_has_taken() -> None:
    key = f"{MIG}.deviceclass.resource.k8s.io/devices"
    two = claim("c", exactly("a"), exactly("b"))
    found = planned(two, cluster(quota("few", {key: "1"})), policies(tier(SLICE)))
    assert [item.request.name for item in found.injections] == ["a"]
    assert [item.request.name for item in found.left_out] == ["b"]


def test_a_replaced_ask_is_not_charged() -> None:
    key = f"{NVIDIA}.deviceclass.resource.k8s.io/devices"
    poor = cluster(quota("few", {key: "2"}))
    assert why(claim("c", exactly(count=4)), poor, PAIR, author="replace") == []


def test_quotas_of_other_namespaces() -> None:
    key = f"{MIG}.deviceclass.resource.k8s.io/devices"
    assert why(PLAIN, cluster(quota("few", {key: "0"}, namespace="other")), SLICE) == []


def test_the_first_reason_counts() -> None:
    key = f"{MIG}.deviceclass.resource.k8s.io/devices"
    body = configured(config("GpuConfig", "gpu"))
    assert len(why(body, cluster(quota("few", {key: "0"})), SLICE)) == 1
