"""From a field path of an object to the line of the file on which it is written."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import yaml

#: `.name`, `name`, `[3]`, `[some.key/with.dots]`
_STEP: Final = re.compile(r"\[([^\]]*)\]|\.?([^.\[\]]+)")


def steps_of(path: str) -> tuple[str, ...]:
    """`spec.devices.requests[0]` as its steps; the inverse of model.pointer.field_path."""
    return tuple(key if key else name for key, name in _STEP.findall(path))


class LineIndex:
    """The lines of the fields of every document of one file."""

    def __init__(self, text: str) -> None:
        objects = [node for document in _compose(text) for node in _objects(document)]
        # Of those that begin on one line the innermost counts: it comes last, and the sort keeps that order.
        self._objects = sorted(objects, key=lambda node: int(node.start_mark.line))
        self._lines = [int(node.start_mark.line) + 1 for node in self._objects]

    def line_of(self, document_line: int, path: str) -> int:
        """The line (from 1) of the deepest part of `path` that is written in the document that holds `document_line`."""
        node = self._object_at(document_line)
        line = document_line
        for step in steps_of(path):
            found = _child(node, step) if node is not None else None
            if found is None:
                break
            key, node = found
            line = key.start_mark.line + 1
        return line

    def _object_at(self, line: int) -> yaml.Node | None:
        at = bisect_right(self._lines, line)
        return self._objects[at - 1] if at else None


def _compose(text: str) -> list[yaml.Node]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, RecursionError):
        return []


def _objects(document: yaml.Node) -> Iterator[yaml.Node]:
    """The document itself, and the items of a List."""
    yield document
    items = _child(document, "items")
    if items is not None and isinstance(items[1], yaml.SequenceNode):
        yield from items[1].value


def _child(node: yaml.Node, step: str) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if getattr(key, "value", None) == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        return node.value[int(step)], node.value[int(step)]
    return None
