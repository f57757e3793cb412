"""Label selectors and globs."""

from __future__ import annotations

import pytest

from webhook.model.labels import LabelExpression, LabelOperator, LabelSelector, matches_any


@pytest.mark.parametrize(
    ("operator", "values", "labels", "matched"),
    [
        ("In", ("a", "b"), {"k": "b"}, True),
        ("In", ("a",), {"k": "b"}, False),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {"k": "b"}, True),
        ("NotIn", ("a",), {"k": "a"}, False),
        ("NotIn", ("a",), {}, True),
        ("Exists", (), {"k": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {}, True),
        ("DoesNotExist", (), {"k": ""}, False),
    ],
)
def test_expressions(operator: LabelOperator, values: tuple[str, ...], labels: dict[str, str], matched: bool) -> None:
    assert LabelExpression(key="k", operator=operator, values=values).matches(labels) is matched


def test_all_parts_of_a_selector_must_hold() -> None:
    selector = LabelSelector(match_labels={"a": "1"}, match_expressions=(LabelExpression(key="b", operator="Exists"),))
    assert selector.matches({"a": "1", "b": "x"})
    assert not selector.matches({"a": "1"})
    assert not selector.matches({"b": "x"})
    assert LabelSelector().matches({})


def test_globs_heed_case() -> None:
    assert matches_any("nvidia.com/mig-1g.5gb", ("amd.com/*", "nvidia.com/mig-*"))
    assert not matches_any("nvidia.com/GPU", ("nvidia.com/gpu",))
    assert not matches_any("x", ())
