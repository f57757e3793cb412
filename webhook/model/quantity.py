"""Kubernetes quantities ("40Gi", "500m", "1e3"): parse, compare, add, subtract, print, exactly as the API machinery does.

A quantity remembers how it is held, because that shows: `is_big` marks the decimal form that a value takes when it does
not fit in 64 bits at parsing, and such a value is "no integer" even when it is whole. No floats are used for values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, total_ordering

_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
_NANO = -9
_FAST_DIGITS = 18  # as many decimal digits always fit in an int64
# A hostile text or sum may not fill the memory (nor meet Python's own limit of 4,300 digits).
_MAX_TEXT = 1_000
_MAX_SHIFT = 3_000
_MAX_BITS = 13_000

_SHAPE = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?([eEinumkKMGTP]*[-+]?[0-9]*)")


class Format(Enum):
    """How a quantity is printed."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()} | {0: ""}


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`unscaled` times ten to the power of `scale`. `text` is the spelling to print again, or "" to work it out."""

    unscaled: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    is_big: bool = False
    text: str = ""

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1."""
        if self.scale == other.scale:
            return (self.unscaled > other.unscaled) - (self.unscaled < other.unscaled)
        return _compare(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self.compare(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        return hash(_without_tens(self.unscaled, self.scale))

    def __add__(self, other: Quantity) -> Quantity:
        return _sum(self, other)

    def __sub__(self, other: Quantity) -> Quantity:
        negated = replace(other, unscaled=-other.unscaled)
        if negated.unscaled > _INT64_MAX and not other.is_big and not self.is_big:
            # The least int64 has no negative in 64 bits: the API machinery goes on with the number as it is.
            wrapped = _sum(self, other)
            return wrapped if not wrapped.is_big else _sum(self, replace(negated, is_big=True))
        return _sum(self, negated)

    def __str__(self) -> str:
        return self.text or _canonical(self)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def as_int64(self) -> int | None:
        """The value if it is held as a whole 64-bit number, else None (also for whole values held otherwise)."""
        if self.is_big or self.scale < 0:
            return None
        return _scaled_int64(self.unscaled, self.scale)

    def as_float(self) -> float:
        """The nearest float to the digits, times a power of ten; infinite when out of range."""
        try:
            base = float(self.unscaled)
        except OverflowError:
            return float("inf") if self.unscaled > 0 else float("-inf")
        return base if self.scale == 0 else base * _power_of_ten(self.scale)


def parse_quantity(text: str) -> Quantity:
    """The quantity that `text` spells. ValueError says what is wrong with it."""
    if text == "0":
        return Quantity(0, text=text)
    match = _SHAPE.fullmatch(text) if text else None
    if match is None or (not match[2] and not match[3] and not match[1] and not match[4]):
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    if len(text) > _MAX_TEXT:
        raise ValueError("unable to parse numeric part of quantity")
    base, exponent, form = _interpret_suffix(match[4])
    sign, whole, fraction = match[1], match[2].lstrip("0"), (match[3] or "")[1:]
    if not whole and not match[3] and not match[4]:  # nothing but a sign and zeros
        return Quantity(0)
    digits = (whole or "0") + fraction
    fast = _parse_fast(text, sign, digits, fraction, base, exponent, form)
    if fast is not None:
        return fast
    return _parse_big(sign, match[2], fraction, base, exponent, form)


cached_quantity = lru_cache(maxsize=8192)(parse_quantity)
"""`parse_quantity` with a bounded memory: a fleet repeats few capacities many times."""


def _interpret_suffix(suffix: str) -> tuple[int, int, Format]:
    """base (2 or 10), exponent and format of a suffix."""
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return 2, _BINARY[suffix], Format.BINARY_SI
    if re.fullmatch(r"[eE][+-]?[0-9]+", suffix) and len(suffix) < 22 and _INT64_MIN <= int(suffix[1:]) <= _INT64_MAX:
        exponent = int(suffix[1:]) & 0xFFFFFFFF  # kept in 32 bits, wrapping around
        return 10, exponent - (exponent >> 31 << 32), Format.DECIMAL_EXPONENT
    raise ValueError("unable to parse quantity's suffix")


def _parse_fast(text: str, sign: str, digits: str, fraction: str, base: int, exponent: int, form: Format) -> Quantity | None:
    """The 64-bit form, where it surely fits; None where the decimal form has to be taken."""
    scale, mantissa = exponent, 1
    if base == 2:
        if fraction:
            return None
        scale, mantissa = 0, 1 << exponent
        precision = 15 - len(digits) - int(exponent * 3 / 10) - 1
    else:
        precision = _FAST_DIGITS - len(digits)
    scale -= len(fraction)
    if precision < 0 or scale < _NANO:
        return None
    value = int(digits)
    result = value * mantissa * (-1 if sign == "-" else 1)
    if base == 2:
        canonical = exponent % 10 == 0 and value & 7 != 0
    else:
        canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(result, scale, form, text=text if canonical else "")


def _parse_big(sign: str, whole: str, fraction: str, base: int, exponent: int, form: Format) -> Quantity:
    """The decimal form: rounded up to nano, and for binary suffixes capped at the largest int64."""
    if not whole and not fraction:
        raise ValueError("unable to parse numeric part of quantity")
    unscaled, scale = int(whole + fraction), -len(fraction)
    if base == 2:
        unscaled <<= exponent
    else:
        scale += exponent
    unscaled, scale = _in_nanos(unscaled, scale)
    if form is Format.BINARY_SI:
        probe = Quantity(unscaled, scale)
        if probe.compare(Quantity(_INT64_MAX)) > 0:
            unscaled, scale = _INT64_MAX, 0
        elif unscaled > 0 and probe.compare(Quantity(1)) < 0:
            form = Format.DECIMAL_SI
    return Quantity(-unscaled if sign == "-" else unscaled, scale, form, is_big=True)


def _in_nanos(unscaled: int, scale: int) -> tuple[int, int]:
    """The decimal form is always held in billionths: `as_float` shows it."""
    if scale <= _NANO or unscaled == 0:
        return _round_up(unscaled, scale, _NANO)
    if scale - _NANO > _MAX_SHIFT or unscaled.bit_length() > _MAX_BITS - 4 * (scale - _NANO):
        raise ValueError("quantity too large")
    return unscaled * 10 ** (scale - _NANO), _NANO


def _round_up(unscaled: int, scale: int, least: int) -> tuple[int, int]:
    """(unscaled, scale) with a scale of at least `least`, away from zero where digits are lost."""
    if scale >= least or unscaled == 0:
        return unscaled, max(scale, least)
    if least - scale > len(str(abs(unscaled))):
        return (1 if unscaled > 0 else -1), least
    quotient, remainder = divmod(abs(unscaled), 10 ** (least - scale))
    rounded = quotient + (remainder != 0)
    return (rounded if unscaled > 0 else -rounded), least


def _compare(a: Quantity, b: Quantity) -> int:
    """Compare across scales without ever writing out a huge power of ten."""
    if a.sign != b.sign or a.sign == 0:
        return (a.sign > b.sign) - (a.sign < b.sign)
    length_a, length_b = len(str(abs(a.unscaled))) + a.scale, len(str(abs(b.unscaled))) + b.scale
    if length_a != length_b:
        return a.sign if length_a > length_b else -a.sign
    low = min(a.scale, b.scale)
    left: int = a.unscaled * 10 ** (a.scale - low)
    right: int = b.unscaled * 10 ** (b.scale - low)
    return (left > right) - (left < right)


def _sum(a: Quantity, b: Quantity) -> Quantity:
    """a + b. A zero takes over the other's format; what overflows 64 bits moves to the decimal form."""
    form = b.format if a.unscaled == 0 else a.format
    if not a.is_big and not b.is_big:
        if b.unscaled == 0:
            return Quantity(a.unscaled, a.scale, form)
        if a.unscaled == 0:
            return Quantity(b.unscaled, b.scale, form)
        fast = _sum_int64(a, b)
        if fast is not None:
            return Quantity(fast, min(a.scale, b.scale), form)
    if a.scale != b.scale and abs(a.scale - b.scale) > _MAX_SHIFT:
        raise ValueError("quantities too far apart to be added")
    low = min(a.scale, b.scale)
    total = a.unscaled * 10 ** (a.scale - low) + b.unscaled * 10 ** (b.scale - low)
    if total.bit_length() > _MAX_BITS:
        raise ValueError("quantity too large")
    return Quantity(total, low, form, is_big=True)


def _sum_int64(a: Quantity, b: Quantity) -> int | None:
    low = min(a.scale, b.scale)
    left, right = _scaled_int64(a.unscaled, a.scale - low), _scaled_int64(b.unscaled, b.scale - low)
    if left is None or right is None or not _INT64_MIN <= left + right <= _INT64_MAX:
        return None
    return left + right


def _scaled_int64(value: int, scale: int) -> int | None:
    """value * 10**scale, or None when it does not fit in 64 bits."""
    if scale > 19:
        return 0 if value == 0 else None
    scaled: int = value * 10**scale
    return scaled if _INT64_MIN <= scaled <= _INT64_MAX else None


def _power_of_ten(exponent: int) -> float:
    if exponent > 308:
        return float("inf")
    return float(f"1e{exponent}") if exponent >= -323 else 0.0


def _without_tens(unscaled: int, scale: int) -> tuple[int, int]:
    """The same value with all factors of ten in the scale."""
    if unscaled == 0:
        return 0, 0
    digits = str(abs(unscaled))
    tens = len(digits) - len(digits.rstrip("0"))
    return unscaled // 10**tens if unscaled > 0 else -(-unscaled // 10**tens), scale + tens


def _canonical(quantity: Quantity) -> str:
    """The canonical spelling: no fraction, the largest suffix that needs none."""
    if quantity.unscaled == 0:
        return "0"
    form = quantity.format
    if form is Format.BINARY_SI:
        small = quantity.compare(Quantity(-1024)) > 0 and quantity.compare(Quantity(1024)) < 0
        rounded = _round_up(quantity.unscaled, quantity.scale, 0)
        if not small and Quantity(*rounded).compare(quantity) == 0:
            return _canonical_binary(*rounded)
        form = Format.DECIMAL_SI
    unscaled, exponent = _without_tens(quantity.unscaled, quantity.scale)
    spare = exponent % 3
    number, exponent = unscaled * 10**spare, exponent - spare
    if form is Format.DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL_SUFFIX.get(exponent, '')}"  # no suffix beyond E: the digits stand alone


def _canonical_binary(unscaled: int, scale: int) -> str:
    if scale > _MAX_SHIFT:
        raise ValueError("quantity too large to be printed")
    number, exponent = unscaled * 10**scale, 0
    while number and number % 1024 == 0:
        number, exponent = number // 1024, exponent + 10
    return f"{number}{_BINARY_SUFFIX.get(exponent, '')}"
