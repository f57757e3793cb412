"""RFC 6902 operations on an object's metadata, on whatever is there: a map, an empty one, none at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.model.finding import PatchOp
from webhook.model.pointer import join
from webhook.model.tolerant import at, mapping

ANNOTATIONS = "/metadata/annotations"


def set_annotation(raw: Mapping[str, Any], key: str, value: str) -> tuple[PatchOp, ...]:
    """What gives the object the annotation. Nothing when it has it already."""
    annotations = at(raw, ANNOTATIONS)
    if not isinstance(annotations, dict) or not annotations:
        # `add` to a map that is not there would fail: the map is added whole
        return ({"op": "add", "path": ANNOTATIONS, "value": {key: value}},)
    if annotations.get(key) == value:
        return ()
    return ({"op": "replace" if key in annotations else "add", "path": join(ANNOTATIONS, key), "value": value},)


def remove_annotation(raw: Mapping[str, Any], key: str, annotations: str = ANNOTATIONS) -> tuple[PatchOp, ...]:
    """What takes the annotation away from the object (or from the map at another place). Nothing when it is not there."""
    return ({"op": "remove", "path": join(annotations, key)},) if key in mapping(at(raw, annotations)) else ()
