"""From field paths to lines."""

from __future__ import annotations

import pytest

from webhook.cli.outputs.places import LineIndex, steps_of

TEXT = """\
# a comment
kind: Pod
metadata:
  name: a
  annotations:
    fallgate.dev/compatible-shapes: x
spec:
  containers:
  - name: main
    image: x
---
kind: List
items:
- kind: Pod
  spec:
    nodeName: n
- kind: Pod
  spec: {nodeName: m}
"""


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", ()),
        ("spec", ("spec",)),
        ("spec.devices.requests[0].firstAvailable[1]", ("spec", "devices", "requests", "0", "firstAvailable", "1")),
        (
            "metadata.annotations[fallgate.dev/compatible-shapes]",
            ("metadata", "annotations", "fallgate.dev/compatible-shapes"),
        ),
    ],
)
def test_steps_of_a_field_path(path: str, steps: tuple[str, ...]) -> None:
    assert steps_of(path) == steps


@pytest.mark.parametrize(
    ("document", "path", "line"),
    [
        (2, "", 2),
        (2, "metadata.annotations[fallgate.dev/compatible-shapes]", 6),
        (2, "spec.containers[0].image", 10),
        (2, "spec.containers[0].resources.claims", 9),
        (2, "spec.containers[3]", 8),
        (2, "status", 2),
        (14, "spec.nodeName", 16),
        (17, "spec.nodeName", 18),
    ],
)
def test_the_line_is_that_of_the_deepest_field_that_is_written(document: int, path: str, line: int) -> None:
    assert LineIndex(TEXT).line_of(document, path) == line


def test_json_has_lines_too() -> None:
    assert LineIndex('{\n"kind": "Pod",\n"spec": {\n"nodeName": "x"}}').line_of(1, "spec.nodeName") == 4


def test_what_is_no_yaml_has_the_lines_of_its_documents_only() -> None:
    assert LineIndex('{"kind": "Pod", "spec": {}}\n{"kind": "Pod"}\n').line_of(2, "spec.nodeName") == 2
