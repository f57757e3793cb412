"""What to write instead where an optional value (`x.?name`, `x[?"name"]`) stands in the place of a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.cel.amounts import is_amount, without_unit
from webhook.cel.ast import Call, Literal, Node
from webhook.cel.library.table import Function
from webhook.cel.pattern_hints import for_pattern, is_pattern
from webhook.cel.spelling import spelt
from webhook.cel.types import BOOL, DOUBLE, INT, QUANTITY, SEMVER, STRING, Kind, Type, is_dyn, is_optional

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
#: What stands for a value that is not there, as text and as the value of a literal.
_NOTHING: Final = {STRING: ('""', ""), INT: ("0", 0), DOUBLE: ("0.0", 0.0), BOOL: ("false", False)}
_NO_AMOUNT: Final = 'quantity("0")'
_WHAT: Final = ".? and [?] give an optional value"
_GENERAL: Final = f"{_WHAT}: take the plain one out of it with .orValue(...)"


def for_compared(operator: str, nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """For an optional value that is compared with a plain one; "" when there is no optional one."""
    if all(map(is_optional, types)):
        return _GENERAL
    if is_optional(types[0]):
        return _compared(operator, nodes[0], types[0].params[0], nodes[1], types[1])
    return _compared(_FLIPPED[operator], nodes[1], types[1].params[0], nodes[0], types[0]) if is_optional(types[1]) else ""


def _compared(operator: str, value: Node, held: Type, other: Node, type_: Type) -> str:
    shown = spelt(other)
    if not shown:
        return _GENERAL
    nothing = _nothing_like(other, type_) if operator == "==" and (is_dyn(held) or held == type_) else ""
    if nothing and spelt(value):
        return f"{_WHAT}: write {spelt(value)}.orValue({nothing}) == {shown}"
    guard, path = _guard(value)
    if not path or (held == QUANTITY and type_ == STRING and not is_amount(other)):
        return _GENERAL
    remark = without_unit(other) if held == QUANTITY else ""
    if held == QUANTITY and type_ == SEMVER:
        guard, path = (text.replace("device.capacity[", "device.attributes[") for text in (guard, path))
    elif QUANTITY in (held, type_):
        guard, path = (text.replace("device.attributes[", "device.capacity[") for text in (guard, path))
        shown = shown if type_ == QUANTITY else f"quantity({shown})" if type_ == STRING else f'quantity("{shown}")'
    if QUANTITY in (held, type_) or type_ == SEMVER:
        return f"{_WHAT}{remark}: write {guard} && {path}.compareTo({shown}) {operator} 0"
    return f"{_WHAT}: write {guard} && {path} {operator} {shown}"


def _nothing_like(other: Node, type_: Type) -> str:
    """What may stand for a value that is not there; "" of what is nothing itself: devices without it would seem to have it."""
    text, value = _NOTHING.get(type_, ("", None))
    return text if isinstance(other, Literal) and other.value != value else ""


def _guard(value: Node) -> tuple[str, str]:
    """The test whether an optional value is there, and the plain one; "" where it is no simple one."""
    if not isinstance(value, Call) or value.function not in ("_?._", "_[?_]"):
        return "", ""
    container, key = spelt(value.args[0]), value.args[1]
    if not container or not spelt(key) or ".?" in container or "[?" in container:
        return "", ""
    if value.function == "_[?_]":
        if not isinstance(key, Literal) or type(key.value) is not str:
            return "", ""  # of a list `in` asks for a value, not for an index
        return f"{spelt(key)} in {container}", f"{container}[{spelt(key)}]"
    name = key.value if isinstance(key, Literal) else ""
    return f"has({container}.{name})", f"{container}.{name}"


def for_listed(nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """For `x.?name in [...]`, and `... in x.?name`; "" when there is no optional value."""
    if any(map(is_optional, types)) and not all(map(_may_be_listed, types)):
        return _GENERAL
    if is_optional(types[0]) and not is_optional(types[1]):
        guard, path = _guard(nodes[0])
        return f"{_WHAT}: write {guard} && {path} in {spelt(nodes[1])}" if path and spelt(nodes[1]) else _GENERAL
    if is_optional(types[1]) and not is_optional(types[0]):
        guard, path = _guard(nodes[1])
        return f"{_WHAT}: write {guard} && {spelt(nodes[0])} in {path}" if path and spelt(nodes[0]) else _GENERAL
    return _GENERAL if any(map(is_optional, types)) else ""


def _may_be_listed(type_: Type) -> bool:
    """Whether it is no amount: nobody lists those."""
    return not (is_optional(type_) and type_.params[0] == QUANTITY)


def for_called(node: Call, function: Function, nodes: Sequence[Node], types: Sequence[Type], *, member: bool) -> str:
    """For a call on or with an optional value; "" when there is none."""
    if not any(map(is_optional, types)):
        return ""
    if not member or not is_optional(types[0]):
        return _GENERAL
    held, arguments = types[0].params[0], [spelt(argument) for argument in nodes[1:]]
    fitting = [item for item in function.overloads if item.member and _fits(item.params, (held, *types[1:]))]
    if not fitting or any(map(is_optional, types[1:])) or not all(arguments):
        return _GENERAL
    call = f".{node.function}({', '.join(arguments)})"
    guard, path = _guard(nodes[0])
    if node.function == "matches" and isinstance(pattern := nodes[1], Literal) and not is_pattern(str(pattern.value)):
        meant = for_pattern(str(pattern.value), path).partition("write ")[2] if path else ""
        return f"{_WHAT}: write {guard} && {meant}" if meant else _GENERAL
    if path and all(item.result == BOOL for item in fitting):
        return f"{_WHAT}: write {guard} && {path}{call}"
    nothing = _nothing(held, [*types[1:], *(item.params[0] for item in fitting)])
    return f"{_WHAT}: write {spelt(nodes[0])}.orValue({nothing}){call}" if nothing and spelt(nodes[0]) else _GENERAL


def _fits(wanted: Sequence[Type], given: Sequence[Type]) -> bool:
    """Whether these arguments may be given for those parameters."""
    return len(wanted) == len(given) and all(
        is_dyn(type_) or param == type_ or param.kind in (Kind.PARAM, Kind.LIST, Kind.MAP)
        for param, type_ in zip(wanted, given, strict=True)
    )


def _nothing(held: Type, wanted: Sequence[Type]) -> str:
    """What a function may be called on in the place of a value that is not there."""
    if held == QUANTITY:
        return _NO_AMOUNT
    if not is_dyn(held) or (SEMVER in wanted and STRING not in wanted):
        return 'semver("0.0.0")' if is_dyn(held) else ""
    if STRING in wanted:
        return '""'
    return "[]" if any(type_.kind is Kind.LIST for type_ in wanted) else ""


def for_condition(node: Node, type_: Type) -> str:
    """For an optional value in the place of a condition; "" when it is none, or can be none."""
    if not is_optional(type_) or not spelt(node):
        return ""
    held = type_.params[0]
    return f"{_WHAT}: write {spelt(node)}.orValue(false)" if is_dyn(held) or held == BOOL else _GENERAL
