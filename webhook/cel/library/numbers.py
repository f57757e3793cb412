"""How numbers are spelled and read in Go's way, where Python's differs."""

from __future__ import annotations

import math
import re

_LARGE_EXPONENT = 6
_DIGITS, _HEX = r"[0-9](?:_?[0-9])*", r"[0-9a-f](?:_?[0-9a-f])*"
_FLOAT = re.compile(
    rf"nan|[+-]?(?:inf(?:inity)?|(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?"
    rf"|0x_?(?:{_HEX}\.?(?:{_HEX})?|\.{_HEX})p[+-]?{_DIGITS})",
    re.IGNORECASE,
)


def parse_int(text: str) -> int | None:
    """A decimal whole number with an optional sign, of any size, or None."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,40}", text) else _long_int(text)


def _long_int(text: str) -> int | None:
    # Leading zeros are allowed without limit; anything longer than 40 digits is out of every range.
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    digits = text.lstrip("+-").lstrip("0")
    return (int(digits[:41] or "0")) * (-1 if text[0] == "-" else 1)


def parse_float(text: str) -> float | None:
    """A floating point number as Go reads it, or None when it is none or out of range."""
    if not _FLOAT.fullmatch(text):
        return None
    lowered = text.lower().replace("_", "")
    if "0x" in lowered:
        return _hex_float(lowered)
    value = float(lowered)
    return None if math.isinf(value) and "inf" not in lowered else value


def _hex_float(text: str) -> float | None:
    try:
        return float.fromhex(text)
    except OverflowError:
        return None


def format_float(value: float) -> str:
    """The shortest spelling, with an exponent below 1e-4 and from 1e6 on where digits are short: Go's %g."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    digits, exponent = _shortest(abs(value))
    if exponent < -4 or exponent >= _LARGE_EXPONENT:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _positional(digits, exponent)


def format_plain(value: float) -> str:
    """The shortest spelling without an exponent: Go's 'f' with precision -1."""
    if math.isnan(value) or math.isinf(value):
        return format_float(value)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return sign + _positional(*_shortest(abs(value)))


def _shortest(value: float) -> tuple[str, int]:
    """The shortest digits that read back as `value`, and the exponent of the first one."""
    if value == 0:
        return "0", 0
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0"))) - 1
    return digits.rstrip("0") or "0", leading + int(exponent or 0)


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
