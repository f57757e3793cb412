"""Expressions made from the function table itself: every overload with values at the edges of its types (edges.txt).

Independent of grammar.txt: nothing but the table says what can be called, so what nobody thought of is called as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.oracle.patterns import search
from webhook.cel.library import FUNCTIONS
from webhook.cel.library.table import Overload
from webhook.cel.types import Kind, Type


def _read_edges() -> dict[str, tuple[str, ...]]:
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in (Path(__file__).parent / "edges.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = sections.setdefault(line.removeprefix("== "), [])
        elif line and not line.startswith("#"):
            section.append(line)
    return {name: tuple(lines) for name, lines in sections.items()}


EDGES = _read_edges()
_KINDS = tuple(EDGES)
#: Functions that are written otherwise: operators between their operands, macros by their names.
_INFIX = {f"_{symbol}_": symbol for symbol in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||")}
_INFIX["@in"] = "in"
_HIDDEN = {"@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys"}
_MACROS = (
    "{list}.all(x, {body})", "{list}.exists(x, {body})", "{list}.exists_one(x, {body})", "{list}.filter(x, {body})",
    "{list}.map(x, {body})", "{list}.map(x, {body}, {body})", "{list}.sortBy(x, {body})", "{map}.all(x, {body})",
    "{map}.map(x, {body})", "{map}.filter(x, {body})", "{list}.all(x, y, {body})", "{list}.exists(x, y, {body})",
    "{list}.existsOne(x, y, {body})", "{list}.transformList(x, y, {body})", "{list}.transformList(x, y, {body}, {body})",
    "{map}.transformList(x, y, {body})", "{list}.transformMap(x, y, {body})", "{map}.transformMap(x, y, {body}, {body})",
    "{list}.transformMapEntry(x, y, {{y: {body}}})", "{map}.transformMapEntry(x, y, {{{body}: y}})",
    "{optional_type}.optMap(x, {body})", "{optional_type}.optFlatMap(x, {optional_type})",
    "{optional_type}.optFlatMap(x, optional.of({body}))", "cel.bind(x, {any}, {body})",
    "cel.bind(x, {any}, cel.bind(y, x, {body}))",
    "has({map}.a)", "has({any}.a.b)", "{any}.?a", "{any}.?a.?b", "{any}[?{any}]", "{any}[{any}]", "{any}.a", "{any}.b.c",
    "[?{optional_type}, {any}]", "[?{optional_type}]", "{{?{any}: {optional_type}}}", "{{{any}: {any}}}", "[{any}, {any}]",
    "{bool} ? {any} : {any}", "-{any}", "!{any}", "{list}[{int}]", "{map}[{string}]", "{list}[?{int}]", "{map}[?{string}]",
    "{optional_type}[{any}]", "{optional_type}[?{any}]", "{optional_type}.?a", "{optional_type}.a",
    "{list}.exists(x, x == {any})", "{list}.map(x, x + {any})", "{list}.map(x, type(x))", "{list}.map(x, string(x))",
    "{list}.all(x, x > {any})", "{any}.exists(x, {any} == x)", "{list}.map(x, {list}.map(y, x == y))",
    "{string}.format([{any}])", "{string}.format([{any}, {any}, {any}])", "\"%s\".format([{any}])", "\"%d\".format([{any}])",
    "\"%.3f\".format([{any}])", "\"%e\".format([{any}])", "\"%x\".format([{any}])", "\"%X\".format([{any}])",
    "\"%o\".format([{any}])", "\"%b\".format([{any}])", "string(dyn({any}))", "int(dyn({any}))", "double(dyn({any}))",
    "uint(dyn({any}))", "bool(dyn({any}))", "timestamp(dyn({any}))", "duration(dyn({any}))", "bytes(dyn({any}))",
)  # fmt: skip
_BODIES = (
    "x", "true", "false", "x == x", "x > 1", "x < x", "-x", "!x", "x + x", "[x]", "{x: 1}", "x[0]", "x.a", "x.?a", "type(x)",
    "string(x)", "x in [1]", "x.size()", "y", "x == y", "dyn(x)", "x * 2", "x.contains('a')", "optional.of(x)", "x > 0 ? x : x",
    "x != null", "1 / x", "x % 2 == 0", "x.size() > 1 && x.startsWith('a')", "has(x.a)", "x.map(z, z)", "lists.range(x)",
)  # fmt: skip


def calls(number: int, seed: int) -> Iterator[str]:
    """`number` random expressions of any type."""
    rng = random.Random(seed)
    return (_expression(rng, rng.choice((0, 0, 0, 1, 2))) for _ in range(number))


def selectors(number: int, seed: int) -> Iterator[str]:
    """`number` random expressions that are mostly of type bool, as selectors have to be."""
    rng = random.Random(seed)
    for _ in range(number):
        text = _expression(rng, rng.choice((0, 0, 1, 2)))
        kind = rng.randrange(8)
        if kind < 4:
            yield f"dyn({text}) == dyn({_value('any', rng, 0)})"
        elif kind == 4:
            yield f"dyn({text}) {rng.choice(('<', '>=', '!=', 'in'))} dyn({_value('any', rng, 0)})"
        elif kind == 5:
            yield f"[{text}].exists(v, {rng.choice(_BODIES).replace('x', 'v')})"
        else:
            yield text


def _expression(rng: random.Random, depth: int) -> str:
    if rng.random() < 0.35:
        return _macro(rng, depth)
    if rng.random() < 0.05:
        return search(rng)
    function = rng.choice(_CALLED)
    return _call(function, rng.choice(FUNCTIONS[function].overloads), rng, depth)


_CALLED = sorted(FUNCTIONS.keys() - _HIDDEN - {"_?_:_", "_[_]", "_[?_]", "_?._", "!_", "-_"})


def _macro(rng: random.Random, depth: int) -> str:
    text = rng.choice(_MACROS).replace("{{", "\x01").replace("}}", "\x02")
    while "{" in text:
        before, _, rest = text.partition("{")
        name, _, after = rest.partition("}")
        text = f"{before}{_masked(rng.choice(_BODIES) if name == 'body' else _value(name, rng, depth - 1))}{after}"
    return _unmasked(text)


def _masked(text: str) -> str:
    return text.replace("{", "\x01").replace("}", "\x02")


def _unmasked(text: str) -> str:
    return text.replace("\x01", "{").replace("\x02", "}")


def _call(name: str, overload: Overload, rng: random.Random, depth: int) -> str:
    args = [_argument(type_, rng, depth) for type_ in overload.params]
    if rng.random() < 0.03:
        args.append(_value("any", rng, 0))
    if name in _INFIX and len(args) >= 2:
        return f"({args[0]} {_INFIX[name]} {args[1]})"
    if (overload.member) != (rng.random() < 0.02) and args:
        return f"{_receiver(args[0])}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"


def _receiver(text: str) -> str:
    return f"({text})" if text[0] in "-+0123456789." or "? " in text else text


def _argument(type_: Type, rng: random.Random, depth: int) -> str:
    kind = "any" if type_.kind in (Kind.PARAM, Kind.DYN) else type_.name
    if kind == "list" and type_.params[0].kind is not Kind.PARAM and rng.random() < 0.5:
        return f"[{', '.join(_argument(type_.params[0], rng, depth) for _ in range(rng.randrange(4)))}]"
    chance = rng.random()
    if chance < 0.70:
        return _value(kind, rng, depth)
    if chance < 0.85:
        return f"dyn({_value(kind, rng, depth)})"
    if chance < 0.95:
        return f"dyn({_value('any', rng, depth)})"
    return _value("any", rng, depth)


def _value(kind: str, rng: random.Random, depth: int) -> str:
    """An expression that is probably of that type."""
    if kind not in EDGES:
        kind = rng.choice(_KINDS)
    if depth > 0 and rng.random() < 0.6:
        makers = _MAKERS.get(kind)
        if makers:
            name, overload = rng.choice(makers)
            return _call(name, overload, rng, depth - 1)
        return _macro(rng, depth - 1)
    return rng.choice(EDGES[kind])


_MAKERS: dict[str, list[tuple[str, Overload]]] = {}
for _name in _CALLED:
    for _overload in FUNCTIONS[_name].overloads:
        _MAKERS.setdefault(_overload.result.name, []).append((_name, _overload))
