"""RFC 6902 for add, remove, replace: the RFC's own examples, its error conditions, and that nothing is changed in place."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from webhook.errors import PatchError
from webhook.model.json_patch import apply_patch


def op(name: str, path: str, *value: Any) -> dict[str, Any]:
    return {"op": name, "path": path} | ({"value": value[0]} if value else {})


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        # RFC 6902, appendix A.1 to A.5, A.10, A.11, A.14, A.16
        ({"foo": "bar"}, op("add", "/baz", "qux"), {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, op("add", "/foo/1", "qux"), {"foo": ["bar", "qux", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, op("remove", "/baz"), {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, op("remove", "/foo/1"), {"foo": ["bar", "baz"]}),
        ({"baz": "qux", "foo": "bar"}, op("replace", "/baz", "boo"), {"baz": "boo", "foo": "bar"}),
        ({"foo": "bar"}, op("add", "/child", {"grandchild": {}}), {"foo": "bar", "child": {"grandchild": {}}}),
        ({"foo": "bar"}, op("add", "/baz", "qux") | {"xyz": 123}, {"foo": "bar", "baz": "qux"}),
        ({"/": 9, "~1": 10}, op("replace", "/~01", 11), {"/": 9, "~1": 11}),
        ({"/": 9, "~1": 10}, op("remove", "/~1"), {"~1": 10}),
        ({"foo": ["bar"]}, op("add", "/foo/-", ["abc", "def"]), {"foo": ["bar", ["abc", "def"]]}),
        # an existing member is replaced by add; an index may name the end; "" is a key; null is a value
        ({"foo": None}, op("add", "/foo", 1), {"foo": 1}),
        ({"foo": 1}, op("replace", "/foo", None), {"foo": None}),
        ({"foo": ["bar"]}, op("add", "/foo/1", "baz"), {"foo": ["bar", "baz"]}),
        ({"foo": ["bar"]}, op("add", "/foo/0", "baz"), {"foo": ["baz", "bar"]}),
        ({"foo": ["bar"]}, op("replace", "/foo/0", "baz"), {"foo": ["baz"]}),
        ({"foo": [{"a": 1}, {"a": 2}]}, op("add", "/foo/1/b", 3), {"foo": [{"a": 1}, {"a": 2, "b": 3}]}),
        ({"foo": [0] * 11}, op("replace", "/foo/10", 1), {"foo": [0] * 10 + [1]}),
        ({}, op("add", "/", 1), {"": 1}),
        ({"-": 1}, op("replace", "/-", 2), {"-": 2}),
        ({"0": 1}, op("replace", "/0", 2), {"0": 2}),
        # the whole document
        ({"foo": 1}, op("add", "", {"bar": 2}), {"bar": 2}),
        ({"foo": 1}, op("replace", "", []), []),
        ([], op("add", "/-", 1), [1]),
    ],
)
def test_applies(document: Any, operation: dict[str, Any], expected: Any) -> None:
    before = deepcopy(document)
    assert apply_patch(document, [operation]) == expected
    assert document == before


@pytest.mark.parametrize(
    ("document", "operation", "message"),
    [
        ({"foo": "bar"}, op("add", "/baz/bat", "qux"), "add /baz/bat: there is no 'baz'"),
        ({}, op("replace", "/foo", 1), "replace /foo: there is no 'foo'"),
        ({}, op("remove", "/foo"), "remove /foo: there is no 'foo'"),
        ({"foo": [1]}, op("add", "/foo/2", 1), "add /foo/2: the array has 1 item"),
        ({"foo": []}, op("remove", "/foo/0"), "remove /foo/0: the array has 0 items"),
        ({"foo": [1, 2]}, op("replace", "/foo/2", 1), "replace /foo/2: the array has 2 items"),
        ({"foo": [1]}, op("add", "/foo/1/bar", 1), "add /foo/1/bar: the array has 1 item"),
        ({"foo": [1]}, op("replace", "/foo/-", 1), "replace /foo/-: '-' is no array index"),
        ({"foo": [1]}, op("remove", "/foo/-"), "remove /foo/-: '-' is no array index"),
        ({"foo": [{}]}, op("add", "/foo/-/bar", 1), "add /foo/-/bar: '-' is no array index"),
        ({"foo": [1]}, op("replace", "/foo/01", 1), "replace /foo/01: '01' is no array index"),
        ({"foo": [1, 2]}, op("replace", "/foo/+1", 1), "replace /foo/+1: '+1' is no array index"),
        ({"foo": [1, 2]}, op("replace", "/foo/²", 1), "replace /foo/²: '²' is no array index"),
        ({"foo": []}, op("remove", "/foo/" + "9" * 11), "remove /foo/99999999999: '99999999999' is no array index"),
        ({"foo": [1]}, op("replace", "/foo/", 1), "replace /foo/: '' is no array index"),
        ({"foo": "bar"}, op("add", "/foo/bar", 1), "add /foo/bar: 'bar' is asked of what is neither an object nor an array"),
        ({}, op("remove", ""), "remove: the whole document cannot be removed"),
        ({}, op("add", "foo", 1), "add: 'foo' is no JSON pointer"),
        ({}, {"op": "add", "value": 1}, "add: None is no JSON pointer"),
        ({}, op("add", "/foo"), "add /foo: there is no value"),
        ({"foo": 1}, op("replace", "/foo"), "replace /foo: there is no value"),
        ({}, op("test", "", {}), "operation 'test' is not one of add, remove, replace"),
        ({}, {"path": "/foo"}, "operation None is not one of add, remove, replace"),
    ],
)
def test_refuses(document: Any, operation: dict[str, Any], message: str) -> None:
    before = deepcopy(document)
    with pytest.raises(PatchError) as caught:
        apply_patch(document, [operation])
    assert str(caught.value) == message
    assert document == before


def test_operations_follow_each_other() -> None:
    document = {"a": {"b": [1]}}
    operations = [op("add", "/a/b/-", 2), op("remove", "/a/b/0"), op("add", "/a/c", {}), op("add", "/a/c/d", 3)]
    assert apply_patch(document, operations) == {"a": {"b": [2], "c": {"d": 3}}}
    assert document == {"a": {"b": [1]}}


def test_what_lies_off_the_path_is_not_copied() -> None:
    document: dict[str, Any] = {"a": {"b": 1}, "c": {"d": [1]}}
    patched = apply_patch(document, [op("replace", "/a/b", 2)])
    assert patched["c"] is document["c"]
    assert apply_patch(document, []) is document
