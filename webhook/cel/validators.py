"""Checks of a tree that has its types: literals of one type, and constant patterns and times that can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webhook.cel.ast import Call, ListNode, Literal, MapNode, Node, children
from webhook.cel.checked import Checked
from webhook.cel.hints import MIXED, for_unreadable
from webhook.cel.library.format import ALLOWED, interpolate
from webhook.cel.library.go_patterns import PatternError
from webhook.cel.library.regex import compiled
from webhook.cel.library.time import parse_duration, parse_timestamp
from webhook.cel.problems import CompileProblem, ExpressionError, problem
from webhook.cel.types import Kind, Type, format_type

_EXEMPT = "format"  # a format's arguments may differ in type


def validate(checked: Checked) -> None:
    """ExpressionError with every literal that is wrong."""
    problems = [found for node, exempt in _walk(checked.tree) for found in _problems(checked, node, exempt)]
    if problems:
        raise ExpressionError(*sorted(dict.fromkeys(problems), key=lambda found: (found.line, found.column)))


def _walk(tree: Node) -> Iterator[tuple[Node, bool]]:
    """Every node, with whether it lies within a call of `format`."""
    pending, seen = [(tree, False)], set()
    while pending:
        node, exempt = pending.pop()
        if node in seen:  # macros may use one node twice
            continue
        seen.add(node)
        yield node, exempt
        inner = exempt or (isinstance(node, Call) and node.function == _EXEMPT)
        pending.extend((child, inner) for child in children(node))


def _problems(checked: Checked, node: Node, exempt: bool) -> Iterator[CompileProblem]:
    if isinstance(node, ListNode) and not exempt:
        types = [_entry_type(checked, element, i in node.optional) for i, element in enumerate(node.elements)]
        yield from _mixed(types, node.elements)
    elif isinstance(node, MapNode) and not exempt:
        yield from _mixed([checked.types[entry.key] for entry in node.entries], [entry.key for entry in node.entries])
        values = [_entry_type(checked, entry.value, entry.optional) for entry in node.entries]
        yield from _mixed(values, [entry.value for entry in node.entries])
    elif isinstance(node, Call) and node.function == _EXEMPT:
        yield from _format_problems(checked, node)
    elif isinstance(node, Call) and node.function in _LITERAL_CHECKS and node.args:
        argument = node.args[0]  # of the arguments proper, as the scheduler's library has it
        if isinstance(argument, Literal) and not _LITERAL_CHECKS[node.function](argument.value):
            yield problem(f"invalid {node.function} argument", argument.at, for_unreadable(node))


def _entry_type(checked: Checked, node: Node, optional: bool) -> Type:
    type_ = checked.types[node]
    if optional and not type_.params:  # this crashes the validator of the scheduler's library
        raise ExpressionError(problem("internal error: optional entry of unknown type", node.at))
    return type_.params[0] if optional else type_


def _mixed(types: list[Type], nodes: list[Node] | tuple[Node, ...]) -> Iterator[CompileProblem]:
    for type_, node in zip(types[1:], nodes[1:], strict=True):
        if not _equivalent(types[0], type_):
            yield problem(f"expected type '{format_type(types[0])}' but found '{format_type(type_)}'", node.at, MIXED)
            return


def _equivalent(one: Type, two: Type) -> bool:
    if one.kind is not two.kind or len(one.params) != len(two.params):
        return False
    return (one.kind is Kind.PARAM or one.name == two.name) and all(map(_equivalent, one.params, two.params))


class _ArgumentError(ValueError):
    """An argument that its clause does not take; knows which one."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.node = node


def _format_problems(checked: Checked, node: Call) -> Iterator[CompileProblem]:
    """A constant format string must fit the arguments, as far as their types are known."""
    arguments = node.args[0] if len(node.args) == 1 else None
    text = node.target.value if isinstance(node.target, Literal) else None
    if type(text) is not str or not isinstance(arguments, ListNode):
        return
    elements, used = arguments.elements, set()

    def clause(index: int, letter: str, precision: int | None) -> str:
        used.add(index)
        wrong = _unsuitable(checked, elements[index], letter)
        if wrong is not None:
            raise _ArgumentError(f"{ALLOWED[letter][1]}, was given {checked.types[wrong].name}", wrong)
        return ""

    try:
        interpolate(text, len(elements), clause)
    except ValueError as error:
        cause = error.__context__
        yield problem(str(error), cause.node.at if isinstance(cause, _ArgumentError) else node.at)
        return
    if len(elements) > len(used):
        message = f"too many arguments supplied to string.format (expected {len(used)}, got {len(elements)})"
        yield problem(message, node.at)


def _unsuitable(checked: Checked, node: Node, letter: str) -> Node | None:
    """The node itself, or the part of it, that a clause does not take."""
    type_ = checked.types[node]
    if type_.kind is not Kind.DYN and type_.name not in ALLOWED[letter][0]:
        return node
    if letter != "s" or not isinstance(node, ListNode | MapNode):
        return None
    return next((bad for child in children(node) if (bad := _unsuitable(checked, child, letter)) is not None), None)


def _is_pattern(value: object) -> bool:
    try:
        return type(value) is str and bool(compiled(value))
    except PatternError:
        return False


_LITERAL_CHECKS: dict[str, Callable[[object], bool]] = {
    "matches": _is_pattern,
    "duration": lambda value: type(value) is str and parse_duration(value) is not None,
    "timestamp": lambda value: type(value) is int or (type(value) is str and parse_timestamp(value) is not None),
}
