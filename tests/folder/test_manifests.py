"""Objects out of YAML and JSON, each with its line; everything else is reported and does not spoil the rest."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.folder import manifests
from webhook.folder.json_reading import read_json
from webhook.folder.manifests import ManifestReading, read_manifests
from webhook.folder.yaml_building import MAX_DEPTH

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"


def read(text: str | bytes) -> ManifestReading:
    """What a file `f.yaml` holds."""
    return read_manifests(text.encode() if isinstance(text, str) else text, "f.yaml")


def objects(reading: ManifestReading) -> list[tuple[str, str, int]]:
    """Kind, name and line of what was read."""
    return [(item.raw["kind"], item.raw.get("metadata", {}).get("name", ""), item.line) for item in reading.objects]


def problems(reading: ManifestReading) -> list[tuple[int, int, str]]:
    """Line, column and message of what was not."""
    return [(problem.line, problem.column, problem.message) for problem in reading.problems]


def pod(name: str) -> dict[str, Any]:
    """A Pod."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}


def test_one_object() -> None:
    reading = read(POD)
    assert objects(reading) == [("Pod", "p", 1)]
    assert problems(reading) == []
    assert reading.objects[0].place == "f.yaml:1"
    assert reading.objects[0].raw == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}


def test_many_documents_with_comments_and_empty_ones() -> None:
    text = f"# first\n---\n{POD}---\n# nothing\n\n---\n--- # a comment\n{POD.replace('p}', 'q}')}...\n---\n"
    assert objects(read(text)) == [("Pod", "p", 3), ("Pod", "q", 11)]
    assert problems(read(text)) == []


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "---\n---\n", "%YAML 1.1\n---\n", "\ufeff"])
def test_nothing(text: str) -> None:
    assert read(text) == ManifestReading()


def test_directives_byte_order_mark_and_windows_lines() -> None:
    text = "\ufeff%YAML 1.1\n---\n" + POD
    assert objects(read(text.replace("\n", "\r\n"))) == [("Pod", "p", 3)]


def test_text_is_as_good_as_bytes() -> None:
    assert objects(read_manifests("\ufeff" + POD, "<stdin>")) == [("Pod", "p", 1)]


def test_a_list_as_kubectl_prints_it() -> None:
    text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n- apiVersion: v1\n  kind: Node\n" + (
        "  metadata:\n    name: b\nkind: List\nmetadata:\n  resourceVersion: ''\n"
    )
    reading = read(text)
    assert objects(reading) == [("Pod", "a", 3), ("Node", "b", 6)]
    assert reading.listed_kinds == frozenset()


def test_a_typed_list_lends_its_items_their_kind() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: ResourceSliceList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n"
    reading = read(text)
    assert objects(reading) == [("ResourceSlice", "a", 4), ("ResourceSlice", "b", 5)]
    assert {item.raw["apiVersion"] for item in reading.objects} == {"resource.k8s.io/v1"}
    assert reading.listed_kinds == {"ResourceSlice"}


@pytest.mark.parametrize("items", ["[]", "null", ""])
def test_an_empty_typed_list_says_that_there_are_none(items: str) -> None:
    reading = read(f"apiVersion: v1\nkind: PodList\nitems: {items}\n")
    assert reading == ManifestReading(listed_kinds=frozenset({"Pod"}))


def test_a_kind_that_only_sounds_like_a_list() -> None:
    reading = read("apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: x}\nspec: {}\n")
    assert objects(reading) == [("AllowList", "x", 1)]


def test_lists_in_lists_and_arrays() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [pod("a"), pod("b")]}
    nested = {"apiVersion": "v1", "kind": "List", "items": [inner, pod("c")]}
    assert [name for _, name, _ in objects(read(json.dumps(nested)))] == ["a", "b", "c"]
    assert objects(read(json.dumps([pod("a"), pod("b")], indent=1))) == [("Pod", "a", 2), ("Pod", "b", 9)]
    assert objects(read(f"- {json.dumps(pod('a'))}\n- {json.dumps(pod('b'))}\n")) == [("Pod", "a", 1), ("Pod", "b", 2)]


def test_json_objects_lists_and_lines() -> None:
    assert objects(read("\n" + json.dumps(pod("a"), indent=2))) == [("Pod", "a", 2)]
    lines = "\n".join(json.dumps(pod(name)) for name in "abc")
    assert objects(read(lines)) == [("Pod", "a", 1), ("Pod", "b", 2), ("Pod", "c", 3)]
    listed = json.dumps({"apiVersion": "v1", "items": [pod("a"), pod("b")], "kind": "List"}, indent=1)
    assert objects(read(listed)) == [("Pod", "a", 4), ("Pod", "b", 11)]
    assert objects(read('{"apiVersion":"v1","kind":"Thing","items":[ ],"spec":{}}')) == [("Thing", "", 1)]


def test_json_after_a_mistake_goes_on_with_the_next_object() -> None:
    reading = read(f'{json.dumps(pod("a"))}\n{{"kind": "Pod",}}\n{json.dumps(pod("c"))}\n')
    assert objects(reading) == [("Pod", "a", 1), ("Pod", "c", 3)]
    assert problems(reading) == [(2, 16, "this is not JSON: expecting property name enclosed in double quotes")]
    assert reading.problems[0].excerpt == '{"kind": "Pod",}'


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1', (1, 8), "this is not JSON: expecting ',' delimiter"),
        ('{"a" 1}', (1, 6), "this is not JSON: expecting ':' delimiter"),
        ('{"a": tru}', (1, 7), "this is not JSON: expecting value"),
        ('{"items": [1 2]}', (1, 14), "this is not JSON: expecting ',' delimiter"),
        ('{\n "a": 1,\n 3}', (3, 2), "this is not JSON: expecting property name enclosed in double quotes"),
        ('{"a": NaN}', (1, 1), "this is not usable JSON: NaN is not JSON"),
        ("[" * 100_000, (1, 1), "this is not usable JSON: nested too deeply"),
    ],
)
def test_what_is_said_of_bad_json(text: str, place: tuple[int, int], message: str) -> None:
    (problem,) = read_json(text, "f.json").problems
    assert ((problem.line, problem.column), problem.message, problem.source) == (place, message, "f.json")


def test_json_documents_of_every_kind() -> None:
    found = read_json('{} [] \n[1, {"a": {}}] "x"\n 3', "f.json")
    assert found.problems == ()
    assert [(document.value, document.line) for document in found.documents] == [
        ({}, 1),
        ([], 1),
        ([1, {"a": {}}], 2),
        ("x", 2),
        (3, 3),
    ]


def test_what_is_neither_json_nor_yaml_is_reported_as_json() -> None:
    assert problems(read("[" * 100_000)) == [(1, 1, "this is not usable JSON: nested too deeply")]


def test_half_a_surrogate_pair_is_refused() -> None:
    reading = read('{"apiVersion": "v1", "kind": "\\ud800"}')
    assert problems(reading) == [(1, 1, "this is not usable JSON: a string holds half of a surrogate pair")]
    assert objects(read('{"apiVersion": "v1", "kind": "\\ud83d\\ude00"}')) == [("\U0001f600", "", 1)]


def test_yaml_in_flow_style_begins_like_json() -> None:
    assert objects(read("{apiVersion: v1, kind: Pod, metadata: {name: x}}")) == [("Pod", "x", 1)]
    assert objects(read(f"# a comment\n{json.dumps(pod('a'))}\n---\n{POD}")) == [("Pod", "a", 2), ("Pod", "p", 4)]


def test_a_broken_document_does_not_spoil_the_others() -> None:
    reading = read(f"{POD}---\nkind: [Pod\nspec: x\n---\n{POD.replace('p}', 'q}')}")
    assert objects(reading) == [("Pod", "p", 1), ("Pod", "q", 8)]
    (problem,) = reading.problems
    assert (problem.source, problem.line, problem.warning) == ("f.yaml", 6, False)
    assert problem.message == "this is not YAML: while parsing a flow sequence, did not find expected ',' or ']'"
    assert problem.excerpt == "spec: x"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: b: c\n", (1, 5, "this is not YAML: mapping values are not allowed in this context")),
        ("a: \x01\n", (1, 4, "this is not YAML: control characters are not allowed")),
        ("a: !secret x\n", (1, 4, "the tag !secret means nothing to Kubernetes: take it off")),
        ("? [a]\n: b\n", (1, 3, "a key must be text, not a mapping or a list")),
        ("x: &x [a]\n*x : b\n", (2, 1, "a key must be text, not a mapping or a list")),
        ("a: *b\n", (1, 4, "the alias *b has no complete anchor &b before it")),
        ("a: &a [*a]\n", (1, 8, "the alias *a has no complete anchor &a before it")),
        ("a: &a 1\n---\nb: *a\n", (3, 4, "the alias *a has no complete anchor &a before it")),
        ("a:\n  <<: 3\n", (2, 7, "<< takes a mapping, or a list of mappings")),
        ("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH, (1, MAX_DEPTH + 3, f"this is nested more than {MAX_DEPTH} levels deep")),
    ],
)
def test_what_is_said_of_bad_yaml(text: str, found: tuple[int, int, str]) -> None:
    reading = read(text)
    assert found in problems(reading)
    assert found[0] == next(problem.line for problem in reading.problems if problem.message == found[2])


def test_a_key_given_twice_is_a_warning() -> None:
    reading = read(POD + "spec: {a: 1}\nspec: {a: 2}\n")
    assert problems(reading) == [(5, 1, 'the key "spec" is given twice: the later one counts')]
    assert reading.problems[0].warning
    assert reading.problems[0].excerpt == "spec: {a: 2}"
    assert reading.objects[0].raw["spec"] == {"a": 2}


def test_anchors_merges_and_tags() -> None:
    text = POD + (
        "base: &base {a: 1, b: 2}\nmerged:\n  <<: *base\n  b: 3\nlisted:\n  <<: [{c: 4}, *base]\nsame: *base\n"
        "quoted: '8'\nforced: !!str 8\nnumber: !!int 8\nkey: {8: x, true: z}\nplain: <<\n"
    )
    raw = read(text).objects[0].raw
    assert raw["merged"] == {"a": 1, "b": 3}
    assert raw["listed"] == {"a": 1, "b": 2, "c": 4}
    assert raw["same"] == {"a": 1, "b": 2}
    assert (raw["quoted"], raw["forced"], raw["number"]) == ("8", "8", 8)
    assert raw["key"] == {"8": "x", "true": "z"}
    assert raw["plain"] == "<<"


def test_aliases_cannot_blow_a_document_up() -> None:
    levels = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 20)]
    reading = read(POD + "\n".join(levels) + "\n---\n" + POD)
    assert objects(reading) == [("Pod", "p", 25)]
    (problem,) = reading.problems
    assert problem.message == "aliases make this document more than 100000 values larger: write it out"
    assert problem.line == 8


def test_a_marker_inside_a_block_scalar_is_text() -> None:
    reading = read("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: |\n    a\n    ---\n    b\n")
    assert reading.objects[0].raw["data"] == {"x": "a\n---\nb\n"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("- 1\n", 1, "a Kubernetes object is a mapping with apiVersion and kind, this is a number"),
        ("just text\n", 1, "a Kubernetes object is a mapping with apiVersion and kind, this is a text"),
        ("[[]]", 1, "a Kubernetes object is a mapping with apiVersion and kind, this is a list"),
        ("- null\n", 1, "a Kubernetes object is a mapping with apiVersion and kind, this is nothing (null)"),
        ("# c\nkind: Pod\n", 2, "this object has no apiVersion"),
        ("apiVersion: v1\n", 1, "this object has no kind"),
        ("apiVersion: v1\nkind: 3\n", 1, "this object has no kind"),
        ("apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n", 4, "this object has no apiVersion"),
    ],
)
def test_what_is_no_object_is_reported(text: str, line: int, message: str) -> None:
    reading = read(text)
    assert reading.objects == ()
    assert problems(reading) == [(line, 0, message)]


def test_problems_come_in_the_order_of_their_lines() -> None:
    reading = read("kind: Pod\n---\na: [\n---\nkind: Node\n")
    assert [problem.line for problem in reading.problems] == sorted(problem.line for problem in reading.problems)
    assert len(reading.problems) == 3


def test_gzip() -> None:
    assert objects(read(gzip.compress(POD.encode()))) == [("Pod", "p", 1)]
    (cut,) = read(gzip.compress(POD.encode())[:-9]).problems
    assert cut.message.startswith("this is not a complete gzip file: ")
    (broken,) = read(b"\x1f\x8b\x08nonsense").problems
    assert broken.message.startswith("this is not a complete gzip file: ")


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_UNPACKED", 100)
    (problem,) = read(gzip.compress(b" " * 101)).problems
    assert problem.message == "this unpacks to more than 100 bytes"
    assert read(gzip.compress(b" " * 100)).problems == ()


def test_bytes_that_are_no_text() -> None:
    reading = read(b"a: b\nc: \xff\n")
    assert problems(reading) == [(2, 0, "this is not UTF-8 text: byte 0xff")]


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@`,? \n\t0<~"), max_size=60) | st.text(max_size=30))
def test_odd_text_never_raises(text: str) -> None:
    reading = read_manifests(text, "f")
    assert all(problem.source == "f" and problem.message for problem in reading.problems)


@given(st.binary(max_size=40))
def test_odd_bytes_never_raise(data: bytes) -> None:
    read_manifests(data, "f")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
        max_leaves=20,
    ),
    st.sampled_from([None, 1]),
)
def test_json_reads_as_the_standard_library_reads_it(value: Any, indent: int | None) -> None:
    raw = {"apiVersion": "v1", "kind": "Thing", "items": [value], "spec": value}
    (found,) = read(json.dumps(raw, indent=indent)).objects
    assert found.raw == raw


def test_documents_that_are_no_objects_are_placed_where_they_are() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# c\n- 1\n---\nfoo\n"
    assert [(problem.line, problem.message) for problem in read_manifests(text, "f.yaml").problems] == [
        (6, "a Kubernetes object is a mapping with apiVersion and kind, this is a number"),
        (8, "a Kubernetes object is a mapping with apiVersion and kind, this is a text"),
    ]
