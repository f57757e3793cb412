"""Text to syntax tree, or the problem that prevents it.

The tree is built while the parser reduces, bottom up: nothing here recurses, however deeply the text nests. The text is
hostile until shown otherwise: its length and the depth of its tree are bounded.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn, TypeAlias

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from webhook.cel.ast import (
    Call,
    Entry,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Position,
    Select,
    Struct,
    TooDeepError,
    above,
    call,
    member_call,
    select,
)
from webhook.cel.grammar import parser
from webhook.cel.literals import bytes_value, string_value
from webhook.cel.macros import expand_global, expand_member
from webhook.cel.problems import CompileProblem, ExpressionError, problem
from webhook.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_LONGEST_NUMBER = 1_000  # leading zeros are allowed, but Python does not read digits without end
MAX_BYTES = 10 * 1024  # what the API server stores

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # no text in Go: its JSON reader replaces them as well

_RESERVED = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"}
    | {"package", "namespace", "null", "return", "true", "var", "void", "while"}
)
_KEYWORDS = frozenset({"true", "false", "null", "in"})
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}

Children: TypeAlias = list[Any]


def parse(text: str) -> Node:
    """The tree of an expression. ExpressionError when it is none."""
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise ExpressionError(CompileProblem(f"expression too long: {size} bytes, the limit is {MAX_BYTES}", 1, 1))
    try:
        tree = parser(_BUILDER).parse(_LONE_SURROGATE.sub("\ufffd", text))
    except TooDeepError:
        raise ExpressionError(CompileProblem("expression recursion limit exceeded: 250", 1, 1)) from None
    except UnexpectedInput as error:
        raise ExpressionError(_syntax_problem(error, text)) from None
    return tree  # type: ignore[return-value]  # the builder makes nodes, not lark's trees


def _syntax_problem(error: UnexpectedInput, text: str) -> CompileProblem:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        lines = text.split("\n")
        return CompileProblem("Syntax error: mismatched input '<EOF>'", len(lines), len(lines[-1]) + 1)
    if isinstance(error, UnexpectedToken):
        return CompileProblem(f"Syntax error: mismatched input '{error.token}'", error.line, error.column)
    if isinstance(error, UnexpectedCharacters):
        return CompileProblem(f"Syntax error: token recognition error at: '{error.char}'", error.line, error.column)
    return CompileProblem("Syntax error", 1, 1)


def _place(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


def _fail(message: str, token: Token) -> NoReturn:
    raise ExpressionError(problem(message, _place(token)))


class _Overflow(Literal):
    """The literal 9223372036854775808, which is an int only behind a minus sign."""

    __slots__ = ()


def _usable(node: Node) -> Node:
    """The node, unless it is a literal that waited in vain for a minus sign."""
    if type(node) is _Overflow:
        raise ExpressionError(problem("invalid int literal", node.at))
    return node


def _infix(rule: str, children: Children) -> Node:
    (left, operator), right = children
    return call(_place(operator), rule, left, right)


def _pair(children: Children) -> tuple[Node, Token]:
    return children[0], children[1]


class _Builder:
    """One method per grammar rule; each gets what the rule's parts became, tokens included."""

    def expr(self, children: Children) -> Node:
        condition, mark, then, _, otherwise = children
        return call(_place(mark), "_?_:_", condition, then, otherwise)

    def conditionalor(self, children: Children) -> Node:
        return _variadic("_||_", children)

    def conditionaland(self, children: Children) -> Node:
        return _variadic("_&&_", children)

    def relation(self, children: Children) -> Node:
        operator = children[0][1]
        return _infix("@in" if operator == "in" else f"_{operator}_", children)

    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = staticmethod(_pair)
    addition_add = addition_sub = staticmethod(_pair)
    multiplication_mul = multiplication_div = multiplication_mod = staticmethod(_pair)

    def addition(self, children: Children) -> Node:
        return _infix(f"_{children[0][1]}_", children)

    multiplication = addition

    def nots(self, children: Children) -> Children:
        return children

    negs = nots

    def unary(self, children: Children) -> Node:
        operand = children[-1]
        if len(children) == 1:
            return _usable(operand)
        signs = children[0]
        if type(operand) is Literal and operand.value == INT_MIN and operand.depth == 1:
            _fail("invalid int literal", signs[-1])  # the last minus was one of several
        if signs[0] == "-" and type(operand) is _Overflow:
            return Literal(operand.at, 1, INT_MIN)
        if len(signs) % 2 == 0:
            return _usable(operand)
        return call(_place(signs[0]), f"{signs[0]}_", _usable(operand))

    def member_dot(self, children: Children) -> Node:
        operand, dot, field = children
        return select(_place(dot), _usable(operand), _field(field))

    def member_opt_dot(self, children: Children) -> Node:
        operand, dot, _, field = children
        return call(_place(dot), "_?._", _usable(operand), Literal(_place(field), 1, _field(field)))

    def member_dot_arg(self, children: Children) -> Node:
        target, name, opening, args = _usable(children[0]), _field(children[2]), children[3], _arguments(children[4:])
        at = _place(opening)
        return expand_member(at, name, target, args) or member_call(at, name, target, *args)

    def member_index(self, children: Children) -> Node:
        operand, opening, index, _ = children
        return call(_place(opening), "_[_]", _usable(operand), index)

    def member_opt_index(self, children: Children) -> Node:
        operand, opening, _, index, _ = children
        return call(_place(opening), "_[?_]", _usable(operand), index)

    def member_object(self, children: Children) -> Node:
        return Struct(_place(children[1]), 1, _dotted(children[0]))

    def fieldinits(self, children: Children) -> Children:
        return children

    def dot_ident_arg(self, children: Children) -> Node:
        return self.ident_arg(children[1:])

    def dot_ident(self, children: Children) -> Node:
        name = children[1]
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        return Ident(_place(name), 1, str(name), absolute=True)

    def ident_arg(self, children: Children) -> Node:
        name, opening, args = children[0], children[1], _arguments(children[2:])
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        at = _place(opening)
        return expand_global(at, str(name), args) or call(at, str(name), *args)

    def ident(self, children: Children) -> Node:
        name = children[0]
        if name in _CONSTANTS:
            return Literal(_place(name), 1, _CONSTANTS[name])
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        return Ident(_place(name), 1, str(name))

    def paren_expr(self, children: Children) -> Node:
        return _deeper(children[1])

    def exprlist(self, children: Children) -> tuple[Node, ...]:
        return tuple(children[::2])

    def list_lit(self, children: Children) -> Node:
        items = children[1] if isinstance(children[1], list) else []
        elements = tuple(node for _, node in items)
        optional = frozenset(index for index, (is_optional, _) in enumerate(items) if is_optional)
        return ListNode(_place(children[0]), above(*elements), elements, optional)

    def listinit(self, children: Children) -> Children:
        return [children[0]] if len(children) == 1 else [*children[0], children[2]]

    mapinits = listinit

    def optexpr(self, children: Children) -> tuple[bool, Node]:
        return len(children) == 2, children[-1]

    def map_lit(self, children: Children) -> Node:
        entries = tuple(children[1]) if isinstance(children[1], list) else ()
        parts = [part for entry in entries for part in (entry.key, entry.value)]
        return MapNode(_place(children[0]), above(*parts), entries)

    def mapinit(self, children: Children) -> Entry:
        key, colon, value = children[-3:]
        return Entry(_place(colon), key, value, len(children) == 4)

    def literal(self, children: Children) -> Node:
        token = children[0]
        return _LITERALS[token.type](_place(token), token)


_BUILDER = _Builder()


def _deeper(node: Node) -> Node:
    """The node again, one level deeper: parentheses nest as well."""
    depth = above(node)
    copy = object.__new__(type(node))
    for slot in type(node).__slots__:
        object.__setattr__(copy, slot, getattr(node, slot))
    object.__setattr__(copy, "depth", depth)
    return copy


def _variadic(function: str, children: Children) -> Node:
    left, operator, right = children
    if isinstance(left, Call) and left.function == function:
        args = (*left.args, right)
        return Call(left.at, above(*args), function, None, args)
    return call(_place(operator), function, left, right)


def _field(name: Token) -> str:
    if name.type == "ESCAPED":
        return str(name[1:-1])
    if name in _KEYWORDS:
        _fail(f"Syntax error: mismatched input '{name}'", name)
    return str(name)


def _arguments(rest: Children) -> tuple[Node, ...]:
    return rest[0] if isinstance(rest[0], tuple) else ()


def _dotted(node: Node) -> str:
    names = []
    while isinstance(node, Select):
        names.append(node.field)
        node = node.operand
    names.append(node.name if isinstance(node, Ident) else "?")
    return ".".join(reversed(names))


def _int(at: Position, token: Token) -> Literal:
    if len(token) > _LONGEST_NUMBER:
        raise ExpressionError(problem("invalid int literal", at))
    value = int(token, 16) if "x" in token else int(token)
    if value == INT_MAX + 1:
        return _Overflow(at, 1, value)
    if not INT_MIN <= value <= INT_MAX:
        raise ExpressionError(problem("invalid int literal", at))
    return Literal(at, 1, value)


def _uint(at: Position, token: Token) -> Literal:
    if len(token) > _LONGEST_NUMBER:
        raise ExpressionError(problem("invalid uint literal", at))
    value = int(token[:-1], 16) if "x" in token else int(token[:-1])
    if value > UINT_MAX:
        raise ExpressionError(problem("invalid uint literal", at))
    return Literal(at, 1, UInt(value))


def _float(at: Position, token: Token) -> Literal:
    value = float(token)
    if value in (float("inf"), float("-inf")):
        raise ExpressionError(problem("invalid double literal", at))
    return Literal(at, 1, value)


def _string(at: Position, token: Token) -> Literal:
    try:
        return Literal(at, 1, string_value(token))
    except ValueError as error:
        raise ExpressionError(problem(str(error), at)) from None


def _bytes(at: Position, token: Token) -> Literal:
    try:
        return Literal(at, 1, bytes_value(token[1:]))
    except ValueError as error:
        raise ExpressionError(problem(str(error), at)) from None


_LITERALS = {"INT_LIT": _int, "UINT_LIT": _uint, "FLOAT_LIT": _float, "STRING_LIT": _string, "BYTES_LIT": _bytes}
