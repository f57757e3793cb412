"""Operations on annotations: the map is there, empty, null, or not there."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.model.json_patch import apply_patch
from webhook.rulekit.patching import remove_annotation, set_annotation

KEY = "fallgate.dev/injected"
PATH = "/metadata/annotations/fallgate.dev~1injected"


def raw(**metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        (raw(), {"op": "add", "path": "/metadata/annotations", "value": {KEY: "v"}}),
        (raw(annotations=None), {"op": "add", "path": "/metadata/annotations", "value": {KEY: "v"}}),
        (raw(annotations={}), {"op": "add", "path": "/metadata/annotations", "value": {KEY: "v"}}),
        (raw(annotations="odd"), {"op": "add", "path": "/metadata/annotations", "value": {KEY: "v"}}),
        (raw(annotations={"a": "b"}), {"op": "add", "path": PATH, "value": "v"}),
        (raw(annotations={KEY: "old"}), {"op": "replace", "path": PATH, "value": "v"}),
    ],
)
def test_sets(body: dict[str, Any], operation: dict[str, Any]) -> None:
    ops = set_annotation(body, KEY, "v")
    assert ops == (operation,)
    others = body["metadata"].get("annotations")
    assert apply_patch(body, ops) == raw(annotations={**(others if isinstance(others, dict) else {}), KEY: "v"})


def test_sets_nothing_that_is_there() -> None:
    assert set_annotation(raw(annotations={KEY: "v"}), KEY, "v") == ()


def test_removes() -> None:
    body = raw(annotations={KEY: "", "a": "b"})
    assert remove_annotation(body, KEY) == ({"op": "remove", "path": PATH},)
    assert apply_patch(body, remove_annotation(body, KEY)) == raw(annotations={"a": "b"})
    inner = {"spec": body}
    assert remove_annotation(inner, KEY, "/spec/metadata/annotations") == ({"op": "remove", "path": "/spec" + PATH},)


@pytest.mark.parametrize("body", [raw(), raw(annotations=None), raw(annotations={"a": "b"}), {}, {"metadata": []}])
def test_removes_nothing_that_is_not_there(body: dict[str, Any]) -> None:
    assert remove_annotation(body, KEY) == ()
