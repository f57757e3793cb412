"""The names of attributes and capacities that an expression of a policy can look at, whatever object they belong to.

Not what it certainly reads: every name that is spelt in it may be one. It can look at others only where a map is gone through,
compared or handed on as a whole, or indexed by what is not known before run time.
"""

from __future__ import annotations

from typing import Final

from webhook.cel.ast import Call, Fold, ListNode, Literal, Node, Select, children
from webhook.cel.checked import Checked
from webhook.cel.types import Kind, Type

#: Calls whose result is what they are given, or a part of it, which is looked at in its turn.
_HANDING_ON: Final = frozenset({"_?_:_", "_+_", "orValue", "or", "value", "optional.of", "optional.ofNonZeroValue"})
#: Calls that say nothing of what is in a list or an optional value.
_COUNTING: Final = frozenset({"size", "hasValue"})
_INDEXING: Final = frozenset({"_[_]", "_[?_]", "_?._"})


def names_read(checked: Checked) -> frozenset[str] | None:
    """All names that the expression can look at; None when it can look at every one."""
    names: set[str] = set()
    seen: set[Node] = set()
    pending = [checked.tree]
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Select):
            names.add(node.field)
        elif isinstance(node, Literal) and isinstance(node.value, str):
            names.add(node.value)
        for child in children(node):
            type_ = checked.types.get(child)  # a namespace, as in lists.range, has none
            if type_ is not None and _holds_maps(type_) and not _is_plain(node, child, type_):
                return None
            pending.append(child)
    return frozenset(names)


def _holds_maps(type_: Type) -> bool:
    if type_.kind is Kind.MAP or (type_.kind is Kind.STRUCT and type_.fields is not None):
        return True
    return any(map(_holds_maps, type_.params))


def _is_plain(node: Node, child: Node, type_: Type) -> bool:
    """Whether a node does no more with a map, or with what holds one, than look a spelt name up or hand it on."""
    if isinstance(node, Select | ListNode):
        return True
    if isinstance(node, Fold):
        return child is not node.range_ or type_.kind is Kind.LIST
    if not isinstance(node, Call):
        return False
    if node.function in _INDEXING:
        return type_.kind is Kind.LIST or _is_name(node.args[1])
    if node.function == "@in":
        return _is_name(node.args[0])
    return node.function in _HANDING_ON or (node.function in _COUNTING and type_.kind is not Kind.MAP)


def _is_name(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, str)
