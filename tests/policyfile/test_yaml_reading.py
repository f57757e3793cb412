"""Bytes to documents: what YAML means here, and what is too much."""

from __future__ import annotations

import pytest

from webhook.policyfile.yaml_nodes import Mapping, Scalar, core_value, find, plain
from webhook.policyfile.yaml_reading import MAX_BYTES, MAX_DEPTH, read_documents


def data(text: str | bytes) -> list[object]:
    found = read_documents("p.yaml", text if isinstance(text, bytes) else text.encode())
    assert found.problems == []
    return [plain(document) for document in found.documents]


def places(text: str | bytes) -> list[tuple[int, int, str]]:
    found = read_documents("p.yaml", text if isinstance(text, bytes) else text.encode())
    return [(problem.line, problem.column, problem.message) for problem in found.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("yes", "yes"),
        ("NO", "NO"),
        ("2027-01-15", "2027-01-15"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("true", True),
        ("False", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("-12", -12),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-.inf", float("-inf")),
        ("1.2.3", "1.2.3"),
        ("9" * 40, "9" * 40),
    ],
)
def test_plain_scalars_are_read_by_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    assert core_value(text) == value
    assert type(core_value(text)) is type(value)


def test_not_a_number_is_a_number() -> None:
    value = core_value(".nan")
    assert isinstance(value, float)
    assert value != value  # that is what makes it .nan


def test_quoted_and_tagged_scalars_are_text() -> None:
    assert data("a: \"1\"\nb: 'true'\nc: !!str 5\nd: ! 7\ne: |-\n  2\nf: !!int 3\n") == [
        {"a": "1", "b": "true", "c": "5", "d": "7", "e": "2", "f": 3}
    ]


def test_several_documents_and_empty_ones() -> None:
    assert data("---\n# nothing\n---\na: 1\n...\n---\n- b\n---\n~\n") == [{"a": 1}, ["b"]]


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    assert data(b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: 2\r\n") == [{"a": 1, "b": {"c": 2}}]
    assert places(b"\xef\xbb\xbfa: 1\r\nb: c: 2\r\n") == [(2, 5, 'not valid YAML: ": " cannot stand here')]


def test_aliases_stand_for_what_they_refer_to() -> None:
    assert data("a: &x {b: [1]}\nc: *x\nd: [*x, &y 2, *y]\n") == [{"a": {"b": [1]}, "c": {"b": [1]}, "d": [{"b": [1]}, 2, 2]}]


def test_a_merge_key_is_a_key_like_others() -> None:
    assert data("a: &x {b: 1}\nc: {<<: *x}\n") == [{"a": {"b": 1}, "c": {"<<": {"b": 1}}}]


def test_aliases_are_counted_with_what_they_stand_for() -> None:
    """Nine levels of ten: a billion values in 300 bytes."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    [(line, _, message)] = places("\n".join(lines))
    assert (line, message) == (5, "the document holds more than 50,000 values")


def test_depth_is_limited() -> None:
    assert data("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert places("[" * (MAX_DEPTH + 1)) == [(1, 41, "lists and mappings are nested more than 40 deep")]
    assert len(places("- " * 100_000)) == 1


def test_size_is_limited() -> None:
    [problem] = read_documents("big.yaml", b"#" * (MAX_BYTES + 1)).problems
    assert problem.message == "the file has 2,097,153 bytes; 2,097,152 are the limit"
    assert (problem.source, problem.line) == ("big.yaml", 0)


def test_bytes_that_are_no_utf_8() -> None:
    assert places(b"a: 1\nb: \xff\n") == [(2, 4, "the file is not UTF-8: byte 0xff cannot be read")]
    assert places("a: 1".encode("utf-16")) == [(1, 1, "the file is not UTF-8: byte 0xff cannot be read")]


def test_characters_that_yaml_does_not_allow() -> None:
    assert places("a: 1\nb: \x07\nc: \x00") == [
        (2, 4, "the character U+0007 is not allowed in YAML"),
        (3, 4, "the character U+0000 is not allowed in YAML"),
    ]


def test_what_follows_a_syntax_error_is_read() -> None:
    found = read_documents("p.yaml", b'a: 1\n---\nb: "x\n---\nc: 3\n--- {d: \n---\ne: 5\n')
    assert [plain(document) for document in found.documents] == [{"a": 1}, {"c": 3}, {"e": 5}]
    assert [(problem.line, problem.column) for problem in found.problems] == [(4, 1), (7, 1)]


def test_the_first_of_two_equal_keys_counts() -> None:
    found = read_documents("p.yaml", b"a: 1\nb: 2\na: {c: 3}\n")
    assert [plain(document) for document in found.documents] == [{"a": 1, "b": 2}]
    assert [(problem.line, problem.hint) for problem in found.problems] == [(3, "the first is in line 1; keep one of them")]


def test_nodes_know_where_they_begin() -> None:
    [root] = read_documents("p.yaml", b"a:\n  - b: {c: &anchor !!str x}\n").documents
    assert isinstance(root, Mapping)
    scalar = find(root, "a", 0, "b", "c")
    assert isinstance(scalar, Scalar)
    assert (scalar.place.line, scalar.place.column, scalar.text) == (2, 26, "x")
    assert str(scalar.place) == "p.yaml:2"
    deepest = find(root, "a", 0, "nothing", "there")
    assert (deepest.place.line, deepest.place.column) == (2, 5)
