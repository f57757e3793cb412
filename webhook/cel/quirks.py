"""Expressions in which the scheduler's library does what nobody would expect, so that only the counted program can follow it.

None of them is of use in a selector. They are found by their form, and then closures do not evaluate them:
- functions whose cost tracking itself ends the evaluation when an argument is an error;
- `+` on a variable that `cel.bind` gave an empty list: the list grows in place, for all who see it;
- `has()` of something optional as a branch of `?:`, which gives the optional value itself;
- selecting from an optional value that came out of a list or map: it has no keys there.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cel.ast import Call, Fold, Ident, Node, Select, children
from webhook.cel.checked import Checked
from webhook.cel.cost.charges import TRACKED
from webhook.cel.macros import ACCUMULATOR
from webhook.cel.types import Kind, is_dyn, is_optional

_INDEXINGS = {"_[_]", "_[?_]", "_?._"}


def needs_the_count(checked: Checked) -> bool:
    """Only the counted program gives the scheduler's answer."""
    if any(resolution.function.name in TRACKED for resolution in checked.calls.values()):
        return True
    nodes = list(_walk(checked.tree))
    has_optionals = any(is_optional(type_) for type_ in checked.types.values())
    if has_optionals and any(_tests_in_branch(checked, node) or _selects_from_inner(checked, node) for node in nodes):
        return True
    return any(_binds_list(checked, node) for node in nodes) and any(_concatenates(checked, node) for node in nodes)


def _walk(tree: Node) -> Iterator[Node]:
    pending, seen = [tree], set()
    while pending:
        node = pending.pop()
        if node not in seen:  # macros may use one node twice
            seen.add(node)
            yield node
            pending.extend(children(node))


def _binds_list(checked: Checked, node: Node) -> bool:
    if not isinstance(node, Fold) or node.macro not in ("bind", "opt"):
        return False
    bound = checked.types[node.initial]
    return bound.kind is Kind.LIST or is_dyn(bound)


def _concatenates(checked: Checked, node: Node) -> bool:
    if not isinstance(node, Call) or node.function != "_+_":
        return False
    left = node.args[0]
    own = isinstance(left, Ident) and left.name == ACCUMULATOR
    return not own and (checked.types[node].kind is Kind.LIST or is_dyn(checked.types[node]))


def _tests_in_branch(checked: Checked, node: Node) -> bool:
    if not isinstance(node, Call) or node.function != "_?_:_":
        return False
    return any(isinstance(branch, Select) and branch.test and _is_optional(checked, branch.operand) for branch in node.args[1:])


def _selects_from_inner(checked: Checked, node: Node) -> bool:
    """A selection from a selection that is optional (or may be) although nothing in front of it is."""
    chain = _operand(node)
    if chain is None or _operand(chain) is None or not _is_optional(checked, chain):
        return False
    while (inner := _operand(chain)) is not None:
        if isinstance(chain, Call) and chain.function != "_[_]":
            return False
        chain = inner
    return not is_optional(checked.types[chain])


def _is_optional(checked: Checked, node: Node) -> bool:
    type_ = checked.types.get(node)  # a part of a qualified name has none
    return type_ is not None and (is_optional(type_) or is_dyn(type_))


def _operand(node: Node) -> Node | None:
    """What a selection or an indexing takes something of."""
    if isinstance(node, Select):
        return node.operand
    return node.args[0] if isinstance(node, Call) and node.function in _INDEXINGS else None
