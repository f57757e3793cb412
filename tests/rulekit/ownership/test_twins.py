"""Which cards that are published twice an object may be given."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import (
    NVIDIA,
    alternative,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    fleet_of,
    node,
    pod,
    result,
    template,
)
from tests.ownership import PLUGIN, view_of
from webhook.fleet.fleet import Fleet
from webhook.rulekit.ownership.twins import Among, classes_taking, twin_asks

TYPE = f'device.attributes["{NVIDIA}"].type == "{{}}"'


def twice(where: str, uuid: str) -> dict:
    """A card that is published as gpu and as vfio."""
    return device_slice(where, device("gpu-0", {"type": "gpu", "uuid": uuid}), device("vfio-0", {"type": "vfio", "uuid": uuid}))


def cluster(*objects: dict, **server: Any) -> Fleet:
    return fleet_of(
        device_class("gpus", TYPE.format("gpu"), extended_resource=PLUGIN),
        device_class("vms", TYPE.format("vfio")),
        device_class("b-class", TYPE.format("vfio")),
        template("one", exactly("card", "gpus")),
        template("either", first_available("card", alternative("vm", "vms"), alternative("gpu", "gpus"))),
        twice("n1", "U-1"),
        twice("n2", "U-2"),
        device_slice("once", device("gpu-0", {"type": "gpu", "uuid": "U-3"})),
        *objects,
        **server,
    )


def said(body: dict, fleet: Fleet, among: Among = "within a driver") -> list[str]:
    return [
        f"{ask.place.path}: " + " ".join(f"{t.device.pool}/{t.device.name}~{t.other.name}" for t in ask.twins)
        for ask in twin_asks(view_of(body, fleet), among)
    ]


LIMIT = "spec.containers[0].resources.limits[nvidia.com/gpu]"


def test_every_twin_on_feasible_nodes() -> None:
    fleet = cluster(node("n1", {"zone": "a"}), node("once", {"zone": "b"}))
    assert said(pod(templates={"c": "one"}), fleet) == ["spec.resourceClaims[0]: n1/gpu-0~vfio-0 n2/gpu-0~vfio-0"]
    assert said(pod(templates={"c": "one"}, nodeSelector={"zone": "a"}), fleet) == ["spec.resourceClaims[0]: n1/gpu-0~vfio-0"]
    assert said(pod(templates={"c": "one"}, nodeSelector={"zone": "b"}), fleet) == []
    assert said(pod(templates={"c": "one"}), fleet, "across drivers") == []


def test_each_alternative_is_an_ask_of_its_own() -> None:
    body = claim("c", first_available("card", alternative("vm", "vms"), alternative("gpu", "gpus")))
    assert said(body, cluster()) == [
        "spec.devices.requests[0].firstAvailable[0]: n1/vfio-0~gpu-0 n2/vfio-0~gpu-0",
        "spec.devices.requests[0].firstAvailable[1]: n1/gpu-0~vfio-0 n2/gpu-0~vfio-0",
    ]


def test_a_claim_that_has_its_devices_takes_no_others() -> None:
    held = claim("held", exactly("card", "gpus"), allocated=[result("gpu-0", "n1", request="card")])
    assert said(pod(claims={"c": "held"}), cluster(held)) == []


def test_an_extended_resource_where_dra_serves_it() -> None:
    plugin = node("n1", {"zone": "a"}, allocatable={PLUGIN: "1"})
    fleet = cluster(plugin, node("n2", {"zone": "b"}), node("once", {"zone": "c"}))
    assert said(pod(extended={PLUGIN: "1"}), fleet) == [f"{LIMIT}: n2/gpu-0~vfio-0"]
    assert said(pod(extended={PLUGIN: "1"}, nodeSelector={"zone": "a"}), fleet) == []
    assert said(pod(extended={PLUGIN: "1"}, nodeSelector={"zone": "c"}), fleet) == []
    assert said(pod(extended={"example.com/thing": "1"}), fleet) == []


@pytest.mark.parametrize("gate", [True, False])
def test_an_extended_resource_needs_the_gate(gate: bool) -> None:
    fleet = cluster(server="1.35", gates={"DRAExtendedResource": gate})
    assert bool(said(pod(extended={PLUGIN: "1"}), fleet)) is gate


def test_where_no_card_has_a_twin_no_selector_is_looked_at() -> None:
    fleet = cluster()
    assert said(pod(templates={"c": "one"}), fleet, "across drivers") == []
    kinds = {key[0] for key in fleet.inventory.memo if isinstance(key, tuple)}
    assert kinds == {"twins"}
    assert said(pod(templates={"c": "one"}), fleet) != []


def test_the_first_class_that_takes_a_twin() -> None:
    fleet = cluster()
    assert classes_taking(fleet.inventory, "within a driver") == {
        (NVIDIA, "n1", "gpu-0"): "gpus",
        (NVIDIA, "n1", "vfio-0"): "b-class",
        (NVIDIA, "n2", "gpu-0"): "gpus",
        (NVIDIA, "n2", "vfio-0"): "b-class",
    }
