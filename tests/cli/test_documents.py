"""JSON lines and YAML documents."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cli.outputs.documents import as_documents, as_json_line, as_yaml
from webhook.folder.yaml_reading import read_yaml


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


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t 0123456789eExX.-+_:"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | TEXTS
    | st.sampled_from(["y", "1e3", "0o7", "1_000", "~", "off", "=", "<<"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_yaml_is_read_again_as_kubectl_reads_it(value: dict[str, Any]) -> None:
    reading = read_yaml(as_yaml(value), "printed")
    assert reading.problems == ()
    assert [document.value for document in reading.documents] == [value]


def test_documents_of_both_formats() -> None:
    assert as_documents([{"a": 1}, {"a": 2}], "json") == '{"a": 1}\n{"a": 2}\n'
    assert as_documents([{"a": 1}, {"a": 2}], "yaml") == "---\na: 1\n---\na: 2\n"
