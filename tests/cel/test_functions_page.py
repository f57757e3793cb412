"""The page of functions: complete, and every example true."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from docs.cel_functions import EXAMPLES, MACROS, OPERATORS, documented, example_of, page, since
from webhook.cel.library import FUNCTIONS
from webhook.model.device import Device

ALL_EXAMPLES = [*MACROS.values(), *OPERATORS, *(example_of(name) for name in documented())]


@pytest.fixture
def documented_device(make_device: Callable[..., Device]) -> Device:
    return make_device(
        attributes={
            "model": {"string": "big"},
            "product": {"string": "NVIDIA H100 80GB HBM3"},
            "modes": {"strings": ["mps", "timeslicing"]},
            "driverVersion": {"version": "570.86.15"},
        },
        capacity={"memory": "80Gi"},
    )


@pytest.mark.parametrize("example", ALL_EXAMPLES)
def test_examples_are_true(example: str, documented_device: Device, verdict: Callable[[str, Device], str]) -> None:
    assert verdict(example, documented_device) == "match"


def test_every_function_and_operator_is_there() -> None:
    operators = {name for names in OPERATORS.values() for name in names}
    internal = {"@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys"}
    authorizer = set(FUNCTIONS) - set(documented()) - operators - internal
    assert {"path", "allowed"} <= authorizer
    assert not [name for name in authorizer if not name.isalpha()]
    assert set(EXAMPLES) <= set(documented())
    assert all(f"| `{name}` |" in page() for name in documented())


def test_since_when() -> None:
    assert (since("includes"), since("contains"), since("nope")) == ("1.36", "", "")
    assert "`duration(int)` → `duration` (until 1.36)" in page()
    assert "(since" not in page()
