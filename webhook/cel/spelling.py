"""A piece of a tree as text again, for hints that can be pasted. Short pieces only: "" where it would be long or deep."""

from __future__ import annotations

import json

from webhook.cel.ast import Call, Ident, ListNode, Literal, Node, Select

_DEEPEST = 12
_LONGEST = 120


class _TooMuchError(Exception):
    """More than what a hint can show."""


def spelt(node: Node) -> str:
    """The text of a node, "" when it is no short one."""
    try:
        text = _text(node, _DEEPEST)
    except _TooMuchError:
        return ""
    return text if len(text) <= _LONGEST else ""


def _text(node: Node, room: int) -> str:
    if not room:
        raise _TooMuchError
    room -= 1
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Literal):
        return _literal(node.value)
    if isinstance(node, Select) and not node.test:
        return f"{_text(node.operand, room)}.{node.field}"
    if isinstance(node, ListNode) and not node.optional:
        return f"[{_listed(node.elements, room)}]"
    if isinstance(node, Call):
        return _call(node, room)
    raise _TooMuchError


def _call(node: Call, room: int) -> str:
    if node.function == "_[_]":
        return f"{_text(node.args[0], room)}[{_text(node.args[1], room)}]"
    if node.function == "_?._" and isinstance(field := node.args[1], Literal):
        return f"{_text(node.args[0], room)}.?{field.value}"
    if node.function == "_[?_]":
        return f"{_text(node.args[0], room)}[?{_text(node.args[1], room)}]"
    if not node.function.replace(".", "").isalpha():
        raise _TooMuchError
    target = f"{_text(node.target, room)}." if node.target is not None else ""
    return f"{target}{node.function}({_listed(node.args, room)})"


def _listed(nodes: tuple[Node, ...], room: int) -> str:
    if len(nodes) > _DEEPEST:
        raise _TooMuchError
    return ", ".join(_text(node, room) for node in nodes)


def _literal(value: object) -> str:
    if type(value) in (str, bool) or value is None:
        return json.dumps(value, ensure_ascii=False)
    if type(value) in (int, float):
        return str(value)
    raise _TooMuchError
