"""Text to syntax tree, or the problem that prevents it.

The tree is built while the parser reduces, bottom up: nothing here recurses, however deeply the text nests. The text is
hostile until shown otherwise: its length and the depth of its tree are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from webhook.cel import syntax_hints
from webhook.cel.ast import (
    Call,
    Entry,
    FieldValue,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Position,
    Select,
    Struct,
    above,
    call,
    member_call,
    select,
)
from webhook.cel.grammar import parser
from webhook.cel.literals import bytes_value, string_value
from webhook.cel.macros import expand_global, expand_member
from webhook.cel.nesting import LEAF, Nesting, NestingError, added, beside, bracketed, chosen, compared, visited
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
        parsed: Any = parser(_BUILDER).parse(_LONE_SURROGATE.sub("\ufffd", text))
    except NestingError as error:
        raise ExpressionError(CompileProblem(str(error), 1, 1)) from None
    except UnexpectedInput as error:
        raise ExpressionError(_syntax_problem(error, text)) from None
    return parsed.node  # type: ignore[no-any-return]  # the builder makes nodes, not lark's trees


def _syntax_problem(error: UnexpectedInput, text: str) -> CompileProblem:
    lines = text.split("\n")
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        hint = syntax_hints.for_end(text)
        return CompileProblem("Syntax error: mismatched input '<EOF>'", len(lines), len(lines[-1]) + 1, hint)
    if isinstance(error, UnexpectedToken | UnexpectedCharacters):
        if isinstance(error, UnexpectedToken):
            what = f"mismatched input '{error.token}'"
        else:
            what = f"token recognition error at: '{error.char}'"
        hint = syntax_hints.for_token(lines[error.line - 1], error.column) if error.line <= len(lines) else ""
        return CompileProblem(f"Syntax error: {what}", error.line, error.column, hint)
    return CompileProblem("Syntax error", 1, 1)


def _place(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


def _fail(message: str, token: Token) -> NoReturn:
    raise ExpressionError(problem(message, _place(token)))


class _Overflow(Literal):
    """The literal 9223372036854775808, which is an int only behind a minus sign."""

    __slots__ = ()


class _Signed(Literal):
    """A number that was written with a minus sign."""

    __slots__ = ()


class Parsed(NamedTuple):
    """What a rule became: a node, and how deep the text nests there."""

    node: Node
    nesting: Nesting


def _usable(operand: Parsed) -> Node:
    """The node, unless it is a literal that waited in vain for a minus sign."""
    node = operand.node
    if type(node) is _Overflow:
        raise ExpressionError(problem("invalid int literal", node.at))
    return Literal(node.at, 1, node.value) if type(node) is _Signed else node


def _negated(signs: Children, node: Literal) -> Parsed:
    """Minus signs before a number. A single one belongs to the number; of several, none does."""
    count, value = (len(signs) + 1, -node.value) if type(node) is _Signed else (len(signs), node.value)  # type: ignore[operator]
    if count == 1:
        return _leaf(Literal(node.at, 1, -value))  # type: ignore[operator]
    if value == INT_MAX + 1 and type(value) is int:
        _fail("invalid int literal", signs[-1])
    positive = Literal(node.at, 1, value)
    return _leaf(positive if count % 2 == 0 else call(_place(signs[0]), "-_", positive))


def _leaf(node: Node) -> Parsed:
    return Parsed(node, LEAF)


def _pair(children: Children) -> tuple[Parsed, Token]:
    return children[0], children[1]


class _Builder:
    """One method per grammar rule; each gets what the rule's parts became, tokens included."""

    def expr(self, children: Children) -> Parsed:
        condition, mark, then, _, otherwise = children
        node = call(_place(mark), "_?_:_", condition.node, then.node, otherwise.node)
        return Parsed(node, chosen(condition.nesting, then.nesting, otherwise.nesting))

    def conditionalor(self, children: Children) -> Parsed:
        return _variadic("_||_", children)

    def conditionaland(self, children: Children) -> Parsed:
        return _variadic("_&&_", children)

    def relation(self, children: Children) -> Parsed:
        (left, operator), right = children
        name = "@in" if operator == "in" else f"_{operator}_"
        return Parsed(call(_place(operator), name, left.node, right.node), compared(left.nesting, right.nesting))

    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = staticmethod(_pair)
    addition_add = addition_sub = staticmethod(_pair)
    multiplication_mul = multiplication_div = multiplication_mod = staticmethod(_pair)

    def addition(self, children: Children) -> Parsed:
        (left, operator), right = children
        node = call(_place(operator), f"_{operator}_", left.node, right.node)
        return Parsed(node, added(left.nesting, right.nesting))

    multiplication = addition

    def nots(self, children: Children) -> Children:
        return children

    negs = nots

    def unary(self, children: Children) -> Parsed:
        operand = children[-1]
        if len(children) == 1:
            return Parsed(_usable(operand), operand.nesting)
        signs, node = children[0], operand.node
        is_number = isinstance(node, Literal) and type(node.value) in (int, float) and operand.nesting is LEAF
        if signs[0] == "-" and is_number:
            return _negated(signs, node)
        node = _usable(operand)
        if len(signs) % 2:
            node = call(_place(signs[0]), f"{signs[0]}_", node)
        return Parsed(node, operand.nesting)

    def member_dot(self, children: Children) -> Parsed:
        operand, dot, field = children
        return Parsed(select(_place(dot), _usable(operand), _field(field)), visited(operand.nesting))

    def member_opt_dot(self, children: Children) -> Parsed:
        operand, dot, _, field = children
        node = call(_place(dot), "_?._", _usable(operand), Literal(_place(field), 1, _field(field)))
        return Parsed(node, visited(operand.nesting))

    def member_dot_arg(self, children: Children) -> Parsed:
        target, name, opening, args = _usable(children[0]), _field(children[2]), children[3], _arguments(children[4:])
        at, nodes = _place(opening), tuple(argument.node for argument in args)
        node = expand_member(at, name, target, nodes) or member_call(at, name, target, *nodes)
        return Parsed(node, visited(beside(children[0].nesting, _bracketed(args))))

    def member_index(self, children: Children) -> Parsed:
        operand, opening, index = children[0], children[1], children[-2]
        name = "_[_]" if len(children) == 4 else "_[?_]"
        node = call(_place(opening), name, _usable(operand), index.node)
        return Parsed(node, visited(beside(operand.nesting, bracketed(index.nesting))))

    member_opt_index = member_index

    def member_object(self, children: Children) -> Parsed:
        named, opening = children[0], children[1]
        given = children[2] if isinstance(children[2], list) else []
        fields = tuple(field for field, _ in given)
        node = Struct(_place(opening), above(*(field.value for field in fields)), _message_name(named, opening), fields)
        return Parsed(node, bracketed(*(nesting for _, nesting in given)))

    def fieldinit(self, children: Children) -> tuple[FieldValue, Nesting]:
        name, colon, value = children[-3:]
        return FieldValue(_place(colon), _field(name), value.node, len(children) == 4), value.nesting

    def dot_ident_arg(self, children: Children) -> Parsed:
        _, name, opening, *rest = children  # no macro is written with a dot in front
        args = _arguments(rest)
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        return Parsed(call(_place(opening), str(name), *(argument.node for argument in args)), _bracketed(args))

    def dot_ident(self, children: Children) -> Parsed:
        name = children[1]
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        return _leaf(Ident(_place(name), 1, str(name), absolute=True))

    def ident_arg(self, children: Children) -> Parsed:
        name, opening, args = children[0], children[1], _arguments(children[2:])
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        at, nodes = _place(opening), tuple(argument.node for argument in args)
        return Parsed(expand_global(at, str(name), nodes) or call(at, str(name), *nodes), _bracketed(args))

    def ident(self, children: Children) -> Parsed:
        name = children[0]
        if name in _CONSTANTS:
            return _leaf(Literal(_place(name), 1, _CONSTANTS[name]))
        if name in _RESERVED:
            _fail(f"reserved identifier: {name}", name)
        return _leaf(Ident(_place(name), 1, str(name)))

    def paren_expr(self, children: Children) -> Parsed:
        return Parsed(children[1].node, bracketed(children[1].nesting))

    def exprlist(self, children: Children) -> tuple[Parsed, ...]:
        return tuple(children[::2])

    def list_lit(self, children: Children) -> Parsed:
        items = children[1] if isinstance(children[1], list) else []
        elements = tuple(element.node for _, element in items)
        optional = frozenset(index for index, (is_optional, _) in enumerate(items) if is_optional)
        node = ListNode(_place(children[0]), above(*elements), elements, optional)
        return Parsed(node, _bracketed([element for _, element in items]))

    def listinit(self, children: Children) -> Children:
        if len(children) == 1:
            return [children[0]]
        children[0].append(children[2])
        return children[0]  # type: ignore[no-any-return]

    mapinits = fieldinits = listinit

    def optexpr(self, children: Children) -> tuple[bool, Parsed]:
        return len(children) == 2, children[-1]

    def map_lit(self, children: Children) -> Parsed:
        items = children[1] if isinstance(children[1], list) else []
        entries = tuple(entry for entry, _ in items)
        parts = [part for entry in entries for part in (entry.key, entry.value)]
        node = MapNode(_place(children[0]), above(*parts), entries)
        return Parsed(node, bracketed(*(nesting for _, nesting in items)))

    def mapinit(self, children: Children) -> tuple[Entry, Nesting]:
        key, colon, value = children[-3:]
        return Entry(_place(colon), key.node, value.node, len(children) == 4), beside(key.nesting, value.nesting)

    def literal(self, children: Children) -> Parsed:
        token = children[0]
        return _leaf(_LITERALS[token.type](_place(token), token))


_BUILDER = _Builder()


def _bracketed(parts: Sequence[Parsed]) -> Nesting:
    return bracketed(*(part.nesting for part in parts))


def _variadic(function: str, children: Children) -> Parsed:
    left, operator, right = children
    nesting = beside(left.nesting, right.nesting)
    if isinstance(left.node, Call) and left.node.function == function:
        args = (*left.node.args, right.node)
        return Parsed(Call(left.node.at, above(*args), function, None, args), nesting)
    return Parsed(call(_place(operator), function, left.node, right.node), nesting)


def _field(name: Token) -> str:
    if name.type == "ESCAPED":
        return str(name[1:-1])
    if name in _KEYWORDS:
        _fail(f"Syntax error: mismatched input '{name}'", name)
    return str(name)


def _arguments(rest: Children) -> tuple[Parsed, ...]:
    return rest[0] if isinstance(rest[0], tuple) else ()


def _message_name(named: Parsed, opening: Token) -> str:
    """a.b.c in front of a brace; anything else there is a mistake."""
    names, node = [], named.node
    while type(node) is Select and not node.test:
        names.append(node.field)
        node = node.operand
    if type(node) is not Ident or named.nesting.expressions:
        _fail("Syntax error: mismatched input '{'", opening)
    return ("." if node.absolute else "") + ".".join([node.name, *reversed(names)])


def _int(at: Position, token: Token) -> Literal:
    if len(token) > _LONGEST_NUMBER:
        raise ExpressionError(problem("invalid int literal", at))
    value = int(token, 16) if "x" in token else int(token)
    if value == INT_MAX + 1:
        return _Overflow(at, 1, value)
    if not INT_MIN <= value <= INT_MAX:
        raise ExpressionError(problem("invalid int literal", at))
    return _Signed(at, 1, value) if token[0] == "-" else Literal(at, 1, value)


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
    return _Signed(at, 1, value) if token[0] == "-" else Literal(at, 1, value)


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
