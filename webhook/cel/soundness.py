"""Which of the checker's types hold at run time.

The checker works out types of variables from how they are used, and takes whatever has an unknown type for what is asked of
it. What it says of a macro's variable or of an element of a list is therefore only a guess, and a call has to look at the
value. It is sure of literals, of the environment's own variables, and of what a function returns that always returns one type.
"""

from __future__ import annotations

from webhook.cel.ast import Call, Ident, Literal, Node, Select
from webhook.cel.checked import Checked
from webhook.cel.types import Kind, Type, is_dyn


def is_sure(checked: Checked, node: Node) -> bool:
    """Every value of the node has the type that the checker gave it."""
    while True:
        if isinstance(node, Literal) or node in checked.constants:
            return True
        if isinstance(node, Ident):
            return node.name in checked.environment.variables and node.name not in checked.locals
        if isinstance(node, Select):
            node = node.operand
        elif isinstance(node, Call) and node.function == "_[_]":
            node = node.args[0]
        else:
            return isinstance(node, Call) and _returns_one_type(checked, node)


def _returns_one_type(checked: Checked, node: Call) -> bool:
    resolution = checked.calls.get(node)
    if resolution is None:
        return False
    return all(_is_concrete(overload.result) for overload in resolution.overloads)


def _is_concrete(type_: Type) -> bool:
    return not is_dyn(type_) and type_.kind is not Kind.PARAM and all(map(_is_concrete, type_.params))
