"""Literals: from the text of a token to its value. The lexer has already let only well-formed tokens through."""

from __future__ import annotations

import re

_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "?": "?",
    "`": "`",
}
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\"'\\?`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))", re.DOTALL
)


def string_value(token: str) -> str:
    """The string that a token spells. ValueError when an escape names no character."""
    body, raw = _body(token)
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    return body if raw or "\\" not in body else _ESCAPE.sub(_character, body)


def bytes_value(token: str) -> bytes:
    """The bytes that a token (without its b) spells: \\x and octal escapes are bytes, all else is UTF-8."""
    body, raw = _body(token)
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    if raw:
        return body.encode()
    parts, position = [], 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[position : match.start()].encode())
        parts.append(_octets(match))
        position = match.end()
    return b"".join([*parts, body[position:].encode()])


def _body(token: str) -> tuple[str, bool]:
    """What stands between the quotes, and whether the token is raw."""
    raw = token[0] in "rR"
    if raw:
        token = token[1:]
    width = 3 if len(token) >= 6 and token[:3] in ('"""', "'''") else 1
    return token[width:-width], raw


def _character(match: re.Match[str]) -> str:
    simple, byte, short, long, octal = match.groups()
    if simple is not None:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal is not None else int(byte or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _octets(match: re.Match[str]) -> bytes:
    byte, octal = match[2], match[5]
    if byte is not None:
        return bytes([int(byte, 16)])
    if octal is not None:
        return bytes([int(octal, 8)])
    if match[3] is not None or match[4] is not None:
        raise ValueError("unable to unescape string")
    return _character(match).encode()
