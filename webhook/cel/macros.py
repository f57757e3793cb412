"""Macros: calls that become something else than a call while the text is parsed.

Each expansion gives what cel-go's gives, so that types, errors and costs come out the same. A macro that does not
apply returns None and the call stays a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from webhook.cel.ast import (
    Call,
    Fold,
    Ident,
    ListNode,
    MapNode,
    Node,
    Position,
    Select,
    above,
    call,
    ident,
    list_node,
    literal,
    member_call,
    select,
)
from webhook.cel.hints import for_has
from webhook.cel.problems import ExpressionError, problem

ACCUMULATOR = "@result"
UNUSED = "#unused"
SORT_INPUT = "@__sortBy_input__"
_RESERVED = {ACCUMULATOR, "__result__"}

Args: TypeAlias = tuple[Node, ...]
Expander: TypeAlias = Callable[[Position, Node, Args], Node | None]


def expand_global(at: Position, name: str, args: Args) -> Node | None:
    """`has(a.b)`, the only macro without a receiver."""
    if name != "has" or len(args) != 1:
        return None
    if not isinstance(args[0], Select):
        raise ExpressionError(problem("invalid argument to has() macro", args[0].at, for_has(args[0])))
    return select(at, args[0].operand, args[0].field, test=True)


def expand_member(at: Position, name: str, target: Node, args: Args) -> Node | None:
    """`target.name(args)`, if that is a macro."""
    expander = _MEMBER_MACROS.get((name, len(args)))
    return expander(at, target, args) if expander is not None else None


def _fold(at: Position, macro: str, range_: Node, variables: tuple[str, str], loop: tuple[Node, Node, Node, Node]) -> Fold:
    initial, condition, step, result = loop
    depth = above(range_, *loop)
    return Fold(at, depth, macro, range_, variables[0], variables[1], ACCUMULATOR, initial, condition, step, result)


def _one_variable(args: Args) -> tuple[str, str]:
    name = args[0]
    if not isinstance(name, Ident):
        raise ExpressionError(problem("argument must be a simple name", args[0].at))
    if name.absolute:
        return f".{name.name}", ""  # a variable that nothing can refer to
    if name.name in _RESERVED:
        raise ExpressionError(problem("iteration variable overwrites accumulator variable", args[0].at))
    return name.name, ""


def _two_variables(args: Args) -> tuple[str, str]:
    first, second = _one_variable(args)[0], _one_variable(args[1:])[0]
    if first == second:
        raise ExpressionError(problem(f"duplicate variable name: {first}", args[1].at))
    return first, second


def _accu(at: Position) -> Node:
    """The accumulator, a new node each time: costs are counted by node."""
    return ident(at, ACCUMULATOR)


def _all(at: Position, target: Node, variables: tuple[str, str], predicate: Node) -> Node:
    condition, step = call(at, "@not_strictly_false", _accu(at)), call(at, "_&&_", _accu(at), predicate)
    return _fold(at, "all", target, variables, (literal(at, True), condition, step, _accu(at)))


def _exists(at: Position, target: Node, variables: tuple[str, str], predicate: Node) -> Node:
    condition = call(at, "@not_strictly_false", call(at, "!_", _accu(at)))
    step = call(at, "_||_", _accu(at), predicate)
    return _fold(at, "exists", target, variables, (literal(at, False), condition, step, _accu(at)))


def _exists_one(at: Position, target: Node, variables: tuple[str, str], predicate: Node) -> Node:
    step = call(at, "_?_:_", predicate, call(at, "_+_", _accu(at), literal(at, 1)), _accu(at))
    result = call(at, "_==_", _accu(at), literal(at, 1))
    return _fold(at, "exists_one", target, variables, (literal(at, 0), literal(at, True), step, result))


def _collect(at: Position, target: Node, variables: tuple[str, str], predicate: Node | None, element: Node) -> Node:
    step: Node = call(at, "_+_", _accu(at), list_node(at, element))
    if predicate is not None:
        step = call(at, "_?_:_", predicate, step, _accu(at))
    return _fold(at, "collect", target, variables, (list_node(at), literal(at, True), step, _accu(at)))


def _insert(at: Position, target: Node, variables: tuple[str, str], predicate: Node | None, *entry: Node) -> Node:
    step: Node = call(at, "cel.@mapInsert", _accu(at), *entry)
    if predicate is not None:
        step = call(at, "_?_:_", predicate, step, _accu(at))
    return _fold(at, "insert", target, variables, (MapNode(at, 1, ()), literal(at, True), step, _accu(at)))


def _map(at: Position, target: Node, args: Args) -> Node:
    return _collect(at, target, _one_variable(args), args[1] if len(args) == 3 else None, args[-1])


def _filter(at: Position, target: Node, args: Args) -> Node:
    return _collect(at, target, _one_variable(args), args[1], args[0])


def _transform_list(at: Position, target: Node, args: Args) -> Node:
    return _collect(at, target, _two_variables(args), args[2] if len(args) == 4 else None, args[-1])


def _transform_map(at: Position, target: Node, args: Args) -> Node:
    name = args[0]
    key = ident(at, name.name) if isinstance(name, Ident) and not name.absolute else name
    return _insert(at, target, _two_variables(args), args[2] if len(args) == 4 else None, key, args[-1])


def _transform_map_entry(at: Position, target: Node, args: Args) -> Node:
    return _insert(at, target, _two_variables(args), args[2] if len(args) == 4 else None, args[-1])


def _let(at: Position, macro: str, name: str, value: Node, result: Node) -> Fold:
    """A fold that never loops: its accumulator is a variable bound to `value`."""
    loop = (value, literal(at, False), ident(at, name), result)
    return Fold(at, above(*loop), macro, list_node(at), UNUSED, "", name, *loop)


def _simple_name(node: Node, message: str) -> str:
    if not isinstance(node, Ident) or node.absolute:
        raise ExpressionError(problem(message, node.at))
    return node.name


def _bind(at: Position, target: Node, args: Args) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel" or target.absolute:
        return None
    name = _simple_name(args[0], "cel.bind() variable names must be simple identifiers")
    return _let(at, "bind", name, args[1], args[2])


def _opt_map(at: Position, target: Node, args: Args) -> Node:
    name = _simple_name(args[0], "optMap() variable name must be a simple identifier")
    bound = _let(at, "opt", name, member_call(at, "value", target), args[1])
    present = call(at, "optional.of", bound)
    return call(at, "_?_:_", member_call(at, "hasValue", target), present, call(at, "optional.none"))


def _opt_flat_map(at: Position, target: Node, args: Args) -> Node:
    name = _simple_name(args[0], "optFlatMap() variable name must be a simple identifier")
    bound = _let(at, "opt", name, member_call(at, "value", target), args[1])
    return call(at, "_?_:_", member_call(at, "hasValue", target), bound, call(at, "optional.none"))


def _sort_by(at: Position, target: Node, args: Args) -> Node:
    if not isinstance(target, ListNode | Select | Ident | Fold | Call):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise ExpressionError(problem(message, target.at))
    keys = _map(at, ident(at, SORT_INPUT), args)
    result = member_call(at, "@sortByAssociatedKeys", ident(at, SORT_INPUT), keys)
    return _let(at, "bind", SORT_INPUT, target, result)


def _quantifier(build: Callable[[Position, Node, tuple[str, str], Node], Node], count: int) -> Expander:
    variables = _one_variable if count == 2 else _two_variables
    return lambda at, target, args: build(at, target, variables(args), args[-1])


_MEMBER_MACROS: dict[tuple[str, int], Expander] = {
    ("all", 2): _quantifier(_all, 2),
    ("all", 3): _quantifier(_all, 3),
    ("exists", 2): _quantifier(_exists, 2),
    ("exists", 3): _quantifier(_exists, 3),
    ("exists_one", 2): _quantifier(_exists_one, 2),
    ("exists_one", 3): _quantifier(_exists_one, 3),
    ("existsOne", 3): _quantifier(_exists_one, 3),
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
    ("bind", 3): _bind,
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
    ("sortBy", 2): _sort_by,
}
