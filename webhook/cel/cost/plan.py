"""From a checked tree to the plan of a counted evaluation.

What the scheduler's library works out when it plans (lists of constants, conversions of constants, `in` with a constant list)
costs nothing when it runs, so the plan has to find the same constants. What cannot be planned is a compile error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from webhook.cel import access, branches, folds
from webhook.cel.ast import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, Struct
from webhook.cel.calls import compile_call, plain_call
from webhook.cel.checked import Checked
from webhook.cel.code import FIRST_SLOT, MAX_STEPS, Code
from webhook.cel.cost import steps
from webhook.cel.cost.attributes import Attribute, Computed, Condition, Key, Local, Read, Reader, Relative, Root, Variable
from webhook.cel.cost.charges import charge
from webhook.cel.cost.steps import Constant, Step
from webhook.cel.descent import Task, perform
from webhook.cel.library.conversions import AT_COMPILE_TIME
from webhook.cel.library.go_patterns import PatternError
from webhook.cel.library.regex import WITH_PATTERN, with_pattern
from webhook.cel.problems import ExpressionError, problem
from webhook.cel.soundness import is_sure
from webhook.cel.types import Kind
from webhook.cel.values import EvaluationError, UInt, map_key

# Operators and functions that the library implements once for all their overloads.
_SINGLE = {f"_{symbol}_" for symbol in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=")}
_SINGLE |= {"@in", "matches", "@sortByAssociatedKeys"}
_PRIMITIVES = (bool, int, UInt, float, str)
_INDEXINGS = ("_[_]", "_[?_]", "_?._")


class Planner:
    """Plans one checked tree. `slots` is the length of the frame that the plan needs."""

    def __init__(self, checked: Checked, variable: Callable[[str], Reader]) -> None:
        self.checked = checked
        self.slots = FIRST_SLOT
        self._variable = variable
        self._scopes: list[dict[str, Root]] = []
        self._done: dict[Node, Step] = {}
        self._ids = 0

    def plan(self) -> Step:
        """The plan of the whole tree. ExpressionError where constants cannot be right."""
        return perform(self.step(self.checked.tree))

    def step(self, node: Node) -> Task[Step]:
        """The plan of a node."""
        done = self._done.get(node)  # macros may use one node twice
        if done is None:
            if isinstance(node, Literal):
                done = Constant(self._new_id(), node.value)
            elif isinstance(node, Ident):
                done = self._ident(node)
            else:
                done = yield from _STEPS[type(node).__name__](self, node)
            self._done[node] = done
        return done

    def _steps(self, nodes: Sequence[Node]) -> Task[list[Step]]:
        planned = []
        for node in nodes:
            planned.append((yield self.step(node)))
        return planned

    def _new_id(self) -> int:
        self._ids += 1
        return self._ids

    def _new_slots(self, count: int) -> int:
        self.slots += count
        return self.slots - count

    # Names, selections and indexings.

    def _ident(self, node: Ident) -> Step:
        known = self.checked.constants.get(node)
        if known is not None:
            return Constant(self._new_id(), known)
        if self.checked.types[node].kind is Kind.TYPE:
            raise ExpressionError(problem(f"program instantiation failed: reference to undefined type: {node.name}", node.at))
        return Read(Attribute(self._new_id(), self._root(node)))

    def _root(self, node: Ident) -> Root:
        if not node.absolute or self.checked.environment.before_37:
            for scope in reversed(self._scopes):
                if node.name in scope:
                    return scope[node.name]
        return Variable(self._variable(node.name))

    def select(self, node: Select) -> Task[Step]:
        known = self.checked.constants.get(node)
        if known is not None:
            return Constant(self._new_id(), known)
        operand: Step = yield self.step(node.operand)
        id_ = self._new_id()
        attribute = self._attribute(operand).extended(Key(id_, node.field, test=node.test))
        return Read(attribute, id_ if node.test else None)

    def _attribute(self, step: Step) -> Attribute:
        """What a step reads, or the step as something to select from."""
        return step.attribute if isinstance(step, Read) else Attribute(step.id, Relative(step))

    def _index(self, node: Call) -> Task[Step]:
        operand, index = yield self._steps(node.args)
        id_, optional = self._new_id(), node.function != "_[_]"
        qualifier: Key | Computed
        if isinstance(index, Constant):
            qualifier = Key(id_, self._checked_key(index.value, node.args[1]), optional)
        elif isinstance(index, Read):
            qualifier = Computed(id_, index.attribute, optional, relative=False)
        else:
            qualifier = Computed(id_, Attribute(id_, Relative(index)), optional, relative=True)
        return Read(self._attribute(operand).extended(qualifier))

    def _checked_key(self, key: Any, node: Node) -> Any:
        try:
            access.check_key(key)
        except EvaluationError as error:
            raise ExpressionError(problem(f"program instantiation failed: {error.message}", node.at)) from None
        return key

    # Calls.

    def call(self, node: Call) -> Task[Step]:
        if node.function in ("_&&_", "_||_"):
            terms: list[Step] = yield self._steps(node.args)
            return self._balanced(terms, 0, len(terms) - 2, decisive=node.function == "_||_")
        if node.function == "_?_:_":
            condition, then, otherwise = yield self._steps(node.args)
            return Read(Attribute(self._new_id(), Condition(condition, self._attribute(then), self._attribute(otherwise))))
        if node.function in _INDEXINGS:
            return (yield from self._index(node))
        resolution = self.checked.calls[node]
        target = node.target if node.target is not None and not resolution.namespaced else None
        nodes = (target, *node.args) if target is not None else node.args
        args: list[Step] = yield self._steps(nodes)
        if node.function in ("or", "orValue") and target is not None:
            lenient = self.checked.environment.before_37
            return steps.Or(self._new_id(), args[0], args[1], unwrap=node.function == "orValue", lenient=lenient)
        return self._constant_call(node, args) or self._strict_call(node, nodes, args)

    def _balanced(self, terms: Sequence[Step], low: int, high: int, *, decisive: bool) -> Step:
        """The terms of && or || as the library's parser groups them: in two halves, each in two halves."""
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self._balanced(terms, low, middle - 1, decisive=decisive)
        right = terms[middle + 1] if middle == high else self._balanced(terms, middle + 1, high, decisive=decisive)
        return steps.Logic(self._new_id(), (left, right), decisive=decisive)

    def _constant_call(self, node: Call, args: list[Step]) -> Step | None:
        """A call that is worked out now, or costs nothing."""
        overloads = self.checked.calls[node].overloads
        if node.function in AT_COMPILE_TIME and len(args) == 1 and isinstance(args[0], Constant):
            return self._converted(node, args[0])
        if node.function == "@in" and len(overloads) == 1 and overloads[0].id == "in_list" and isinstance(args[1], Constant):
            return self._membership(args[0], args[1].value)
        return None

    def _converted(self, node: Call, argument: Constant) -> Step:
        resolution, types = self.checked.calls[node], [self.checked.types[node.args[0]]]
        code = Code(lambda _: argument.value)
        result = self.checked.types[node]
        run = compile_call(resolution.function, resolution.overloads, [code], types, [True], result, in_loop=False).run
        try:
            return Constant(self._new_id(), run([None, MAX_STEPS]))
        except EvaluationError as error:
            raise ExpressionError(problem(f"program instantiation failed: {error.message}", node.at)) from None

    def _membership(self, operand: Step, elements: list[Any]) -> Step | None:
        if not elements:
            return Constant(self._new_id(), False)
        if not all(type(element) in _PRIMITIVES for element in elements):
            return None
        slot = self._new_slots(1)
        return steps.Free(self._new_id(), operand, slot, branches.membership(itemgetter(slot), elements))

    def _strict_call(self, node: Call, nodes: Sequence[Node], args: list[Step]) -> Step:
        resolution = self.checked.calls[node]
        slot = self._new_slots(len(args))
        overload = resolution.overloads[0].id if len(resolution.overloads) == 1 else ""
        name = resolution.function.name
        pattern = args[1] if name in WITH_PATTERN and len(args) > 1 else None
        rule = charge(name, overload, before_37=self.checked.environment.before_37)
        call = steps.Call(self._new_id(), args, slot, self._implementation(node, nodes, args, slot), rule)
        call.strict, call.grows = name != "@not_strictly_false", name == "_+_"
        known = isinstance(pattern, Constant) and type(pattern.value) is str
        unresolved = len(args) == 2 and not overload and name not in _SINGLE
        call.variadic = len(args) > 2 or name == "format" or known or unresolved
        return call

    def _implementation(self, node: Call, nodes: Sequence[Node], args: list[Step], slot: int) -> Any:
        """The closure that computes the call from the slots of its arguments."""
        resolution = self.checked.calls[node]
        name = resolution.function.name
        if name == "cel.@mapInsert":
            return _inserting(slot, len(args))
        codes = [Code(itemgetter(slot + index)) for index in range(len(args))]
        pattern = args[1] if name in WITH_PATTERN and len(args) > 1 else None
        if isinstance(pattern, Constant) and type(pattern.value) is str:
            try:
                return plain_call(with_pattern(name, pattern.value), [codes[0], *codes[2:]])
            except PatternError as error:
                raise ExpressionError(problem(f"program instantiation failed: {error}", node.at)) from None
        types = [self.checked.types[argument] for argument in nodes]
        sure = [is_sure(self.checked, argument) for argument in nodes]
        result = self.checked.types[node]
        return compile_call(resolution.function, resolution.overloads, codes, types, sure, result, in_loop=True).run

    # Literals and macros.

    def list_node(self, node: ListNode) -> Task[Step]:
        elements: list[Step] = yield self._steps(node.elements)
        values = [element.value for element in elements if isinstance(element, Constant)]
        if len(values) == len(elements):
            build = branches.optional_list(tuple(map(_giving, values)), node.optional)
            return Constant(self._new_id(), steps.attempted(build, [None, MAX_STEPS]))
        return steps.NewList(self._new_id(), elements, node.optional)

    def map_node(self, node: MapNode) -> Task[Step]:
        parts: list[Step] = yield self._steps([part for entry in node.entries for part in (entry.key, entry.value)])
        optional = [entry.optional for entry in node.entries]
        values = [part.value for part in parts if isinstance(part, Constant)]
        if len(values) == len(parts):
            entries = list(zip(map(_giving, values[::2]), map(_giving, values[1::2]), optional, strict=True))
            return Constant(self._new_id(), steps.attempted(branches.map_builder(entries), [None, MAX_STEPS]))
        return steps.NewMap(self._new_id(), list(zip(parts[::2], parts[1::2], optional, strict=True)))

    def struct(self, node: Struct) -> Task[Step]:
        planned: list[Step] = yield self._steps([given.value for given in node.fields])
        fields = [(given.name, step, given.optional) for given, step in zip(node.fields, planned, strict=True)]
        return steps.NewObject(self._new_id(), fields, self.checked.messages[node].make)

    def fold(self, node: Fold) -> Task[Step]:
        initial: Step = yield self.step(node.initial)
        range_: Step = yield self.step(node.range_)
        slot = self._new_slots(3)
        second = slot + 2 if node.second else None
        loop = steps.Loop(self._new_id(), range_, (slot, slot + 1, second), folds.weight(node.step))
        variables: dict[str, Root] = {node.first: Local(slot + 1)}
        if node.second:
            variables[node.second] = Local(slot + 2)
        self._scopes.append({node.accumulator: Local(slot, initial)})
        self._scopes.append(variables)
        loop.condition = yield self.step(node.condition)
        loop.step = yield self.step(node.step)
        self._scopes.pop()
        loop.result = yield self.step(node.result)
        self._scopes.pop()
        loop.consists_of(range_, initial, loop.condition, loop.step, loop.result)
        return loop


_STEPS: dict[str, Any] = {
    "Select": Planner.select,
    "Call": Planner.call,
    "ListNode": Planner.list_node,
    "MapNode": Planner.map_node,
    "Struct": Planner.struct,
    "Fold": Planner.fold,
}


def _giving(value: Any) -> Any:
    return lambda _: value


def _inserting(slot: int, count: int) -> Any:
    """What transformMap and transformMapEntry do with each entry: the accumulator grows in place."""

    def insert(frame: list[Any]) -> Any:
        entries = {map_key(frame[slot + 1]): frame[slot + 2]} if count == 3 else frame[slot + 1]
        folds.merge(frame[slot], entries)
        return frame[slot]

    return insert
