"""Plain YAML scalars as kubectl takes them.

Source: sigs.k8s.io/yaml goyaml.v2 resolve.go, then its conversion to JSON. Unlike PyYAML's own loaders it knows no base-60
numbers (`0000:17:00.0` is a string) and makes no dates of timestamps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
}
_NUMBER_START: Final = frozenset("0123456789+-.")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[0-9]+)")
_BASES: Final = {"x": 16, "o": 8, "b": 2}
#: No number that anybody means is longer; converting a longer one costs quadratic time.
_MAX_DIGITS: Final = 400
#: Whole numbers below this are written without an exponent in JSON, and read as integers from it.
_WHOLE: Final = 1e21


def resolve(written: str) -> Scalar:
    """The value of an unquoted scalar."""
    if written in _WORDS:
        return _WORDS[written]
    if written[0] not in _NUMBER_START or len(written) > _MAX_DIGITS:
        return written
    plain = written.replace("_", "")
    integer = _integer(plain)
    if integer is not None:
        return integer
    if not _FLOAT.fullmatch(plain):
        return written
    number = float(plain)
    if not math.isfinite(number):
        return written
    return int(number) if number.is_integer() and abs(number) < _WHOLE else number


def key_text(key: Scalar) -> str:
    """A mapping key as JSON has it: always a string."""
    match key:
        case str():
            return key
        case None:
            return "null"
        case bool():
            return "true" if key else "false"
        case _:
            return str(key)


def _integer(plain: str) -> int | None:
    found = _INTEGER.fullmatch(plain)
    if not found:
        return None
    sign, digits = found[1], found[2]
    base = _BASES.get(digits[1:2].lower(), 10)
    if base != 10:
        digits = digits[2:]
    elif len(digits) > 1 and digits[0] == "0":
        if "8" in digits or "9" in digits:
            return None
        base = 8
    return int(sign + digits, base)
