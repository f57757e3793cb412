"""The syntax tree of an expression after parsing and macro expansion.

Nodes are compared by identity, so that later stages can note things about a node in a dict. Every node knows its place
in the text and the depth of its tree. What the text may nest is the front end's business; macros make trees deeper still,
so later stages do not recurse from node to node; closures.py alone does, on trees up to its DEEPEST.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Constant: TypeAlias = object  # bool, int, UInt, float, str, bytes or None


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the text, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant."""

    at: Position
    depth: int
    value: Constant


@dataclass(frozen=True, slots=True, eq=False)
class Ident:
    """A name. `absolute` was written with a leading dot: it never means a local variable."""

    at: Position
    depth: int
    name: str
    absolute: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """operand.field, or has(operand.field) when `test`."""

    at: Position
    depth: int
    operand: Node
    field: str
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function or operator. Operators have names such as `_+_`; `&&` and `||` take any number of arguments."""

    at: Position
    depth: int
    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ListNode:
    """[a, ?b]: `optional` holds the indexes of the elements written with `?`."""

    at: Position
    depth: int
    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One entry of a map literal."""

    at: Position
    key: Node
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MapNode:
    """{k: v, ?k: v}"""

    at: Position
    depth: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FieldValue:
    """One field of a message literal."""

    at: Position
    name: str
    value: Node
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """Name{field: value}, with its fields in their order."""

    at: Position
    depth: int
    name: str
    fields: tuple[FieldValue, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """What a macro becomes: a loop over `range_` with an accumulator.

    `macro` names the macro it came from, so that the compiler can use a loop made for it. `second` is "" in folds with
    one variable. In `cel.bind` the range is empty and the accumulator is the bound variable.
    """

    at: Position
    depth: int
    macro: str
    range_: Node
    first: str
    second: str
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node: TypeAlias = Literal | Ident | Select | Call | ListNode | MapNode | Struct | Fold


def above(*parts: Node) -> int:
    """The depth of a node with these parts."""
    return max([part.depth for part in parts], default=0) + 1


def literal(at: Position, value: Constant) -> Literal:
    """A constant."""
    return Literal(at, 1, value)


def ident(at: Position, name: str) -> Ident:
    """A name."""
    return Ident(at, 1, name)


def call(at: Position, function: str, *args: Node) -> Call:
    """function(args)"""
    return Call(at, above(*args), function, None, args)


def member_call(at: Position, function: str, target: Node, *args: Node) -> Call:
    """target.function(args)"""
    return Call(at, above(target, *args), function, target, args)


def select(at: Position, operand: Node, field: str, *, test: bool = False) -> Select:
    """operand.field or has(operand.field)"""
    return Select(at, above(operand), operand, field, test)


def list_node(at: Position, *elements: Node) -> ListNode:
    """[elements]"""
    return ListNode(at, above(*elements), elements)


def children(node: Node) -> list[Node]:
    """The nodes directly below."""
    if isinstance(node, Call):
        return [*([node.target] if node.target is not None else []), *node.args]
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, ListNode):
        return list(node.elements)
    if isinstance(node, MapNode):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    if isinstance(node, Struct):
        return [given.value for given in node.fields]
    if isinstance(node, Fold):
        return [node.range_, node.initial, node.condition, node.step, node.result]
    return []


def dotted_name(node: Node) -> str:
    """a.b.c as text, or "" when the node is no plain chain of names."""
    names = []
    while isinstance(node, Select) and not node.test:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return ""
    return ".".join([node.name, *reversed(names)])
