"""URLs: which texts are URLs, and their parts. The rules are those of Go's net/url for request URIs.

Python's own parser is not used: it accepts, and splits, other texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webhook.cel.equality import register_strict
from webhook.cel.library.format import go_quoted
from webhook.cel.library.ip_literal import why_no_ip_literal
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
#: What cannot stand in a host, or in the zone behind an address: broken escapes, escapes of what needs none, ASCII signs.
#: A zone may escape what it may have, and a space, but nothing beyond ASCII.
_NO_SIGN = "".join(re.escape(chr(code)) for code in range(0x80) if chr(code) not in _HOST | {"%"})
_BAD_IN_HOST = re.compile(rf"%(?![0-9a-fA-F]{{2}})|%(?!25)[0-7][0-9a-fA-F]|[{_NO_SIGN}]")
_ZONE_ESCAPES = "|".join(f"{ord(character):02x}" for character in sorted(_HOST | {" ", "%"}))
_BAD_IN_ZONE = re.compile(rf"%(?!{_ZONE_ESCAPES})|[{_NO_SIGN}]", re.IGNORECASE)


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
        raise _no_escape(text[bad.start() :])


def _no_escape(rest: str) -> _NoUrlError:
    """Three bytes are said, which may end in the middle of a character."""
    shown = rest.encode("utf-8", "surrogateescape")[:3].decode("utf-8", "surrogateescape")
    return _NoUrlError(f"invalid URL escape {go_quoted(shown)}")


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
        raise _NoUrlError(f"invalid port {go_quoted(port)} after host")


def _bracketed(host: str) -> str:
    address, closing, port = host[1:].rpartition("]")
    if not closing:
        raise _NoUrlError("missing ']' in host")
    _check_port(port)
    plain, zone, zone_name = address.partition("%25")
    unescaped = _unescaped_host(plain) + _unescaped_host(zone + zone_name, _BAD_IN_ZONE)
    wrong = why_no_ip_literal(unescaped)
    if wrong:
        raise _NoUrlError(wrong)
    return f"[{unescaped}]{port}"


def _unescaped_host(host: str, bad_in_it: re.Pattern[str] = _BAD_IN_HOST) -> str:
    bad = bad_in_it.search(host)
    if bad is None:
        return unescape(host)
    if bad[0].startswith("%"):
        raise _no_escape(host[bad.start() :])
    raise _NoUrlError(f"invalid character {go_quoted(bad[0])} in host name")


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
