"""URLs: which texts are URLs, and their parts. The rules are those of Go's net/url for request URIs.

Python's own parser is not used: it accepts, and splits, other texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Any

from webhook.cel.equality import register_strict
from webhook.cel.library.format import go_quoted
from webhook.cel.library.table import Function, Overload, held_by
from webhook.cel.types import BOOL, STRING, URL, list_of, map_of
from webhook.cel.values import EvaluationError, register_type

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_HOST = frozenset(_UNRESERVED + "!$&'()*+,;=:[]<>\"")
_PATH = frozenset(_UNRESERVED + "$&+,/:;=@")
_VALID_PATH = _PATH | frozenset("!'()*[]%")
_USERINFO = frozenset(_UNRESERVED + ":!$&'()*+,;=%@")
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_PORT = re.compile(r"(?::[0-9]*)?")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_ASCII_ESCAPE = re.compile(r"%(?!25)[0-7][0-9a-fA-F]")


@dataclass(frozen=True, slots=True, eq=False)
class UrlValue:
    """A URL in parts. `path` is as written; `host` is unescaped and includes the port."""

    scheme: str = ""
    opaque: str = ""
    userinfo: str | None = None
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""
    has_empty_query: bool = False

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            if self.userinfo is not None or self.host:
                text += "//" + (f"{self.userinfo}@" if self.userinfo is not None else "") + _escape(self.host, _HOST)
            text += _escaped_path(self)
        text += f"?{self.query}" if self.query or self.has_empty_query else ""
        return text + (f"#{self.fragment}" if self.fragment else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlValue) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


register_type(UrlValue, URL.name)
register_strict(UrlValue)
held_by(URL, UrlValue)


class _NoUrlError(Exception):
    """The text is no URL; says why."""


def parse_request_uri(text: str) -> UrlValue:
    """The parts of an absolute URL or path, a fragment counting as part of it. ValueError when it is neither."""
    try:
        return _parse(text, via_request=True)
    except _NoUrlError as error:
        raise ValueError(f"parse {go_quoted(text)}: {error}") from None


def _parse(text: str, *, via_request: bool) -> UrlValue:
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in text):
        raise _NoUrlError("net/url: invalid control character in URL")
    if not text and via_request:
        raise _NoUrlError("empty url")
    if text == "*":
        return UrlValue(path="*")
    if text.startswith(":"):
        raise _NoUrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme, rest = (match[1].lower(), text[match.end() :]) if match else ("", text)
    empty_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return UrlValue(scheme=scheme, opaque=rest, query=query, has_empty_query=empty_query)
        _check_relative(rest, via_request=via_request)
    userinfo, host = None, ""
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, tail = rest[2:].partition("/")
        rest = slash + tail
        userinfo, host = _authority(scheme, authority)
    _check_escapes(rest)
    return UrlValue(scheme, "", userinfo, host, rest, query, "", empty_query)


def _check_relative(rest: str, *, via_request: bool) -> None:
    if via_request:
        raise _NoUrlError("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise _NoUrlError("first path segment in URL cannot contain colon")


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad is not None:
        raise _NoUrlError(f'invalid URL escape "{text[bad.start() : bad.start() + 3]}"')


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    userinfo, at, host = authority.rpartition("@")
    parsed = _host(scheme, host)
    if not at:
        return None, parsed
    if not _USERINFO.issuperset(userinfo):
        raise _NoUrlError("net/url: invalid userinfo")
    _check_escapes(userinfo)
    return userinfo, parsed


def _host(scheme: str, host: str) -> str:
    opening = host.rfind("[")
    if opening > 0:
        raise _NoUrlError("invalid IP-literal")
    if opening == 0:
        return _bracketed(host)
    if ":" in host:
        first, last = host.index(":"), host.rindex(":")
        port = host[first if first == last or scheme in ("http", "https") else last :]
        _check_port(port)
    return _unescaped_host(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise _NoUrlError(f'invalid port "{port}" after host')


def _bracketed(host: str) -> str:
    address, closing, port = host[1:].rpartition("]")
    if not closing:
        raise _NoUrlError("missing ']' in host")
    _check_port(port)
    plain, zone, zone_name = address.partition("%25")
    unescaped = _unescaped_host(plain) + (unescape(zone + zone_name) if zone else "")
    try:
        IPv6Address(unescaped)
    except AddressValueError:
        raise _NoUrlError("invalid host") from None
    return f"[{unescaped}]{port}"


def _unescaped_host(host: str) -> str:
    _check_escapes(host)
    ascii_escape = _ASCII_ESCAPE.search(host)
    if ascii_escape is not None:
        raise _NoUrlError(f'invalid URL escape "{ascii_escape[0]}"')
    for character in host:
        if ord(character) < 0x80 and character != "%" and character not in _HOST:
            raise _NoUrlError(f'invalid character "{character}" in host name')
    return unescape(host)


def unescape(text: str, *, plus: bool = False) -> str:
    """The text with percent escapes decoded (and + as a space, in queries)."""
    if plus:
        text = text.replace("+", " ")
    raw = text.encode("utf-8", "surrogatepass")
    decoded = re.sub(rb"%([0-9a-fA-F]{2})", lambda match: bytes([int(match[1], 16)]), raw)
    return decoded.decode("utf-8", "surrogateescape")


def _escape(text: str, allowed: frozenset[str]) -> str:
    return "".join(
        character if character in allowed else "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))
        for character in text
    )


def _url(text: str) -> UrlValue:
    try:
        parse_request_uri(text)
        plain, _, fragment = text.partition("#")
        parsed = _parse(plain, via_request=False)
        _check_escapes(fragment)
    except (ValueError, _NoUrlError) as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None
    return UrlValue(
        parsed.scheme,
        parsed.opaque,
        parsed.userinfo,
        parsed.host,
        parsed.path,
        parsed.query,
        fragment,
        parsed.has_empty_query,
    )


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except ValueError:
        return False
    return True


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or not _PORT.fullmatch(colon + port):
        name, port = host, ""
    return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port


def _escaped_path(url: UrlValue) -> str:
    if url.path and all(character in _VALID_PATH for character in url.path):
        return url.path
    return "*" if url.path == "*" else _escape(unescape(url.path), _PATH)


def _query(url: UrlValue) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        key, _, value = pair.partition("=")
        result.setdefault(unescape(key, plus=True), []).append(unescape(value, plus=True))
    return result


def _getter(name: str, id_: str, call: Callable[[Any], Any], result: Any = STRING) -> Function:
    return Function(name, (Overload(id_, (URL,), result, call, member=True),))


FUNCTIONS: tuple[Function, ...] = (
    Function("url", (Overload("string_to_url", (STRING,), URL, _url),)),
    Function("isURL", (Overload("is_url_string", (STRING,), BOOL, _is_url),)),
    _getter("getScheme", "url_get_scheme", lambda url: url.scheme),
    _getter("getHost", "url_get_host", lambda url: url.host),
    _getter("getHostname", "url_get_hostname", lambda url: _split_port(url.host)[0]),
    _getter("getPort", "url_get_port", lambda url: _split_port(url.host)[1]),
    _getter("getEscapedPath", "url_get_escaped_path", _escaped_path),
    _getter("getQuery", "url_get_query", _query, map_of(list_of(STRING))),
)
