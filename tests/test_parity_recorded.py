"""Agreement with Kubernetes' own libraries: what they answered, written down (tests/oracle/recorded.py)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.allocation import certainty_differs, unconstrained_shapes, unsound, world_of
from tests.oracle.client import OLDER, VERSION
from tests.oracle.ours import outcomes, selector_answer, to_device
from tests.oracle.parity import BARE, found, value_outcome
from tests.oracle.recorded import ALLOCATIONS, GATES, SELECTORS, VALUES, Row, older_selectors, read, recorded_case
from tests.oracle.values import answers

#: The answers are checked in parts, so that workers can share them.
PARTS = 8


def rows(part: int, of: list[Row]) -> list[Row]:
    """One part of the answers."""
    return of[1 + part :: PARTS]


def selectors_that_differ(part: int, recorded: list[Row], minor: int = 37) -> list[tuple[Row, dict[str, Any]]]:
    """Of one part: the answers that ours are not like."""
    devices = [to_device(described) for described in recorded[0]["devices"]]
    wrong = []
    for row in rows(part, recorded):
        chosen = [devices[i] for i in row.get("devices", ())]
        ours = selector_answer(row["expression"], chosen, minor=minor, gates=row.get("gates", ()))
        said = {"verdict": outcomes(ours), "maxCost": ours.get("maxCost"), "cost": ours.get("cost")}
        expected = {key: row.get(key) for key in said} if "devices" in row else {**said, "verdict": ["compile error"]}
        if said != expected:
            wrong.append((row, ours))
    return wrong


@pytest.fixture(scope="module")
def selectors() -> list[Row]:
    return read(SELECTORS)


@pytest.fixture(scope="module")
def values() -> list[Row]:
    return read(VALUES)


@pytest.fixture(scope="module")
def allocations() -> list[Row]:
    return read(ALLOCATIONS)


def test_they_are_many_and_of_the_version_that_judges(selectors: list[Row], values: list[Row], allocations: list[Row]) -> None:
    judge = f"k8s.io/dynamic-resource-allocation v{VERSION}"
    assert [recorded[0]["judge"] for recorded in (selectors, values, allocations)] == [judge] * 3
    assert len(selectors) > 4000
    assert len(values) > 3000
    assert len(allocations) > 400
    expressions = {row["expression"] for row in selectors[1:]}
    assert len(expressions.intersection(found())) > 250


@pytest.mark.parametrize("part", range(PARTS))
def test_selectors(part: int, selectors: list[Row]) -> None:
    assert selectors_that_differ(part, selectors) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_values(part: int, values: list[Row]) -> None:
    wrong = []
    for row in rows(part, values):
        expected = {key: value for key, value in row.items() if key != "expression"}
        wrong += [(row, ours) for ours in answers(row["expression"], BARE) if value_outcome(ours) != expected]
    assert wrong == []


@pytest.mark.parametrize("part", range(0, PARTS, 2))
@pytest.mark.parametrize("minor", OLDER)
def test_selectors_on_earlier_releases(part: int, minor: int) -> None:
    recorded = read(older_selectors(minor))
    assert recorded[0]["judge"] == f"k8s.io/dynamic-resource-allocation v{OLDER[minor]}"
    assert {tuple(row.get("gates", ())) for row in recorded[1:]} == set(GATES[minor])
    assert len(recorded) > 1000
    half = [recorded[0], *recorded[1 + part // 2 :: PARTS // 2]]
    assert [found for shard in range(PARTS) for found in selectors_that_differ(shard, half, minor)] == []


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_is_handed_out_was_listed(part: int, allocations: list[Row]) -> None:
    wrong = []
    for row in rows(part, allocations):
        recorded = recorded_case(row)
        world = world_of(recorded.case)
        wrong += [found for answer in (recorded.held, recorded.idle) for found in unsound(world, answer)]
    assert wrong == []


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_listed_was_handed_out(part: int, allocations: list[Row]) -> None:
    for row in rows(part, allocations):
        recorded = recorded_case(row)
        listed = unconstrained_shapes(world_of(recorded.case))
        assert {pointer: sorted(map(str, shapes)) for pointer, shapes in listed.items()} == {
            pointer: sorted(shapes) for pointer, shapes in recorded.reached.items()
        }


@pytest.mark.parametrize("part", range(PARTS))
def test_errors_are_certain_when_no_node_gets_past_them(part: int, allocations: list[Row]) -> None:
    wrong = []
    for row in rows(part, allocations):
        recorded = recorded_case(row)
        world = world_of(recorded.case)
        nodes = [node["metadata"]["name"] for node in recorded.case.nodes]
        for some in (nodes, nodes[:1], nodes[1:]):
            _, differs = certainty_differs(world, recorded.idle, some)
            wrong += [differs] if differs else []
    assert wrong == []


def test_the_recorded_cases_have_certain_errors_and_none(allocations: list[Row]) -> None:
    certain = []
    for row in allocations[1:]:
        recorded = recorded_case(row)
        nodes = [node["metadata"]["name"] for node in recorded.case.nodes]
        certain.append(certainty_differs(world_of(recorded.case), recorded.idle, nodes)[0])
    assert sum(certain) > 50
    assert len(certain) - sum(certain) > 50
