"""JSON lines and YAML documents."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from webhook.cli.outputs.documents import as_documents, as_json_line, as_yaml


def test_json_is_one_line_in_key_order_with_characters_as_they_are() -> None:
    assert as_json_line({"b": "ü\n", "a": (1, None)}) == '{"b": "ü\\n", "a": [1, null]}'


def test_json_takes_frozen_mappings() -> None:
    assert as_json_line({"a": MappingProxyType({"b": 1})}) == '{"a": {"b": 1}}'


def test_json_refuses_what_is_none() -> None:
    with pytest.raises(TypeError, match="set is no JSON"):
        as_json_line({"a": {1}})


def test_yaml_keeps_key_order_quotes_what_would_be_read_as_something_else_and_writes_blocks() -> None:
    assert as_yaml({"b": "on", "a": "1\n2\n", "c": ["x", {"d": "1.30"}]}) == ("b: 'on'\na: |\n  1\n  2\nc:\n- x\n- d: '1.30'\n")


def test_yaml_repeats_shared_values_instead_of_anchors() -> None:
    shared = {"x": 1}
    assert as_yaml({"a": shared, "b": shared}) == "a:\n  x: 1\nb:\n  x: 1\n"


def test_yaml_takes_tuples_and_frozen_mappings() -> None:
    assert as_yaml({"a": (MappingProxyType({"b": 1}),)}) == "a:\n- b: 1\n"


def test_documents_of_both_formats() -> None:
    assert as_documents([{"a": 1}, {"a": 2}], "json") == '{"a": 1}\n{"a": 2}\n'
    assert as_documents([{"a": 1}, {"a": 2}], "yaml") == "---\na: 1\n---\na: 2\n"
