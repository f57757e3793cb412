"""A selector that takes too long to be tried on a fleet: nothing is known of what it matches, and nobody is denied for it."""

from __future__ import annotations

from tests.build import NVIDIA, alternative, claim, device_class, device_slice, exactly, first_available, fleet_of, gpu
from tests.harness import ask, reasons
from webhook.fleet.device_sets import MOST_STEPS
from webhook.model.claim_reading import read_claim
from webhook.policyfile import parse_policies
from webhook.rulekit.ownership.asks import takeable
from webhook.rulekit.shapes.certainty import error_is_certain
from webhook.rulekit.shapes.possible import alternative_shapes

ON = f'device.attributes["{NVIDIA}"]'
LOOP = "[1,2,3,4,5,6,7,8,9]"
# Not one in a hundred devices can be asked this.
BOMB = f"{LOOP}.all(a, {LOOP}.all(b, {LOOP}.all(c, {LOOP}.all(d, a + b + c + d + {ON}.index > 0))))"
CLUSTER = (
    device_class(),
    *(device_slice(f"node-{number:03}", gpu("gpu-0", index=number)) for number in range(200)),
)
POLICIES = parse_policies(
    [
        (
            "policies.yaml",
            b"""\
apiVersion: fallgate.dev/v1alpha1
kind: Checks
metadata: {name: checks}
spec: {mode: enforce}
---
apiVersion: fallgate.dev/v1alpha1
kind: FallbackCompatibility
metadata: {name: shapes}
spec: {mode: enforce, requests: all}
""",
        )
    ]
)


def test_the_bomb_goes_off_here() -> None:
    matches = fleet_of(*CLUSTER).inventory.match(NVIDIA, (BOMB,))
    assert matches.too_costly == "its selectors are too costly to be tried on 200 devices"
    assert MOST_STEPS == 1_000_000


def test_what_is_too_costly_is_neither_zero_matches_nor_an_error() -> None:
    decision = ask(claim("costly", exactly("gpu", NVIDIA, BOMB)), cluster=CLUSTER, policies=POLICIES).decision
    assert decision.allowed
    assert reasons(decision) == []
    decision = ask(claim("idle", exactly("gpu", NVIDIA, "false")), cluster=CLUSTER, policies=POLICIES).decision
    assert reasons(decision) == ["zero-match"]


def test_its_shapes_are_not_known() -> None:
    fleet = fleet_of(*CLUSTER)
    spec = read_claim(claim("c", exactly("gpu", NVIDIA, BOMB))).spec
    (request,) = spec.requests
    found = alternative_shapes(fleet, POLICIES, spec, request, request.alternatives[0], fleet.nodes.all)
    assert (found.shapes, found.uncertain) == ((), "its selectors are too costly to be tried on 200 devices")


def test_errors_of_another_alternative_are_not_certain_beside_it() -> None:
    fleet = fleet_of(*CLUSTER)
    erring = alternative("erring", NVIDIA, f"{ON}.missing == 1")
    for requests, certain in (((erring,), True), ((erring, alternative("costly", NVIDIA, BOMB)), False)):
        spec = read_claim(claim("c", first_available("gpu", *requests))).spec
        assert error_is_certain(fleet, spec, fleet.nodes.all) is certain


def test_it_may_be_taken_anywhere() -> None:
    fleet = fleet_of(*CLUSTER)
    found = takeable(fleet, NVIDIA, (BOMB,), 1)
    assert (found.nodes, dict(found.by_driver)) == (fleet.nodes.all, {})
