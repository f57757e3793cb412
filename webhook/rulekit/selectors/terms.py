"""A selector's text cut where `&&`, `||` and parentheses are: its terms, as its author wrote them.

What cannot be cut with certainty (comments, `? :`) is not cut at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

#: In a raw text a \ is a sign like any other.
_TOKEN: Final = re.compile(
    r"""(?P<raw>[bB]?[rR](?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"[^"\n]*"|'[^'\n]*'))"""
    r"""|(?P<text>[bB]?(?:\"{3}(?:[^\\]|\\[\s\S])*?\"{3}|'{3}(?:[^\\]|\\[\s\S])*?'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>&&|\|\||//|\.\?|\[\s*\?|[^\s])"
)
_QUOTED: Final = re.compile(r"""[bBrR]{0,2}(\"{3}|'{3}|"|')([^\\]*)\1""")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_JOINS: Final = frozenset({"&&", "||"})
#: Characters of a text that is cut, and how deep: people write shorter ones, and nobody is to wait for others.
_LONGEST, _DEEPEST = 2_000, 20


@dataclass(frozen=True, slots=True)
class _Token:
    sign: str  # "" for a text, the word or sign otherwise
    start: int
    end: int


def conjuncts(text: str) -> tuple[str, ...]:
    """The terms that all have to hold: those between `&&`, or the whole text where it is no such chain."""
    tokens = _tokens(text)
    if tokens is None:
        return (text.strip(),)
    return tuple(_conjuncts(text, tokens, _DEEPEST))


def on_one_line(text: str) -> str:
    """The same selector without line breaks, which would tear a message apart; "" where they are part of a text."""
    if '"""' in text or "'''" in text:
        return "" if "\n" in text else text
    return re.sub(r"\s*[\r\n]\s*", " ", text).strip()


def starts_of_terms(text: str, places: Sequence[int]) -> tuple[int, ...] | None:
    """Where the smallest terms begin that hold what stands at `places`; None when that cannot be told."""
    tokens = _tokens(text)
    if tokens is None:
        return None
    found: list[int] = []
    for place in places:
        index = next((i for i, token in enumerate(tokens) if token.start == place), None)
        if index is None:  # inside a text
            return None
        found.append(_start(tokens, index))
    return tuple(dict.fromkeys(found))


def texts_in(text: str) -> Iterator[str]:
    """What stands in quotes in a selector, as its author wrote it; nothing that has a \\ in it."""
    for match in _TOKEN.finditer(text[:_LONGEST]):
        written = match["raw"] or match["text"]
        found = _QUOTED.fullmatch(written) if written else None
        if found is not None:
            yield found[2]


def _tokens(text: str) -> list[_Token] | None:
    if len(text) > _LONGEST:
        return None
    found = []
    for match in _TOKEN.finditer(text):
        sign = "" if match["raw"] or match["text"] else match["word"] or match["sign"].replace(" ", "")
        if sign in ("//", "?", ":"):
            return None
        found.append(_Token("[" if sign.startswith("[") else sign, match.start(), match.end()))
    return found


def _conjuncts(text: str, tokens: list[_Token], depth: int) -> Iterator[str]:
    while depth and len(tokens) > 1 and tokens[0].sign == "(" and _closing(tokens) == len(tokens) - 1:
        tokens, depth = tokens[1:-1], depth - 1
    if not tokens:
        return
    joins = _outermost(tokens)
    if not depth or not joins or any(tokens[i].sign == "||" for i in joins):
        yield text[tokens[0].start : tokens[-1].end]
        return
    begin = 0
    for end in (*joins, len(tokens)):
        yield from _conjuncts(text, tokens[begin:end], depth - 1)
        begin = end + 1


def _closing(tokens: list[_Token]) -> int:
    """The token that closes what the first one opens."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.sign in _OPENING) - (token.sign in _CLOSING)
        if not depth:
            return i
    return -1


def _outermost(tokens: list[_Token]) -> list[int]:
    """The `&&` and `||` outside all brackets."""
    depth, found = 0, []
    for i, token in enumerate(tokens):
        depth += (token.sign in _OPENING) - (token.sign in _CLOSING)
        if not depth and token.sign in _JOINS:
            found.append(i)
    return found


def _start(tokens: list[_Token], index: int) -> int:
    depth = 0
    for i in range(index - 1, -1, -1):
        sign = tokens[i].sign
        if sign in _CLOSING:
            depth += 1
        elif sign in _OPENING and depth:
            depth -= 1
        elif (sign == "(" and _holds_terms(tokens[i:])) or (sign in _JOINS and not depth):
            return tokens[i + 1].start
    return tokens[0].start


def _holds_terms(tokens: list[_Token]) -> bool:
    """Whether the parenthesis that the first token opens has `&&` or `||` in it; any other belongs to a term."""
    return bool(_outermost(tokens[1 : _closing(tokens)]))
