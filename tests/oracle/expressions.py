"""Random CEL selectors and devices, aimed at the seams of the language: what differs between implementations.

The templates are in grammar.txt. Holes are mostly filled with what fits, now and then with an expression of another type.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def _read_grammar() -> dict[str, tuple[str, ...]]:
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in (Path(__file__).parent / "grammar.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = sections[line.removeprefix("== ")] = []
        elif line and not line.startswith("#"):
            section.append(line)
    return {name: tuple(lines) for name, lines in sections.items()}


_GRAMMAR = _read_grammar()
_TYPES = tuple(name.removesuffix(" constants") for name in _GRAMMAR if name.endswith(" constants"))
_HOLE = re.compile(r"\{([a-z]+(?:\|[a-z]+)*)\}|\$([a-z])(?::([a-z]+))?")
#: Longer ones are thrown away: they take long and say little.
_LONGEST = 3000

#: Domains and names that the devices have, or nearly.
DOMAINS = ("d.io", "d.io", "d.io", "o.io", "nope.io")
ATTRIBUTES = ("i", "z", "n", "s", "e", "v", "w", "b", "f", "ls", "li", "lb", "lv", "x", "missing", "t", "u")
CAPACITIES = ("m", "c", "z", "missing")


def expressions(number: int, seed: int, depth: int = 4) -> Iterator[str]:
    """`number` random selectors. The same seed gives the same ones."""
    rng = random.Random(seed)
    made = 0
    while made < number:
        if rng.random() < 0.01:
            made += 1
            yield _large(rng)
            continue
        text = _Writer(rng).write("bool", rng.randrange(1, depth + 1))
        if len(text) <= _LONGEST:
            made += 1
            yield _disturbed(text, rng)


class _Writer:
    """Writes one expression. `scope` holds the variables of the macros around, with what their values probably are."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scope: list[tuple[str, str]] = []
        self.named = 0

    def write(self, kind: str, depth: int) -> str:
        rng = self.rng
        if rng.random() < 0.01:
            kind = rng.choice(_TYPES)
        fitting = [name for name, held in self.scope if held in (kind, "dyn") or rng.random() < 0.02]
        if fitting and rng.random() < 0.55:
            return rng.choice(fitting)
        if depth <= 0 or rng.random() < 0.08:
            return self._leaf(kind)
        template = rng.choice(_GRAMMAR[kind if rng.random() < 0.85 else "any"])
        return self._fill(template, kind, depth - 1)

    def _fill(self, template: str, kind: str, depth: int) -> str:
        written: list[str] = []
        names: dict[str, str] = {}
        before, at = len(self.scope), 0
        # The value of a bound variable does not see it yet.
        late: list[tuple[str, str]] | None = [] if template.startswith("cel.bind(") else None
        for hole in _HOLE.finditer(template):
            written.append(template[at : hole.start()])
            at = hole.end()
            wanted, variable, held = hole.groups()
            if wanted == "cmp":
                written.append(self.rng.choice(("==", "!=", "<", "<=", ">", ">=")))
            elif variable is None:
                wanted = self.rng.choice(wanted.split("|"))
                written.append(self.write(kind if wanted == "same" else wanted, depth))
                self.scope.extend(late or ())
                late = None
            elif variable in names:
                written.append(names[variable])
            else:
                self.named += 1
                names[variable] = self._name()
                known = (names[variable], held or self.rng.choice(("dyn", "int", "string")))
                (self.scope if late is None else late).append(known)
                written.append(names[variable])
        del self.scope[before:]
        return "".join(written) + template[at:]

    def _name(self) -> str:
        # A name may hide another one, and once in a while everything.
        return "device" if self.rng.random() < 0.005 else f"v{self.named % 5 if self.rng.random() < 0.1 else self.named}"

    def _leaf(self, kind: str) -> str:
        rng = self.rng
        if rng.random() < 0.008:
            return rng.choice(_GRAMMAR["odd"])
        leaf = rng.choice(_GRAMMAR[f"{kind} constants"])
        leaf = leaf.replace("DOMAIN", f'"{rng.choice(DOMAINS)}"').replace("ATTRIBUTE", rng.choice(ATTRIBUTES))
        return leaf.replace("CAPACITY", rng.choice(CAPACITIES))


#: Expressions at the limits: nested as deep as parsers go, as long as the API takes them, or with much to do. Each is made
#: from a number of times and an inner expression.
_LARGE: tuple[Callable[[random.Random, int, str], str], ...] = (
    lambda _, times, inner: "(" * times + inner + ")" * times,
    lambda _, times, inner: "!(" * times + inner + ")" * times,
    lambda _, times, __: "!" * times + "true",
    lambda rng, times, inner: rng.choice((" && ", " || ")).join([inner] * (times // 4 + 1))[:10_000],
    lambda _, times, __: "[" * times + "1" + "]" * times + " == []",
    lambda _, times, __: "{1: " * times + "1" + "}" * times + " == {}",
    lambda _, times, __: "true ? " * times + "true" + " : false" * times,
    lambda rng, times, __: "device.attributes" + rng.choice((".a", "[0]", ".?a", "['d.io']")) * times + " == 1",
    lambda _, times, __: "1" + " + 1" * times + f" == {times + 1}",
    lambda _, times, __: "-" * times + "1 == 1",
    lambda _, times, __: "dyn('a')" + ".trim()" * times + " == 'a'",
    lambda rng, times, inner: _nested_loops(rng, times % 7 + 1, inner),
    lambda _, times, __: _doubled(times % 14 + 1),
    lambda rng, times, __: (
        f"{[i * 7 % 100 for i in range(times * 4)]}.{rng.choice(('sort()', 'distinct()', 'reverse()'))}[0] == 1"
    ),
    lambda rng, times, __: f'"{"ab" * times * 5}".{rng.choice(("matches", "contains", "split", "find"))}("b") == true',
    lambda rng, times, __: f"lists.range({times * 25}).map(v0, lists.range({times % 9})).size() > {rng.randrange(9)}",
    lambda rng, times, __: f"lists.range({times * 6}).all(v0, {rng.choice(('v0 in', 'lists.range(v0) =='))} lists.range(300))",
)


def _large(rng: random.Random) -> str:
    times = rng.choice((3, 8, 20, 40, 100, 120, 130, 200, 249, 250, 251, 260))
    return rng.choice(_LARGE)(rng, times, _Writer(rng).write("bool", 1))


def _nested_loops(rng: random.Random, number: int, inner: str) -> str:
    loops = "".join(f"lists.range({rng.choice((2, 3, 10))}).{rng.choice(('all', 'exists'))}(v{i}, " for i in range(number))
    return loops + inner + ")" * number


def _doubled(number: int) -> str:
    bound = '"abcdefghij"'
    for i in range(number):
        bound = f"cel.bind(v{i}, {bound}, v{i} + v{i})"
    return f"{bound}.size() > 3"


def _disturbed(text: str, rng: random.Random) -> str:
    """Mostly the text itself; sometimes with a character too many, too few, or another one."""
    if rng.random() >= 0.02:
        return text
    at = rng.randrange(len(text) + 1)
    kind = rng.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    if kind == 1:
        return (
            text[:at]
            + rng.choice(("(", ")", ".", ",", " ", "\n", "?", "!", "-", "'", '"', "\\", "[", "]", "{", "1", "e", "é"))
            + text[at:]
        )
    if kind == 2:
        return text[:at] + rng.choice((" // comment\n", "\t", " \n ", "//")) + text[at:]
    return text.replace(".", " . ").replace("(", "( ")


# Devices.

_WORDS = ("abc", "", "5", "a", "b", "x", "1.2.3", "true", "é", "xyz é", "40Gi", "ABC", "a,b", "10.0.0.1", "a-b")
_VERSIONS = ("1.2.3", "1.10.0", "0.9.0", "2.0.0-rc.1+b", "2.0.0-rc.1", "2.0.0")
_NUMBERS = (0, 1, -3, 5, 7, 2, 9223372036854775807, -9223372036854775808, 100)
_QUANTITIES = ("40Gi", "80Gi", "1500m", "10", "1e3", "0", "1k", "1", "0.5", "3", "16384Mi", "9223372036854775807")
#: What an attribute is most often; sometimes it is anything else.
_USUAL = {
    "i": "int", "z": "int", "n": "int", "s": "string", "e": "string", "v": "version", "w": "version", "b": "bool", "f": "bool",
    "ls": "strings", "li": "ints", "lb": "bools", "lv": "versions", "x": "string", "t": "string", "u": "int",
}  # fmt: skip


def devices(rng: random.Random, number: int = 3) -> list[dict[str, Any]]:
    """Random devices as the JSON lines have them, with the names that the expressions ask for."""
    return [_device(rng) for _ in range(number)]


def _device(rng: random.Random) -> dict[str, Any]:
    driver = rng.choice(("d.io", "d.io", "d.io", "o.io"))
    attributes, capacity = {}, {}
    for name, kind in _USUAL.items():
        if rng.random() < 0.8:
            attributes[_place(name, driver, rng)] = _attribute(
                kind if rng.random() < 0.8 else rng.choice(tuple(_USUAL.values())), rng
            )
    for name in ("m", "c", "z"):
        if rng.random() < 0.8:
            capacity[_place(name, driver, rng)] = {"value": rng.choice(_QUANTITIES)}
    return {
        "driver": driver,
        "allowMultipleAllocations": rng.random() < 0.3,
        "attributes": attributes,
        "capacity": capacity,
    }


def _place(name: str, driver: str, rng: random.Random) -> str:
    """A bare name belongs to the driver; others say their domain."""
    domain = rng.choice(("d.io", "d.io", "o.io"))
    return name if domain == driver else f"{domain}/{name}"


def _attribute(kind: str, rng: random.Random) -> dict[str, Any]:
    one = {"int": _NUMBERS, "string": _WORDS, "version": _VERSIONS, "bool": (True, False)}[kind.rstrip("s")]
    if not kind.endswith("s"):
        return {kind: rng.choice(one)}
    return {kind: [rng.choice(one) for _ in range(rng.randrange(1, 5))]}
