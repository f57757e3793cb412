"""Selectors that people wrote and tests that others wrote, changed at random: a second way to make expressions.

It knows nothing of CEL's grammar but its tokens and brackets. What comes out is like the originals, and mostly not quite right.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.oracle.calls import EDGES
from tests.oracle.expressions import devices as random_devices
from webhook.cel.library import FUNCTIONS

_ROOT = Path(__file__).parent.parent
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*\n?)"""
    r"""|(?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
    r"""|(?P<number>0x[0-9a-fA-F]+u?|(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?u?)"""
    r"""|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<operator>&&|\|\||[=!<>]=|.)""",
    re.DOTALL,
)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in", "?", ":", ".", ",", ".?", "[?")
_NAMES = (
    *sorted({name.rpartition(".")[2] for name in FUNCTIONS if name.rpartition(".")[2].isalpha()}),
    "all", "exists", "exists_one", "existsOne", "filter", "map", "has", "sortBy", "transformList", "transformMap", "optMap",
    "optFlatMap", "bind", "device", "attributes", "capacity", "driver", "allowMultipleAllocations", "dyn", "true", "false",
    "null", "x", "y", "cel", "format", "optional", "lists", "sets", "strings", "in", "as", "namespace", "function",
    "__result__",
)  # fmt: skip
_WRAPPERS = (
    "dyn({})", "({})", "!({})", "-({})", "[{}]", "[{}][0]", "{{'k': {}}}.k", "optional.of({}).value()", "type({})",
    "string({})", "has({})", "size({})", "cel.bind(x, {}, x)", "[{}].map(x, x)", "[{}].exists(x, x == {})", "{} == {}",
    "true ? {} : {}", "int({})", "double({})", "quantity({})", "semver({})", "[{}].sort()[0]", "optional.ofNonZeroValue({})",
    "{} // c\n", " \t{}\n", "({}).size()", "{{ {}: 1}}", "dyn({}).x", "{}.?x.orValue({})", "[?{}]", "dyn({}) in [{}]",
    "({}) in {{ {}: 1}}", "string(dyn({}))",
)  # fmt: skip
_DEVICE_NAME = re.compile(
    r"""(attributes|capacity)\s*\[\s*\??\s*["']([\w.-]+)["']\s*\]\s*(?:\.\s*\??\s*(\w+)|\[\s*\??\s*["'](\w+)["']\s*\])"""
)


@cache
def corpus() -> tuple[str, ...]:
    """Expressions to start from: published selectors, expressions whose values are recorded, and more from PARITY_CORPUS.

    That is a file with an expression in each line, spelled as JSON.
    """
    texts = [
        row["expression"]
        for name in ("vendors-0.37.2.jsonl", "values-0.37.2.jsonl")
        for row in _rows(name)
        if "expression" in row
    ]
    texts += [row["expression"] for row in _rows("random-verdicts-0.37.2.jsonl.gz") if "expression" in row]
    more = os.environ.get("PARITY_CORPUS")
    if more:
        texts += [json.loads(line) for line in Path(more).read_text(encoding="utf-8").splitlines()]
    return tuple(dict.fromkeys(text for text in texts if len(text) < 600))


def published_devices() -> list[dict[str, Any]]:
    """Devices that drivers publish."""
    rows = [device for row in _rows("vendors-0.37.2.jsonl") for device in row.get("devices", ())]
    return [{key: row[key] for key in ("driver", "attributes", "capacity")} for row in rows]


def _rows(name: str) -> Iterator[dict[str, Any]]:
    data = (_ROOT / "cel" / "data" / name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    return (json.loads(line) for line in text.split("\n") if line)


def mutants(number: int, seed: int) -> Iterator[str]:
    """`number` changed expressions."""
    rng = random.Random(seed)
    for _ in range(number):
        text = rng.choice(corpus())
        for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 4))):
            text = _changed(text, rng)
        if rng.random() < 0.3:
            text = f"dyn({text}) {rng.choice(('==', '==', '!=', '<', 'in'))} dyn({rng.choice(EDGES[rng.choice(_KINDS)])})"
        yield text[:3000]


_KINDS = tuple(EDGES)


def devices_for(text: str, rng: random.Random, number: int = 3) -> list[dict[str, Any]]:
    """Devices of which some publish what the text asks for."""
    found = random_devices(rng, number)
    for device in found:
        for where, domain, by_dot, by_key in _DEVICE_NAME.findall(text):
            if rng.random() < 0.2:
                continue
            name = by_dot or by_key
            qualified = name if domain == device["driver"] else f"{domain}/{name}"
            if where == "capacity":
                device[where][qualified] = {"value": rng.choice(("40Gi", "1", "80Gi", "0", "100m"))}
            else:
                spare = rng.choice(list(device[where].values()))
                device[where][qualified] = spare
        if rng.random() < 0.5:
            domains = [domain for _, domain, _, _ in _DEVICE_NAME.findall(text)]
            if domains:
                _renamed(device, rng.choice(domains))
    return found


def _renamed(device: dict[str, Any], driver: str) -> None:
    """The device as one of that driver: what it named barely keeps its old domain."""
    for where in ("attributes", "capacity"):
        old = device[where]
        device[where] = {
            name.removeprefix(f"{driver}/") if "/" in name else f"{device['driver']}/{name}": value
            for name, value in old.items()
        }
    device["driver"] = driver


def _changed(text: str, rng: random.Random) -> str:
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    if not tokens:
        return rng.choice(corpus())
    kind = rng.choice((0, 1, 2, 3, 4, 4, 5, 6, 6, 6, 7, 8, 8, 8, 9, 10, 10, 11, 11))
    at = rng.randrange(len(tokens))
    if kind == 0:
        del tokens[at]
    elif kind == 1:
        tokens.insert(at, tokens[rng.randrange(len(tokens))])
    elif kind == 2:
        other = rng.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 3:
        tokens[at] = _like(tokens[at], rng)
    elif kind in (4, 5):
        _replace_all_or_one(tokens, rng)
    elif kind in (6, 7):
        first, last = _span(tokens, rng)
        tokens[first:last] = [_part_of_another(rng)]
    elif kind in (8, 9):
        first, last = _span(tokens, rng)
        inner = "".join(tokens[first:last])
        tokens[first:last] = [_wrapped(inner, rng)]
    elif kind == 10:
        first, last = _span(tokens, rng)
        tokens[first:last] = ["".join(tokens[first:last]) + _call(rng)]
    else:
        return f"{text} {rng.choice(('&&', '||', '==', '!=', '+', 'in', '? true :'))} {_part_of_another(rng)}"
    return "".join(tokens)


def _wrapped(inner: str, rng: random.Random) -> str:
    first, *rest = rng.choice(_WRAPPERS).split("{}")
    parts = ((inner if rng.random() < 0.7 else _part_of_another(rng)) + _braces(part) for part in rest)
    return _braces(first) + "".join(parts)


def _braces(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def _call(rng: random.Random) -> str:
    args = ", ".join(rng.choice(EDGES[rng.choice(_KINDS)]) for _ in range(rng.choice((0, 0, 1, 1, 2))))
    return f".{rng.choice(_NAMES)}({args})"


def _replace_all_or_one(tokens: list[str], rng: random.Random) -> None:
    """One literal, name or operator becomes another, here or wherever it stands."""
    old = rng.choice(tokens)
    new = _like(old, rng)
    everywhere = rng.random() < 0.3
    places = [index for index, token in enumerate(tokens) if token == old]
    for index in places if everywhere else [rng.choice(places)]:
        tokens[index] = new


def _like(token: str, rng: random.Random) -> str:
    match = _TOKEN.match(token)
    kind = match.lastgroup if match else "operator"
    if kind == "space":
        return rng.choice((" ", "\n", "\t", "// x\n", "", "\r\n", "\f", "\v", "\u00a0"))
    if kind == "string" and rng.random() < 0.3:
        return _respelt(token, rng)
    if kind in ("string", "number"):
        return rng.choice(EDGES[rng.choice(("string", "int", "uint", "double", "string", "bytes", "bool", "list", "map"))])
    if kind == "name":
        return rng.choice(_NAMES)
    return rng.choice(_OPERATORS)


def _respelt(token: str, rng: random.Random) -> str:
    """The same text, or nearly, in other quotes or with escapes."""
    body = token.strip("rRbB").strip("\"'")
    escaped = "".join(rng.choice(_spellings(character)) for character in body)
    quote = rng.choice(('"', "'", '"""', "'''"))
    prefix = rng.choice(("", "", "r", "R", "b", "rb", "bR", "br", "B"))
    return f"{prefix}{quote}{escaped if 'r' not in prefix.lower() else body}{quote}"


def _spellings(character: str) -> tuple[str, ...]:
    code = ord(character)
    short = (f"\\x{code:02x}", f"\\{code:03o}") if code < 256 else (character, character)
    return (character, character, character, *short, f"\\u{code:04x}" if code < 65536 else character, f"\\U{code:08x}")


def _part_of_another(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(EDGES[rng.choice(_KINDS)])
    tokens = [match[0] for match in _TOKEN.finditer(rng.choice(corpus()))]
    first, last = _span(tokens, rng)
    return "".join(tokens[first:last])


def _span(tokens: list[str], rng: random.Random) -> tuple[int, int]:
    """A chain such as `device.attributes["x"].y`, or what is in brackets: mostly an expression of its own."""
    starts = [index for index, token in enumerate(tokens) if token[0].isalnum() or token[0] in "\"'([{_."]
    first = rng.choice(starts) if starts else 0
    last = first
    while last < len(tokens):
        token = tokens[last]
        if token in _OPEN:
            last = _closing(tokens, last) + 1
        elif last == first or token in (".", "?") or tokens[last - 1] in (".", "?"):
            last += 1
        else:
            break
        if last < len(tokens) and tokens[last] not in (".", "(", "[", "{", "?"):
            if tokens[last - 1] not in (".", "?"):
                break
        elif rng.random() < 0.2:
            break
    return first, min(max(last, first + 1), len(tokens))


def _closing(tokens: Iterable[str], at: int) -> int:
    """Where the bracket at `at` is closed, or the end."""
    depth = 0
    tokens = list(tokens)
    for index in range(at, len(tokens)):
        if tokens[index] in _OPEN:
            depth += 1
        elif tokens[index] in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return index
    return len(tokens) - 1
