"""The type checker: gives every node a type and every call its overloads, or collects what is wrong.

It follows cel-go's algorithm step by step, because what cel-go accepts has to be accepted here and nothing else. It
notes its findings beside the tree (`Checked`) and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.cel import hints, unify
from webhook.cel.ast import (
    Call,
    FieldValue,
    Fold,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Position,
    Select,
    Struct,
    dotted_name,
)
from webhook.cel.checked import Checked, Resolution
from webhook.cel.descent import Task, perform
from webhook.cel.environment import TYPE_NAMES, Environment
from webhook.cel.library import authorization
from webhook.cel.library.table import Function, Overload
from webhook.cel.messages import CONSTANTS, Message
from webhook.cel.problems import CompileProblem, ExpressionError, did_you_mean, problem
from webhook.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    UINT,
    Kind,
    Type,
    format_type,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
    param,
    type_of,
)
from webhook.cel.values import TypeValue, UInt

#: Unknown names for which the nearest known one is looked for.
_LIKENED = 8

_LITERAL_TYPES: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}


def check(tree: Node, environment: Environment) -> Checked:
    """The tree with its types. ExpressionError with every problem found."""
    checker = _Checker(tree, environment)
    perform(checker.check(tree))
    if checker.problems:
        raise ExpressionError(*_ordered(checker.problems))
    checked = checker.checked
    for node, type_ in checked.types.items():
        checked.types[node] = unify.substitute(checker.bindings, type_, close=True)
    return checked


def _ordered(problems: list[CompileProblem]) -> list[CompileProblem]:
    return sorted(dict.fromkeys(problems), key=lambda found: (found.line, found.column))


class _Checker:
    """The state of one check: bindings of type parameters, scopes of local variables, problems."""

    def __init__(self, tree: Node, environment: Environment) -> None:
        self.environment = environment
        self.checked = Checked(tree, environment)
        self.types = self.checked.types
        self.bindings: unify.Bindings = {}
        self.scopes: list[dict[str, Type]] = []
        self.problems: list[CompileProblem] = []
        self._fresh = 0
        self._undeclared_names = 0

    # One task per kind of node, each giving the node's type.

    def check(self, node: Node) -> Task[None]:
        """Give `node` and everything below it a type."""
        if node in self.types:  # macros may use one node twice
            return
        leaf = _LEAVES.get(type(node).__name__)
        self.types[node] = leaf(self, node) if leaf else (yield from _CHECKS[type(node).__name__](self, node))

    def literal(self, node: Literal) -> Type:
        return _LITERAL_TYPES[type(node.value)]

    def ident(self, node: Ident) -> Type:
        found = self._resolve(node, node.name, absolute=node.absolute and not self.environment.before_37)
        if found is None:
            return self._undeclared(node.at, node.name, self._known_names())
        return found

    def _resolve(self, node: Node, name: str, *, absolute: bool) -> Type | None:
        """The type of a variable, else of the name of a type, else None."""
        if not absolute:
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
        variable = self.environment.variables.get(name)
        if variable is not None:
            return variable
        if name in TYPE_NAMES:
            self.checked.constants[node] = TypeValue(TYPE_NAMES[name].name)
            return type_of(TYPE_NAMES[name])
        return None

    def _known_names(self) -> set[str]:
        return set(self.environment.variables).union(*self.scopes)

    def select(self, node: Select) -> Task[Type]:
        name = dotted_name(node)
        if name in TYPE_NAMES and not self._is_local(name):
            found = self._resolve(node, name, absolute=True)
            if found is not None:
                return found
        if name in CONSTANTS and not self._is_local(name):
            self.checked.constants[node] = CONSTANTS[name]
            return INT
        yield self.check(node.operand)
        result = self._field(node, node.operand, node.field, optional=False)
        return BOOL if node.test else unify.substitute(self.bindings, result)

    def _is_local(self, name: str) -> bool:
        root = name.partition(".")[0]
        return any(root in scope for scope in self.scopes) or root in self.environment.variables

    def _field(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        operand_type = unify.substitute(self.bindings, self.types[operand])
        target = operand_type.params[0] if is_optional(operand_type) else operand_type
        result = self._field_type(node, operand, target, name)
        return optional_of(result) if optional or is_optional(operand_type) else result

    def _field_type(self, node: Node, operand: Node, target: Type, name: str) -> Type:
        if target.kind is Kind.MAP:
            return target.params[1]
        if target.kind is Kind.STRUCT:
            return self._struct_field(node, operand, target, name)
        if target.kind is Kind.PARAM:
            self._assign(DYN, target)
        elif not is_dyn(target) and target.kind is not Kind.ERROR:
            self._problem(f"type '{format_type(target)}' does not support field selection", node.at)
        return DYN

    def _struct_field(self, node: Node, operand: Node, struct: Type, name: str) -> Type:
        fields = struct.fields or {}
        if name in fields:
            return fields[name]
        if struct.fields is None:
            hint = hints.for_selection(operand, struct, name)
            self._problem(f"unexpected failed resolution of '{struct.name}'", node.at, hint)
        else:
            near = did_you_mean(name, fields)
            hint = "" if near else hints.for_selection(operand, struct, name)
            self._problem(f"undefined field '{name}'{near}", node.at, hint)
        return ERROR

    def call(self, node: Call) -> Task[Type]:
        if node.function == "_?._":
            yield self.check(node.args[0])
            return self._optional_select(node)
        for argument in node.args:
            yield self.check(argument)
        if node.target is None:
            return self._global_call(node, node.function)
        name = f"{dotted_name(node.target)}.{node.function}"
        function = self.environment.functions.get(name)
        if function is not None:
            return self._resolved(node, function, node.args, namespaced=True)
        yield self.check(node.target)
        function = self.environment.functions.get(node.function)
        if function is None:
            return self._undeclared(node.at, node.function, self._known_functions(), hints.for_function(node.function))
        return self._resolved(node, function, (node.target, *node.args), member=True)

    def _optional_select(self, node: Call) -> Type:
        operand, name = node.args
        assert isinstance(name, Literal)
        self.types[name] = STRING
        result = self._field(node, operand, str(name.value), optional=True)
        return unify.substitute(self.bindings, result)

    def _global_call(self, node: Call, name: str) -> Type:
        function = self.environment.functions.get(name)
        if function is None:
            return self._undeclared(node.at, name, self._known_functions(), hints.for_function(name))
        if name in ("_&&_", "_||_"):
            return self._logic(node, function)
        return self._resolved(node, function, node.args)

    def _known_functions(self) -> set[str]:
        return {name for name in self.environment.functions.keys() - authorization.NAMES if name[0].isalpha()}

    def _logic(self, node: Call, function: Function) -> Type:
        self.checked.calls[node] = Resolution(function, function.overloads)
        wrong = [argument for argument in node.args if not self._assign(self.types[argument], BOOL)]
        for argument in wrong:
            self._mismatch(argument.at, BOOL, self.types[argument], hints.for_condition(argument, self.types[argument]))
        return ERROR if wrong else BOOL

    def _resolved(
        self, node: Call, function: Function, args: tuple[Node, ...], *, member: bool = False, namespaced: bool = False
    ) -> Type:
        """The result type of the overloads that fit; dyn when they differ."""
        types = [self.types[argument] for argument in args]
        fitting: list[Overload] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member is not member or len(overload.params) != len(types):
                continue
            found = self._try_overload(overload, types)
            if found is not None:
                fitting.append(overload)
                result = found if result is None or result == found else DYN
        if result is None:
            return self._no_overload(node, function, types, member=member)
        self.checked.calls[node] = Resolution(function, tuple(fitting), namespaced)
        return result

    def _try_overload(self, overload: Overload, types: list[Type]) -> Type | None:
        """The result type if the overload takes these arguments. What that says of type parameters is kept."""
        fresh = self._instantiated(overload)
        bindings = unify.assignable_all(self.bindings, types, fresh[1:])
        if bindings is None:
            return None
        self.bindings = bindings
        return unify.substitute(bindings, fresh[0])

    def _instantiated(self, overload: Overload) -> list[Type]:
        """The overload's result and parameters, with fresh type parameters."""
        names = {found for type_ in (overload.result, *overload.params) for found in unify.params_of(type_)}
        if not names:
            return [overload.result, *overload.params]
        fresh = {name: self._new_param() for name in sorted(names, key=lambda found: found.name)}
        return [unify.substitute(fresh, type_) for type_ in (overload.result, *overload.params)]

    def _no_overload(self, node: Call, function: Function, types: list[Type], *, member: bool) -> Type:
        types = [unify.substitute(self.bindings, type_, close=True) for type_ in types]
        closed = [format_type(type_) for type_ in types]
        signature = f"{closed[0]}.({', '.join(closed[1:])})" if member else f"({', '.join(closed)})"
        hint = hints.for_call(node, function, types, member=member)
        self._problem(f"found no matching overload for '{function.name}' applied to '{signature}'", node.at, hint)
        return ERROR

    def list_node(self, node: ListNode) -> Task[Type]:
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            yield self.check(element)
            joined = self._join(joined, self._entry(element, optional=index in node.optional))
        return list_of(joined or self._new_param())

    def map_node(self, node: MapNode) -> Task[Type]:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in node.entries:
            yield self.check(entry.key)
            key_type = self._join(key_type, self._entry(entry.key, optional=False))
            yield self.check(entry.value)
            value_type = self._join(value_type, self._entry(entry.value, optional=entry.optional))
        return map_of(value_type or self._new_param(), key=key_type or self._new_param())

    def _entry(self, node: Node, *, optional: bool) -> Type:
        type_ = self.types[node]
        if not optional:
            return type_
        if is_optional(type_):
            return type_.params[0]
        if not is_dyn(type_):
            self._mismatch(node.at, optional_of(type_), type_)
        return type_

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        return unify.most_general(previous, current) if self._assign(previous, current) else DYN

    def struct(self, node: Struct) -> Task[Type]:
        message = self.environment.message(node.name.removeprefix("."))
        if message is None:
            known = node.name in TYPE_NAMES
            return self._no_message(node) if known else self._undeclared(node.at, node.name, ())
        for field_ in node.fields:
            yield self.check(field_.value)
            self._field_value(node, message, field_)
        self.checked.messages[node] = message
        return message.type

    def _no_message(self, node: Struct) -> Type:
        self._problem(f"'{node.name}' is not a message type", node.at)
        return ERROR

    def _field_value(self, node: Struct, message: Message, given: FieldValue) -> None:
        wanted = message.fields.get(given.name)
        if wanted is None:
            self._problem(f"undefined field '{given.name}'{did_you_mean(given.name, message.fields)}", given.at)
            return
        actual = self._entry(given.value, optional=given.optional)
        if not self._assign(wanted, actual):
            expected, found = format_type(wanted), format_type(actual)
            self._problem(f"expected type of field '{given.name}' is '{expected}' but provided type is '{found}'", given.at)

    def fold(self, node: Fold) -> Task[Type]:
        yield self.check(node.range_)
        yield self.check(node.initial)
        first, second = self._range_types(node)
        accumulator = self.types[node.initial]
        self.checked.locals |= {node.accumulator, node.first, node.second}
        self.scopes.append({node.accumulator: accumulator})
        self.scopes.append({node.first: first} | ({node.second: second} if node.second else {}))
        yield self.check(node.condition)
        self._assert_type(node.condition, BOOL)
        yield self.check(node.step)
        self._assert_type(node.step, accumulator)
        self.scopes.pop()
        yield self.check(node.result)
        self.scopes.pop()
        return unify.substitute(self.bindings, self.types[node.result])

    def _range_types(self, node: Fold) -> tuple[Type, Type]:
        """The types of the loop's variables."""
        range_type = unify.substitute(self.bindings, self.types[node.range_])
        if range_type.kind is Kind.LIST:
            element = range_type.params[0]
            return (INT, element) if node.second else (element, element)
        if range_type.kind is Kind.MAP:
            return range_type.params[0], range_type.params[1]
        if range_type.kind in (Kind.DYN, Kind.ERROR, Kind.PARAM):
            self._assign(DYN, range_type)
            return DYN, DYN
        self._problem(
            f"expression of type '{format_type(range_type)}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
            node.range_.at,
        )
        return ERROR, ERROR

    # Helpers.

    def _assign(self, source: Type, target: Type) -> bool:
        bindings = unify.assignable(self.bindings, source, target)
        if bindings is None:
            return False
        self.bindings = bindings
        return True

    def _assert_type(self, node: Node, expected: Type) -> None:
        if not self._assign(expected, self.types[node]):
            self._mismatch(node.at, expected, self.types[node])

    def _new_param(self) -> Type:
        self._fresh += 1
        return param(f"_var{self._fresh}")

    def _problem(self, message: str, at: Position, hint: str = "") -> None:
        self.problems.append(problem(message, at, hint))

    def _mismatch(self, at: Position, expected: Type, actual: Type, hint: str = "") -> None:
        self._problem(f"expected type '{format_type(expected)}' but found '{format_type(actual)}'", at, hint)

    def _undeclared(self, at: Position, name: str, known: Any, hint: str = "") -> Type:
        self._undeclared_names += 1
        near = did_you_mean(name, known) if not hint and self._undeclared_names <= _LIKENED else ""
        self._problem(f"undeclared reference to '{name}' (in container ''){near}", at, hint)
        return ERROR


_LEAVES: dict[str, Callable[[_Checker, Any], Type]] = {
    "Literal": _Checker.literal,
    "Ident": _Checker.ident,
}
_CHECKS: dict[str, Callable[[_Checker, Any], Task[Type]]] = {
    "Select": _Checker.select,
    "Struct": _Checker.struct,
    "Call": _Checker.call,
    "ListNode": _Checker.list_node,
    "MapNode": _Checker.map_node,
    "Fold": _Checker.fold,
}
