"""`"...".format([...])`: the clauses of a format string, at run time and when its arguments are checked.

Fixed and scientific notation follow the scheduler's library, which prints for American English: digit groups in the
one, raised exponents in the other, where the "precision" is the least width.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from webhook.cel.library.numbers import format_float
from webhook.cel.library.operators import MAX_UNCHARGED
from webhook.cel.library.table import Function, Overload
from webhook.cel.library.time import duration_text, timestamp_text
from webhook.cel.types import DYN, STRING, list_of
from webhook.cel.values import (
    MAPS,
    Duration,
    EvaluationError,
    Timestamp,
    TypeValue,
    UInt,
    key_value,
    limit_exceeded,
    take,
    type_name,
)

_PRECISION = 6
_LETTERS_PER_STEP = 4
_MAX_DEPTH = 100
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CLAUSE = re.compile(r"(?:\.([0-9]*))?(.?)", re.DOTALL)
_SPECIAL_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

# What may be given to a clause, by type name, and how a message says so.
ALLOWED = {
    "s": (
        {"string", "bool", "bytes", "int", "uint", "double", "map", "list", "type", "null_type"}
        | {"google.protobuf.Duration", "google.protobuf.Timestamp"},
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
    ),
    "d": ({"int", "uint"}, "decimal clause can only be used on integers"),
    "f": ({"double", "string"}, "fixed-point clause can only be used on doubles"),
    "e": ({"double", "string"}, "scientific clause can only be used on doubles"),
    "b": ({"int", "uint", "bool"}, "only integers and bools can be formatted as binary"),
    "x": (
        {"int", "uint", "string", "bytes"},
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": ({"int", "uint"}, "octal clause can only be used on integers"),
}
ALLOWED["X"] = ALLOWED["x"]


def interpolate(text: str, count: int, clause: Callable[[int, str, int | None], str]) -> str:
    """`text` with each clause replaced by what `clause(index, letter, precision)` gives. Errors are ValueErrors."""
    parts: list[str] = []
    position, index = 0, 0
    while (percent := text.find("%", position)) >= 0:
        parts.append(text[position:percent])
        if text.startswith("%%", percent):
            parts.append("%")
            position = percent + 2
            continue
        if index >= count:
            raise ValueError(f"index {index} out of range")
        if percent + 1 >= len(text):
            raise ValueError("unexpected end of string")
        letter, precision, position = _clause(text, percent + 1)
        try:
            parts.append(clause(index, letter, precision))
        except ValueError as error:
            raise ValueError(f"error during formatting: {error}") from None
        index += 1
    return "".join([*parts, text[position:]])


def _clause(text: str, position: int) -> tuple[str, int | None, int]:
    """Letter, precision and end of the clause at `position`."""
    match = _CLAUSE.match(text, position)
    assert match is not None
    digits, letter = match.groups()
    trouble = "could not parse formatting clause: error while parsing precision: "
    if digits is not None and not letter:
        raise ValueError(f"{trouble}could not find end of precision specifier")
    if digits == "":
        raise ValueError(f'{trouble}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax')
    precision = int(digits[:9]) if digits is not None else None
    if letter not in ALLOWED:
        raise ValueError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
    return letter, precision, match.end()


def _format(frame: list[Any], text: str, values: list[Any]) -> str:
    length = len(text)

    def clause(index: int, letter: str, precision: int | None) -> str:
        nonlocal length
        piece = _format_clause(values[index], letter, precision)
        length += len(piece)
        if length > MAX_UNCHARGED:
            raise limit_exceeded()
        take(frame, len(piece) // _LETTERS_PER_STEP)  # nobody charges a cost for what comes out
        return piece

    try:
        return interpolate(text, len(values), clause)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _format_clause(value: Any, letter: str, precision: int | None) -> str:
    allowed, complaint = ALLOWED[letter]
    name = type_name(value)
    unusual = letter in "fe" and type(value) is str and value not in _SPECIAL_NUMBERS
    if name not in allowed or unusual:
        raise ValueError(f"{complaint}, was given {name}")
    if letter == "s":
        return _Speller().text(value)
    if letter in "fe":
        number = _SPECIAL_NUMBERS[value] if type(value) is str else value
        return _decimal(number, letter, _PRECISION if precision is None else precision)
    return _based(value, letter)


def _decimal(number: float, letter: str, precision: int) -> str:
    if precision > MAX_UNCHARGED:
        raise limit_exceeded()
    if not math.isfinite(number):
        text = "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"
        return text.rjust(precision) if letter == "e" else text
    number = number or 0.0  # no sign on zero
    if letter == "f":
        return f"{number:,.{precision}f}"
    mantissa, _, exponent = f"{number:.{_PRECISION}e}".partition("e")
    return f"{mantissa}×10{exponent.lstrip('+').translate(_RAISED)}".rjust(precision)


def _based(value: Any, letter: str) -> str:
    if type(value) is str or type(value) is bytes:
        digits = value.encode().hex() if isinstance(value, str) else value.hex()
        return digits.upper() if letter == "X" else digits
    return format(int(value), letter)


class _Speller:
    """Spells values as %s does, within the limits for the length of a string and the depth of a value."""

    def __init__(self) -> None:
        self._left = MAX_UNCHARGED

    def text(self, value: Any, depth: int = 0) -> str:
        """The value, without quotes at the top."""
        if type(value) is list:
            return self._counted(f"[{', '.join(self._nested(item, depth + 1) for item in value)}]")
        if type(value) in MAPS:
            pairs = sorted((self._key(key), self._nested(item, depth + 1)) for key, item in value.items())
            return self._counted("{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}")
        return self._counted(_scalar(value))

    def _counted(self, text: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            raise limit_exceeded()
        return text

    def _nested(self, value: Any, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise limit_exceeded()
        kind = type(value)
        if type_name(value) not in ALLOWED["s"][0]:
            raise ValueError(f"no formatting function for {type_name(value)}")
        if kind is float:
            return _nested_float(value)
        text = self.text(value, depth)
        if kind is str or kind is bytes:
            return ("b" if kind is bytes else "") + go_quoted(text)
        if kind is Timestamp or kind is Duration:
            return f"{'timestamp' if kind is Timestamp else 'duration'}({go_quoted(text)})"
        return text

    def _key(self, key: object) -> str:
        value = key_value(key)
        if type(value) not in (str, bool, int, UInt):
            raise ValueError(f"no formatting function for map key of type {type_name(value)}")
        return go_quoted(value) if type(value) is str else _scalar(value)


def _nested_float(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.{_PRECISION}f}"
    return f'"{format_float(value)}"'


_SPELLERS: dict[type, Callable[[Any], str]] = {float: format_float, Timestamp: timestamp_text, Duration: duration_text}


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError("could not convert argument to string") from None
    if type(value) is TypeValue:
        return value.name
    spell = _SPELLERS.get(type(value))
    return spell(value) if spell is not None else str(int(value) if type(value) is UInt else value)


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def go_quoted(text: str) -> str:
    """The text in double quotes, as Go's %q writes it."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as surrogateescape keeps it
        return f"\\x{code - 0xDC00:02x}"
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "format",
        (Overload("string_format", (STRING, list_of(DYN)), STRING, _format, member=True),),
        grows=True,
        takes_frame=True,
    ),
)
