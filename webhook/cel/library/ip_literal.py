"""IPv6 addresses as they stand in brackets in a URL: what is wrong with one, in the words of Go's net/netip."""

from __future__ import annotations

import re
from typing import Final

from webhook.cel.library.format import go_quoted

_FIRST_SIGN: Final = re.compile(r"[.:%]")
_FIELD: Final = re.compile(r"[0-9a-fA-F]*")
_FIELDS: Final = 8
_OCTETS: Final = 4


class _NoAddressError(Exception):
    """What is wrong, and the rest of the text from where it is ("" when that is not said)."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what)
        self.what, self.at = what, at


def why_no_ip_literal(text: str) -> str:
    """What is wrong with the address that stands unescaped in the brackets; "" when nothing is."""
    try:
        return _why(text)
    except _NoAddressError as error:
        place = f" (at {go_quoted(error.at)})" if error.at else ""
        return f"invalid host: ParseAddr({go_quoted(text)}): {error.what}{place}"


def _why(text: str) -> str:
    sign = _FIRST_SIGN.search(text)
    if sign is None:
        raise _NoAddressError("unable to parse IP")
    if sign[0] == "%":
        raise _NoAddressError("missing IPv6 address")
    if sign[0] == ".":
        _check_octets(text)
        return "invalid IP-literal"  # an IPv4 address needs no brackets
    address, percent, zone = text.partition("%")
    if percent and not zone:
        raise _NoAddressError("zone must be a non-empty string")
    _check_fields(address)
    return ""


def _check_octets(text: str) -> None:
    """`1.2.3.4`; the first mistake from the left counts."""
    value, digits, dots = 0, 0, 0
    for place, character in enumerate(text):
        if "0" <= character <= "9":
            if digits == 1 and not value:
                raise _NoAddressError("IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(character), digits + 1
            if value > 0xFF:
                raise _NoAddressError("IPv4 field has value >255")
        elif character != ".":
            raise _NoAddressError("unexpected character", text[place:])
        elif not digits or place == len(text) - 1:
            raise _NoAddressError("IPv4 field must have at least one digit", text[place:])
        elif dots == _OCTETS - 1:
            raise _NoAddressError("IPv4 address too long")
        else:
            value, digits, dots = 0, 0, dots + 1
    if dots < _OCTETS - 1:
        raise _NoAddressError("IPv4 address too short")


def _check_fields(address: str) -> None:
    """`1:2:3:4:5:6:7:8`, with one `::` for as many fields of zeros as are missing, or an IPv4 address for the last two."""
    shortened = address.startswith("::")
    rest, fields = address[2:] if shortened else address, 0
    while rest and fields < _FIELDS:
        after = _after_field(rest)
        if after.startswith("."):
            _check_embedded(rest, fields, shortened=shortened)
            rest, fields = "", fields + 2
            continue
        fields += 1
        rest = _after_colon(after)
        if rest.startswith(":"):
            if shortened:
                raise _NoAddressError("multiple :: in address", rest)
            shortened, rest = True, rest[1:]
    if rest:
        raise _NoAddressError("trailing garbage after address", rest)
    if fields < _FIELDS and not shortened:
        raise _NoAddressError("address string too short")
    if fields == _FIELDS and shortened:
        raise _NoAddressError("the :: must expand to at least one field of zeros")


def _after_field(rest: str) -> str:
    field = _FIELD.match(rest)
    length = field.end() if field is not None else 0
    if length > 4:
        raise _NoAddressError("each group must have 4 or less digits", rest)
    if not length:
        raise _NoAddressError("each colon-separated field must have at least one digit", rest)
    return rest[length:]


def _after_colon(after: str) -> str:
    if after and after[0] != ":":
        raise _NoAddressError("unexpected character, want colon", after)
    if after == ":":
        raise _NoAddressError("colon must be followed by more characters", after)
    return after[1:]


def _check_embedded(rest: str, fields: int, *, shortened: bool) -> None:
    if not shortened and fields != _FIELDS - 2:
        raise _NoAddressError("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if fields > _FIELDS - 2:
        raise _NoAddressError("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    _check_octets(rest)
