"""JSON pointers and Kubernetes field paths."""

from __future__ import annotations

import pytest

from webhook.model.pointer import escape, field_path, join
from webhook.model.tolerant import at


@pytest.mark.parametrize(("token", "escaped"), [("a", "a"), ("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01")])
def test_escape(token: str, escaped: str) -> None:
    assert escape(token) == escaped


def test_join() -> None:
    assert join("/metadata", "annotations", "fallgate.dev/fallback", 0) == "/metadata/annotations/fallgate.dev~1fallback/0"


@pytest.mark.parametrize(
    ("pointer", "path"),
    [
        ("", ""),
        ("/spec/devices/requests/0/firstAvailable/1", "spec.devices.requests[0].firstAvailable[1]"),
        ("/metadata/annotations/fallgate.dev~1fallback", "metadata.annotations[fallgate.dev/fallback]"),
        ("/a~0b/c", "[a~b].c"),
    ],
)
def test_field_path(pointer: str, path: str) -> None:
    assert field_path(pointer) == path


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", {"a": [{"b/c": 1}]}),
        ("/a/0/b~1c", 1),
        ("/a/1", None),
        ("/a/-", None),
        ("/a/00", None),
        ("/a/²", None),
        ("/a/0/b", None),
        ("/a/0/b~1c/d", None),
    ],
)
def test_at(pointer: str, found: object) -> None:
    assert at({"a": [{"b/c": 1}]}, pointer) == found
