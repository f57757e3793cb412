"""What to write instead where the text is no expression: words of other languages, quotes, signs that CEL does not have."""

from __future__ import annotations

import re
import string
from dataclasses import replace
from typing import Final

from webhook.cel.pattern_hints import for_pattern, is_pattern
from webhook.cel.problems import CompileProblem

_WORDS: Final = {
    "and": "write && for and",
    "or": "write || for or",
    "not": "write ! for not",
    "is": "write == to compare",
    "like": "write x.matches(...) for a pattern, x.contains(...) for a part",
    "then": "write condition ? value : otherwise",
    "AND": "write && for and",
    "OR": "write || for or",
    "NOT": "write ! for not",
}
_MEMBERS: Final = frozenset({"contains", "startsWith", "endsWith", "matches"})
_SIGNS: Final = {
    "&": "write && for and",
    "|": "write || for or",
    ";": "an expression has no semicolon: leave it out",
    "“": 'write a plain quote: "',
    "”": 'write a plain quote: "',
    "„": 'write a plain quote: "',
    "‘": "write a plain quote: '",
    "’": "write a plain quote: '",
    "$": "write variables by their plain names",
}
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
_NAMES: Final = {"None": "write null", "nil": "write null", "True": "write true", "False": "write false"}
_SPELT_NAMES: Final = _NAMES | {"TRUE": "write true", "FALSE": "write false", "NULL": "write null"}
_DEVICE_FIELDS: Final = frozenset({"attributes", "capacity", "driver", "allowMultipleAllocations"})
_UNDECLARED: Final = re.compile(r"undeclared reference to '(\w+)' \(in container ''\)")
_NO_PARTS: Final = "unexpected failed resolution of 'kubernetes.Quantity'"
_DOTTED: Final = re.compile(r"\bdevice\.capacity\.((?:[\w-]+\.){2,}[\w-]+)")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_WORD_BEFORE: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*$")
_IS_COMPARED: Final = re.compile(r"\s*(?:[=!]=|[<>]=?|in\b)")
#: Signs of other languages for "matches the pattern", and what stands on either side of them.
_PATTERN_SIGN: Final = re.compile(r"=~|!~|~")
_VALUE: Final = re.compile(r"""((?<![\w.\])"'])[A-Za-z_]\w*(?:\.\w+|\[(?:"[^"\\\]]*"|'[^'\\\]]*')\]|\.\w+\(\))*)\s*$""")
_PATTERN: Final = re.compile(
    r"""([=!]~|~=?)\*?\s*(?:("[^"\\]*"|'[^'\\]*'|[rR]"[^"]*"|[rR]'[^']*')|/([^"/\\]*)/)\s*(?=$|&&|\|\||[):?])"""
)
_WHOLE: Final = re.compile(r"device(?:\.allowMultipleAllocations|\.(?:attributes|capacity)(?:\[[^\]]*\])?)?")
_BY_NAME: Final = re.compile(
    r"""device\.(?:(?:(?:attributes|capacity)\.)?(?!(?:attributes|capacity|driver|allowMultipleAllocations)\b)(\w+)"""
    r"""|(?:attributes|capacity)\[["'](\w+)["']\])"""
)
_BARE_TEXT: Final = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z0-9][\w-]*)*")


def for_token(line: str, column: int) -> str:
    """For the sign or word at a place of a line where none of its kind can stand."""
    before, rest = line[: column - 1], line[column - 1 :]
    return _for_sign(before, rest) or _for_word(before, rest)


def _for_sign(before: str, rest: str) -> str:
    sign = rest[:1]
    if _PATTERN_SIGN.match(rest):
        return _for_pattern(before, rest)
    if sign == "=":
        return "write == to compare" if not before.endswith("==") else "write == to compare: two signs are enough"
    if sign == ">" and before.rstrip().endswith("<"):
        return "write != for unequal"
    if sign == "," and re.search(r"\bin\s*\([^()]*$", before):
        return "write a list in brackets, as in x in [a, b]"
    if sign in _CLOSING and _CLOSING[sign] not in before:
        return f"this {sign} closes nothing"
    return _quote(rest, sign) if sign in ("'", '"') else _SIGNS.get(sign, "")


def _for_pattern(before: str, rest: str) -> str:
    """`x =~ "A100"`, with Perl's slashes too."""
    read, found = _VALUE.search(before), _PATTERN.match(rest)
    value = _attribute(read[1]) if read is not None else ""
    if not value or found is None:
        return '=~ and !~ are no operators of CEL: ask x.matches("A100"), or !x.matches("A100")'
    pattern = found[2] if found[2] is not None else f'"{found[3]}"'
    asked = f"{value}.matches({pattern})"
    text = pattern.lstrip("rR")[1:-1]
    if not is_pattern(text):
        asked = for_pattern(text, value).partition("write ")[2] or "x.matches(...) with a pattern that RE2 can read"
    return f"{found[1]} is no operator of CEL: write {'!' if '!' in found[1] else ''}{asked}"


def _attribute(path: str) -> str:
    """What is asked for a pattern: no capacity, and what is in a domain; "" of a whole domain."""
    by_name = _BY_NAME.fullmatch(path)
    if by_name is not None:
        return f'device.attributes["<driver>"].{by_name[1] or by_name[2]}'
    return "" if _WHOLE.fullmatch(path) else re.sub(r"^device\.capacity\b", "device.attributes", path)


def _for_word(before: str, rest: str) -> str:
    word, earlier = _WORD.match(rest), _WORD_BEFORE.search(before)
    for found in (word[0] if word is not None else "", earlier[1] if earlier is not None else ""):
        if found in _WORDS:
            return _WORDS[found]
    if word is not None and word[0] in _MEMBERS:
        return f"{word[0]} is called on its value: write x.{word[0]}(...)"
    return "write condition ? value : otherwise" if re.match(r"\s*if\b", before) else ""


def _quote(rest: str, sign: str) -> str:
    if sign not in rest[1:]:
        return f"the text has no closing quote: end it with {sign}, or take this one away" if rest[1:] else _lone(sign)
    return "put a comma or an operator between the two" if _closed(rest, sign) else "a \\ in a text is written \\\\"


def _lone(sign: str) -> str:
    return f"this {sign} has no partner: put the text before it in quotes, or take it away"


def _closed(rest: str, sign: str) -> bool:
    return re.match(rf"{sign}(?:[^{sign}\\]|\\[abfnrtv\"'\\?`xXuU0-3])*{sign}", rest) is not None


def for_end(text: str) -> str:
    """For a text that ends too early."""
    if not text.strip():
        return "there is no expression: write one, such as true"
    opened: list[str] = []
    for sign in re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", "", text):
        if sign in "([{":
            opened.append({"(": ")", "[": "]", "{": "}"}[sign])
        elif sign in ")]}" and opened:
            opened.pop()
    return f"close what is open: {''.join(reversed(opened))}" if 0 < len(opened) <= 8 else ""


def with_names(problems: tuple[CompileProblem, ...], text: str, variables: frozenset[str]) -> tuple[CompileProblem, ...]:
    """The problems of a text; those of names that nothing has get a hint, where they have none."""
    return tuple(_with_name(problem, text, variables) for problem in problems)


def _with_name(problem: CompileProblem, text: str, variables: frozenset[str]) -> CompileProblem:
    if problem.hint:
        return problem
    line = (text.split("\n")[problem.line - 1 : problem.line] or [""])[0]
    found = _UNDECLARED.fullmatch(problem.message)
    if found is not None:
        return replace(problem, hint=for_name(line, problem.column, found[1], variables))
    return replace(problem, hint=_for_domain(line)) if problem.message == _NO_PARTS else problem


def _for_domain(line: str) -> str:
    """`device.capacity.gpu.example.com.memory`: of the domain, which is one name, every part is taken for one."""
    found = _DOTTED.search(line)
    if found is None:
        return ""
    domain, _, name = found[1].rpartition(".")
    if line[found.end() : found.end() + 1] == "(":
        domain, _, name = domain.rpartition(".")
    return f'the domain is one name: write device.capacity["{domain}"].{name}'


def for_name(line: str, column: int, name: str, variables: frozenset[str]) -> str:
    """For a name that nothing has: a word of another language, a text without quotes, a part of the device."""
    if name in _SPELT_NAMES:
        return _SPELT_NAMES[name]
    if name in _DEVICE_FIELDS and "device" in variables:
        return f"write device.{name}"
    if name == "device":
        return (
            f"only selectors have a device; here there {'is' if len(variables) == 1 else 'are'} {', '.join(sorted(variables))}"
        )
    before = line[: column - 1]
    if before.endswith(("-", "/")) and before[:-1].endswith(tuple(string.ascii_letters + string.digits)):
        return f'a name with {before[-1]} in it needs brackets and quotes, as in ["a{before[-1]}b"]'
    bare = _BARE_TEXT.match(line, column - 1)
    if bare is None or line[bare.end() : bare.end() + 1] in ("(", "["):
        return ""
    if "device" in variables and "." not in bare[0] and _IS_COMPARED.match(line, bare.end()):
        return (
            f'an attribute is device.attributes["gpu.example.com"].{bare[0]} with its driver\'s name, '
            f'a capacity device.capacity[...]; a text needs quotes: "{bare[0]}"'
        )
    return f'a text needs quotes: write "{bare[0]}"'
