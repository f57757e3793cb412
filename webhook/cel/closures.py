"""The closure compiler: a checked tree becomes nested Python closures over one flat frame.

One method per kind of node. Strict calls are in calls.py, loops in folds.py; here are the parts that look at their
operands only when they need them, and names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from webhook.cel import access, branches, folds
from webhook.cel.ast import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select, Struct
from webhook.cel.calls import compile_call, plain_call
from webhook.cel.checked import Checked
from webhook.cel.code import FIRST_SLOT, MAX_STEPS, Closure, Code, Frame, constant, measured
from webhook.cel.device import Lookup, Path
from webhook.cel.library.conversions import AT_COMPILE_TIME
from webhook.cel.library.go_patterns import PatternError
from webhook.cel.library.operators import contains
from webhook.cel.library.regex import WITH_PATTERN, with_pattern
from webhook.cel.library.table import signature
from webhook.cel.problems import CompileProblem, ExpressionError, problem
from webhook.cel.soundness import is_sure
from webhook.cel.types import Kind
from webhook.cel.values import (
    NONE,
    EvaluationError,
    Optional,
    UInt,
    no_such_overload,
)

#: The deepest tree that is made into closures: making them, and running them, goes down the tree on Python's stack.
DEEPEST = 120


class Roots(Protocol):
    """How an environment gives access to its variables."""

    def variable(self, name: str) -> Closure:
        """Code that reads a variable."""

    def start(self, name: str) -> Path | None:
        """The path that a variable begins, if its parts can be reached directly."""

    def path(self, node: Node, lookup: Lookup) -> Closure | None:
        """Better code for a whole path such as `device.attributes["d"].x`, if there is any."""

    def alias(self, node: Node, lookup: Lookup) -> Path | None:
        """The path that a `cel.bind` gives a name to, if reading it cannot fail."""

    def membership(self, name: str, container: Node, lookup: Lookup) -> Closure | None:
        """Better code for `"name" in container`, if there is any."""


@dataclass(frozen=True, slots=True)
class Local:
    """A local variable: how it is read, and the path that it is another name for."""

    code: Code
    path: Path | None = None


class Compiler:
    """Compiles one checked tree."""

    def __init__(self, checked: Checked, roots: Roots) -> None:
        self.checked = checked
        self.roots = roots
        self.slots = FIRST_SLOT
        self._scopes: list[dict[str, Local]] = []
        self._done: dict[Node, Code] = {}
        self._loops = 0

    def compile(self, node: Node) -> Code:
        """The code of a node. ExpressionError where constants cannot be right."""
        done = self._done.get(node)
        if done is None:
            done = self._done[node] = _COMPILERS[type(node).__name__](self, node)
        return done

    def _run(self, node: Node) -> Closure:
        return self.compile(node).run

    def literal(self, node: Literal) -> Code:
        return constant(node.value, literal=True)

    def ident(self, node: Ident) -> Code:
        known = self.checked.constants.get(node)
        if known is not None:
            return constant(known, literal=True)
        if self.checked.types[node].kind is Kind.TYPE:  # the scheduler's library knows no variables that hold types
            raise ExpressionError(_holds_type(node.name, node))
        local = self._local(node)
        return local.code if local is not None else Code(self.roots.variable(node.name))

    def _local(self, node: Ident) -> Local | None:
        if not node.absolute or self.checked.environment.before_37:
            for scope in reversed(self._scopes):
                if node.name in scope:
                    return scope[node.name]
        return None

    def _lookup(self, node: Ident) -> Path | None:
        if node in self.checked.constants:
            return None
        local = self._local(node)
        return local.path if local is not None else self.roots.start(node.name)

    def select(self, node: Select) -> Code:
        known = self.checked.constants.get(node)
        if known is not None:
            return constant(known, literal=True)
        path = self.roots.path(node, self._lookup)
        if path is not None:
            return Code(path)
        operand, name = self._run(node.operand), node.field
        if node.test:
            return Code(lambda frame: access.is_present(operand(frame), name))
        return Code(branches.selection(operand, name))

    def call(self, node: Call) -> Code:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        resolution = self.checked.calls[node]
        target = node.target if node.target is not None and not resolution.namespaced else None
        args = (target, *node.args) if target is not None else node.args
        codes = [self.compile(argument) for argument in args]
        types = [self.checked.types[argument] for argument in args]
        if node.function in WITH_PATTERN and codes[1].literal and type(codes[1].constant) is str:
            return self._pattern_call(node, codes)
        sure = [is_sure(self.checked, argument) for argument in args]
        result = self.checked.types[node]
        code = compile_call(resolution.function, resolution.overloads, codes, types, sure, result, in_loop=self._loops > 0)
        return self._with_constants(node, codes, code)

    def _with_constants(self, node: Call, args: list[Code], code: Code) -> Code:
        """Conversions of literals must work, or the expression is refused."""
        if node.function in AT_COMPILE_TIME and len(args) == 1 and args[0].literal:
            try:
                return constant(code.run([None, MAX_STEPS]), literal=True)
            except EvaluationError as error:
                raise ExpressionError(problem(f"program instantiation failed: {error.message}", node.at)) from None
        return code

    def _pattern_call(self, node: Call, args: list[Code]) -> Code:
        """A search for a constant pattern, which must be one."""
        try:
            call = with_pattern(node.function, args[1].constant)
        except PatternError as error:
            raise ExpressionError(problem(f"program instantiation failed: {error}", node.at)) from None
        run = plain_call(call, [args[0], *args[2:]])
        return Code(measured(run) if node.function == "findAll" else run)

    def _logic(self, node: Call) -> Code:
        terms = [self._run(term) for term in node.args]
        return Code(branches.logic(terms, decisive=node.function == "_||_"))

    def _conditional(self, node: Call) -> Code:
        optional = self._optional_macro(node)
        if optional is not None:
            return Code(optional)
        condition, then, otherwise = (self._run(part) for part in node.args)

        def run(frame: Frame) -> Any:
            value = condition(frame)
            if value is True:
                return then(frame)
            if value is False:
                return otherwise(frame)
            raise no_such_overload()

        return Code(run)

    def _optional_macro(self, node: Call) -> Closure | None:
        """optMap and optFlatMap, which look at their target once."""
        wrapped = node.args[1]
        fold = wrapped.args[0] if isinstance(wrapped, Call) and wrapped.function == "optional.of" else wrapped
        if not (isinstance(fold, Fold) and fold.macro == "opt" and isinstance(fold.initial, Call)):
            return None
        assert fold.initial.target is not None
        if self.checked.types[fold.initial].kind is Kind.TYPE:
            raise ExpressionError(_holds_type(fold.accumulator, fold))
        target, slot = self._run(fold.initial.target), self._new_slot()
        self._scopes.append({fold.accumulator: Local(Code(folds.local(slot)))})
        result = self._run(fold.result)
        self._scopes.pop()
        wrap = fold is not wrapped

        def run(frame: Frame) -> Any:
            value = target(frame)
            if value is NONE:
                return NONE
            if type(value) is not Optional:
                raise no_such_overload(signature("hasValue", value))
            frame[slot] = value.value
            return Optional(result(frame)) if wrap else result(frame)

        return run

    def _index(self, node: Call) -> Code:
        path = self.roots.path(node, self._lookup)
        if path is not None:
            return Code(path)
        operand, key = self._run(node.args[0]), self._key(node.args[1])
        reach = access.get if node.function == "_[_]" else access.get_optional

        def run(frame: Frame) -> Any:
            container = operand(frame)
            return NONE if container is NONE else reach(container, key(frame))

        return Code(run)

    def _key(self, node: Node) -> Closure:
        """A key or index; a literal must be of a type that can be one."""
        code = self.compile(node)
        if code.literal:
            try:
                access.check_key(code.constant)
            except EvaluationError as error:
                raise ExpressionError(problem(f"program instantiation failed: {error.message}", node.at)) from None
        return code.run

    def _or(self, node: Call) -> Code:
        if node.target is None:
            return Code(self._run(node))
        left, right, unwrap = self._run(node.target), self._run(node.args[0]), node.function == "orValue"
        lenient = self.checked.environment.before_37

        def run(frame: Frame) -> Any:
            value = left(frame)
            if type(value) is Optional:
                return value.value if unwrap else value
            if value is NONE:
                return right(frame)
            if lenient:
                return value
            raise no_such_overload()

        return Code(run)

    def _in(self, node: Call) -> Code:
        value = self.compile(node.args[0])
        if value.is_constant and type(value.constant) is str:
            direct = self.roots.membership(value.constant, node.args[1], self._lookup)
            if direct is not None:
                return Code(direct)
        container = self.compile(node.args[1])
        overloads = self.checked.calls[node].overloads
        if container.literal and type(container.constant) is list and len(overloads) == 1:
            if not container.constant:
                return constant(False, literal=True)
            if all(type(element) in (bool, int, UInt, float, str) for element in container.constant):
                return Code(branches.membership(value.run, container.constant))
        left, right = value.run, container.run
        return Code(lambda frame: contains(frame, left(frame), right(frame)))

    def list_node(self, node: ListNode) -> Code:
        elements = [self.compile(element) for element in node.elements]
        runs = tuple(element.run for element in elements)
        if not node.optional:
            if all(element.is_constant for element in elements):
                return constant([element.constant for element in elements], literal=branches.all_literal(elements))
            return Code(lambda frame: [run(frame) for run in runs])
        return Code(branches.optional_list(runs, node.optional))

    def map_node(self, node: MapNode) -> Code:
        entries = [(self.compile(entry.key), self.compile(entry.value), entry.optional) for entry in node.entries]
        build = branches.map_builder([(key.run, value.run, optional) for key, value, optional in entries])
        codes = [code for key, value, _ in entries for code in (key, value)]
        if branches.all_literal(codes) and not any(optional for _, _, optional in entries):
            return constant(build([None, MAX_STEPS]), literal=True)
        return Code(build)

    def struct(self, node: Struct) -> Code:
        fields = [(given.name, self._run(given.value), given.optional) for given in node.fields]
        return Code(branches.message_builder(self.checked.messages[node].make, fields))

    def fold(self, node: Fold) -> Code:
        if node.macro in ("bind", "opt"):
            return self._let(node)
        range_ = self._run(node.range_)
        first, second = self._new_slot(), self._new_slot() if node.second else None
        scope = {node.first: Local(Code(folds.local(first)))}
        if second is not None:
            scope[node.second] = Local(Code(folds.local(second)))
        self._scopes.append(scope)
        self._loops += 1
        loop = folds.turns(range_, first, second, folds.weight(node.step))
        code = self._loop(node, loop)
        self._loops -= 1
        self._scopes.pop()
        return Code(code)

    def _loop(self, node: Fold, loop: folds.Turns) -> Closure:
        step = node.step
        assert isinstance(step, Call)
        if node.macro in ("all", "exists"):
            return folds.quantifier(loop, self._run(step.args[1]), decisive=node.macro == "exists")
        if node.macro == "exists_one":
            return folds.exactly_one(loop, self._run(step.args[0]))
        predicate = None
        if step.function == "_?_:_":
            predicate, step = self._run(step.args[0]), step.args[1]
            assert isinstance(step, Call)
        if node.macro == "collect":
            element = step.args[1]
            assert isinstance(element, ListNode)
            return folds.collect(loop, predicate, self._run(element.elements[0]))
        entry = [self._run(part) for part in step.args[1:]]
        return folds.insert(loop, predicate, folds.single_entry(*entry) if len(entry) == 2 else entry[0])

    def _let(self, node: Fold) -> Code:
        value = self.compile(node.initial)
        if self.checked.types[node.initial].kind is Kind.TYPE:
            raise ExpressionError(_holds_type(node.accumulator, node))
        if value.is_constant:
            known = Local(Code(value.run, value.constant))
            result = self._within({node.accumulator: known}, node.result)
            return Code(result.run, result.constant)
        slot = self._new_slot()
        path = self.roots.alias(node.initial, self._lookup)
        result = self._within({node.accumulator: Local(Code(folds.lazy(slot, value.run)), path)}, node.result)
        return Code(folds.let(slot, result.run))

    def _within(self, scope: dict[str, Local], node: Node) -> Code:
        self._scopes.append(scope)
        code = self.compile(node)
        self._scopes.pop()
        return code

    def _new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1


def _holds_type(name: str, node: Node) -> CompileProblem:
    return problem(f"program instantiation failed: reference to undefined type: {name}", node.at)


_COMPILERS: dict[str, Callable[[Compiler, Any], Code]] = {
    "Literal": Compiler.literal,
    "Ident": Compiler.ident,
    "Select": Compiler.select,
    "Call": Compiler.call,
    "ListNode": Compiler.list_node,
    "MapNode": Compiler.map_node,
    "Struct": Compiler.struct,
    "Fold": Compiler.fold,
}
_SPECIAL: dict[str, Callable[[Compiler, Call], Code]] = {
    "_&&_": Compiler._logic,
    "_||_": Compiler._logic,
    "_?_:_": Compiler._conditional,
    "_[_]": Compiler._index,
    "_[?_]": Compiler._index,
    "_?._": Compiler._index,
    "or": Compiler._or,
    "orValue": Compiler._or,
    "@in": Compiler._in,
}
