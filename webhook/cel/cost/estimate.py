"""The worst case: what an expression can cost at most, from the types and sizes of its parts.

This is the number by which the API server accepts or refuses an expression. A size is known for literals, for what they
are put together to, and for what Kubernetes declares for the parts of a device; all others may be as large as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.cel.ast import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, Struct
from webhook.cel.checked import Checked
from webhook.cel.cost import amounts, functions
from webhook.cel.cost.amounts import LARGEST, NOTHING, ONE, UNKNOWN, Range, exactly
from webhook.cel.cost.scopes import Entry, Local, Operand, Scopes
from webhook.cel.cost.sizes import INDEXES, ITEMS, KEYS, NO_PATH, VALUES, Path, declared_size
from webhook.cel.descent import Task, perform
from webhook.cel.macros import ACCUMULATOR
from webhook.cel.types import BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT, Kind, Type, is_optional

_NAME = exactly(amounts.NAME)
_SELECTABLE = {Kind.MAP, Kind.STRUCT, Kind.PARAM}
_SCALARS = {BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT}


def estimate(checked: Checked) -> Range:
    """The least and the most that the expression costs."""
    return perform(_Estimator(checked).cost(checked.tree))


class _Estimator:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.scopes = Scopes()
        self._costs: dict[Node, Range] = {}
        self._paths: dict[Node, Path] = {}
        self._sizes: dict[Node, Range] = {}
        self._entries: dict[Node, Entry] = {}

    # The cost of each kind of node.

    def cost(self, node: Node) -> Task[Range]:
        """What a node and everything below it costs."""
        if isinstance(node, Literal):
            return NOTHING
        if isinstance(node, Ident):
            return self._ident(node)
        known = self._costs.get(node)  # macros may use one node twice
        if known is None:
            known = self._costs[node] = yield from _COSTS[type(node).__name__](self, node)
        return known

    def _all(self, nodes: Sequence[Node]) -> Task[list[Range]]:
        costs = []
        for node in nodes:
            costs.append((yield self.cost(node)))
        return costs

    def _ident(self, node: Ident) -> Range:
        local = self.scopes.find(node.name)
        self._paths[node] = local.path if local is not None else Path([node.name], 1, self.checked.environment.sizes)
        return _NAME

    def select(self, node: Select) -> Task[Range]:
        if node in self.checked.constants:
            return _NAME
        cost: Range = yield self.cost(node.operand)
        if node.test:
            return cost
        self._paths[node] = self._path(node.operand).then(node.field)
        selectable = self.checked.types[node.operand].kind in _SELECTABLE
        return cost.plus(_NAME) if selectable else cost

    def call(self, node: Call) -> Task[Range]:
        if node.function == "dyn" and node.target is None:
            return (yield from self._dyn(node))
        costs: list[Range] = yield self._all(node.args)
        args = [self._operand(argument) for argument in node.args]
        if node.function in ("_&&_", "_||_"):
            return Range(costs[0].least, min(sum(cost.most for cost in costs), LARGEST))
        target, total = None, NOTHING
        if node.target is not None and not self._resolution(node).namespaced:
            total = yield self.cost(node.target)
            target = self._operand(node.target)
        return total.plus(self._calls(node, target, args, costs))

    def _resolution(self, node: Call) -> Any:
        return self.checked.calls[node]

    def _dyn(self, node: Call) -> Task[Range]:
        cost: Range = yield self.cost(node.args[0])
        self._copy_sizes(node, node.args[0])
        return cost.plus(ONE)

    def _calls(self, node: Call, target: Operand | None, args: list[Operand], costs: list[Range]) -> Range:
        """The range that covers all overloads that fit."""
        total, size = Range(LARGEST, 0), None
        for overload in self._overloads(node):
            cost, result = self._call(node, overload, target, args, costs)
            total = total.union(cost)
            size = result if size is None else size if result is None else size.union(result)
            if overload in _INDEXES:
                entry = self.entry(node.args[0])
                size = entry.value if entry is not None else None
                self._paths[node] = self._path(node.args[0]).then(_INDEXES[overload])
            size = self.size(node) if size is None else size
        if size is not None:
            self._sizes[node] = size
        return total

    def _overloads(self, node: Call) -> Sequence[str]:
        if node.function == "_?._":
            return ("select_optional_field",)
        return [overload.id for overload in self.checked.calls[node].overloads]

    def _call(
        self, node: Call, overload: str, target: Operand | None, args: list[Operand], costs: list[Range]
    ) -> tuple[Range, Range | None]:
        name = self._resolution(node).function.name if node in self.checked.calls else node.function
        if overload == "conditional":
            return self._conditional(node, args, costs)
        cost, size = functions.estimate(name, overload, target, args)
        if overload in _CONCATENATIONS:
            self._note_entry(node, _union(self.entry(node.args[0]), self.entry(node.args[1])))
        for argument in costs:
            cost = cost.plus(argument)
        return cost, size

    def _conditional(self, node: Call, args: list[Operand], costs: list[Range]) -> tuple[Range, Range]:
        self._note_entry(node, _union(self.entry(node.args[1]), self.entry(node.args[2])))
        return costs[0].plus(costs[1].union(costs[2])), args[1].size_or_unknown.union(args[2].size_or_unknown)

    def list_node(self, node: ListNode) -> Task[Range]:
        costs: list[Range] = yield self._all(node.elements)
        self._note_entry(node, Entry(Kind.LIST, ONE, self._covering(node.elements)))
        return _sum(costs).plus(exactly(amounts.NEW_LIST))

    def map_node(self, node: MapNode) -> Task[Range]:
        costs: list[Range] = yield self._all([part for entry in node.entries for part in (entry.key, entry.value)])
        keys, values = [entry.key for entry in node.entries], [entry.value for entry in node.entries]
        self._note_entry(node, Entry(Kind.MAP, self._covering(keys), self._covering(values)))
        return _sum(costs).plus(exactly(amounts.NEW_MAP))

    def _covering(self, nodes: Sequence[Node]) -> Range:
        """The range that covers the sizes of all nodes."""
        covered = Range(LARGEST, 0) if nodes else NOTHING
        for node in nodes:
            covered = covered.union(self.size_or_unknown(node))
        return covered

    def struct(self, node: Struct) -> Task[Range]:
        costs: list[Range] = yield self._all([given.value for given in node.fields])
        return _sum(costs).plus(exactly(amounts.NEW_OBJECT))

    def fold(self, node: Fold) -> Task[Range]:
        total: Range = yield self.cost(node.range_)
        total = total.plus((yield self.cost(node.initial)))
        initial = Local(self._path(node.initial), self.size(node.initial), self.entry(node.initial))
        if node.macro in ("bind", "opt"):
            with self.scopes.holding({node.accumulator: initial}):
                total = total.plus((yield self.cost(node.result)))
            self._copy_sizes(node, node.result)
            return total
        with self.scopes.holding({node.accumulator: initial}):
            with self.scopes.holding(self._variables(node)):
                turn: Range = yield self.cost(node.condition)
                turn = turn.plus((yield self.cost(node.step)))
            total = total.plus((yield self.cost(node.result)))
        turns = self.size_or_unknown(node.range_)
        self._note_fold(node, turns)
        return total.plus(turns.times(turn))

    def _variables(self, node: Fold) -> dict[str, Local]:
        """The variables of a loop over a list or a map."""
        path, entry = self._path(node.range_), self.entry(node.range_)
        is_list = (entry.kind if entry is not None else self.checked.types[node.range_].kind) is Kind.LIST
        key, value = (entry.key, entry.value) if entry is not None else (None, None)
        if node.second:
            first = Local(path.then(INDEXES if is_list else KEYS), key)
            return {node.first: first, node.second: Local(path.then(ITEMS if is_list else VALUES), value)}
        return {node.first: Local(path.then(ITEMS), value) if is_list else Local(path.then(KEYS), key)}

    def _note_fold(self, node: Fold, turns: Range) -> None:
        if isinstance(node.initial, Literal):
            size = self.size(node.initial)
            if size is not None:
                self._sizes[node] = size
        elif isinstance(node.initial, ListNode | MapNode):
            self._sizes[node] = turns
            self._note_entry(node, self.entry(node.step))

    # Sizes.

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        if next(iter(path), "") == ACCUMULATOR:
            path = NO_PATH
        return Operand(path, self.checked.types[node], node, self.size(node))

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident):
            local = self.scopes.find(node.name)
            if local is not None:
                return local.path
        known = self._paths.get(node)  # a field of a literal is looked up like a variable
        return known if known is not None else Path([], 0, self.checked.environment.sizes)

    def _copy_sizes(self, target: Node, source: Node) -> None:
        size = self.size(source)
        if size is not None:
            self._sizes[target] = size
        self._note_entry(target, self.entry(source))

    def _note_entry(self, node: Node, entry: Entry | None) -> None:
        if entry is not None:
            self._entries[node] = entry

    def entry(self, node: Node) -> Entry | None:
        """The sizes of a container's keys and values, where known."""
        known = self._entries.get(node)
        if known is None and isinstance(node, Ident):
            local = self.scopes.find(node.name)
            known = local.entry if local is not None else None
        return known

    def size(self, node: Node) -> Range | None:
        """The size of a node's value, where known."""
        known = self._sizes.get(node)
        if known is None:
            known = _written_size(node)
        if known is None:
            known = declared_size(self._path(node))
            if known is not None:
                self._sizes[node] = known
        if known is None and _is_scalar(self.checked.types[node]):
            known = ONE
        if known is None and isinstance(node, Ident):
            local = self.scopes.find(node.name)
            known = local.size if local is not None else None
        return known

    def size_or_unknown(self, node: Node) -> Range:
        """The size of a node's value."""
        known = self.size(node)
        return known if known is not None else UNKNOWN


_COSTS: dict[str, Any] = {
    "Select": _Estimator.select,
    "Call": _Estimator.call,
    "ListNode": _Estimator.list_node,
    "MapNode": _Estimator.map_node,
    "Struct": _Estimator.struct,
    "Fold": _Estimator.fold,
}
_INDEXES = {"index_list": ITEMS, "index_map": VALUES}
_CONCATENATIONS = {"add_string", "add_bytes", "add_list"}


def _union(one: Entry | None, two: Entry | None) -> Entry | None:
    return one.union(two) if one is not None and two is not None else None


def _sum(costs: Sequence[Range]) -> Range:
    total = NOTHING
    for cost in costs:
        total = total.plus(cost)
    return total


def _written_size(node: Node) -> Range | None:
    """The size of a value that stands in the text."""
    if isinstance(node, Literal):
        return exactly(len(node.value)) if isinstance(node.value, str | bytes) else ONE
    if isinstance(node, ListNode):
        return exactly(len(node.elements))
    if isinstance(node, MapNode):
        return exactly(len(node.entries))
    return None


def _is_scalar(type_: Type) -> bool:
    if is_optional(type_) and type_.params:
        return _is_scalar(type_.params[0])
    return type_ in _SCALARS
