"""What differs between two objects, as YAML of the touched parts."""

from __future__ import annotations

from typing import Any

from webhook.cli.outputs.changes import changes


def told(before: Any, after: Any) -> list[str]:
    lines: list[str] = []
    for change in changes(before, after):
        lines.append(change.title)
        lines += [f"{sign} {line}" for sign, line in change.lines]
    return lines


def test_equal_objects_have_no_changes() -> None:
    assert told({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}) == []


def test_replaced_keys_of_a_list_entry_are_one_change_titled_by_the_entrys_name() -> None:
    before = {"spec": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 1}}]}}
    after = {"spec": {"requests": [{"name": "gpu", "firstAvailable": [{"name": "whole", "count": 1}]}]}}
    assert told(before, after) == [
        'spec.requests[0] "gpu"',
        "- exactly:",
        "-   deviceClassName: gpu.nvidia.com",
        "-   count: 1",
        "+ firstAvailable:",
        "+ - name: whole",
        "+   count: 1",
    ]


def test_untouched_keys_beside_a_change_are_not_shown() -> None:
    assert told({"metadata": {"name": "a", "labels": {"x": "1"}}}, {"metadata": {"name": "a", "labels": {"x": "2"}}}) == [
        "metadata.labels.x",
        "- '1'",
        "+ '2'",
    ]


def test_lists_of_other_lengths_are_compared_line_by_line() -> None:
    assert told({"terms": ["a", "c"]}, {"terms": ["a", "b", "c"]}) == ["terms", "  - a", "+ - b", "  - c"]


def test_a_new_top_level_key_belongs_to_the_object() -> None:
    assert told({}, {"spec": {"x": 1}}) == ["the object", "+ spec:", "+   x: 1"]


def test_a_scalar_that_becomes_a_mapping_shows_both() -> None:
    assert told({"a": 1}, {"a": {"b": 2}}) == ["a", "- 1", "+ b: 2"]


def test_long_lines_are_cut_and_say_how_long_they_were() -> None:
    lines = told({"metadata": {}}, {"metadata": {"note": "x" * 300}})
    assert lines[1].endswith("xxx... (306 characters)")
    assert len(lines[1]) < 180
