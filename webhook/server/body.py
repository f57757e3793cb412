"""Reads the body of a call: method, content type and size first, then the bytes."""

from __future__ import annotations

from starlette.types import Receive, Scope

from webhook.server.answers import CLOSE, RETRY_SOON, Headers, Refused
from webhook.server.budget import Share

#: A body that is too large is read on up to so many times the limit, so that its sender gets to read the answer instead of a
#: reset connection. Beyond that the connection is closed under it.
_POLITE = 4
#: Room is taken for what has come and so much more: what a connection reads before it waits to be asked.
_CHUNK = 64 * 1024


class ClientLeft(Exception):
    """The connection ended before the call was complete: there is nobody to answer."""


async def read_body(scope: Scope, receive: Receive, limit: int, share: Share) -> bytes:
    """The whole body of a POST with JSON, of at most `limit` bytes, for which there has to be room in `share`.

    Raises Refused (405, 413, 415, 429) and ClientLeft.
    """
    if scope["method"] != "POST":
        message = f"{scope['path']} takes POST, not {scope['method']}"
        raise Refused(message, status=405, why="method", headers=((b"allow", b"POST"),))
    announced = _announced_length(scope)
    if announced > limit * _POLITE:
        raise _too_large(limit, (CLOSE,))
    whole = announced if 0 < announced <= limit else limit
    # Before anything of it is read: what would not fit now is not begun. But to announce it takes no room from others.
    if announced <= limit and not share.could_reach(announced):
        raise _too_many()
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        if size <= limit and not share.reach(min(size + _CHUNK, whole)):
            raise _too_many()
        event = await receive()
        if event["type"] != "http.request":
            raise ClientLeft
        part = event.get("body", b"")
        more = event.get("more_body", False)
        size += len(part)
        if size <= limit:
            if not share.reach(size):
                raise _too_many()
            parts.append(part)
        elif size > limit * _POLITE:
            raise _too_large(limit, (CLOSE,))
        else:
            parts.clear()
            share.give_back()
    if size > limit:
        raise _too_large(limit)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _announced_length(scope: Scope) -> int:
    """The length the headers announce, 0 when they do not; refuses what is not said to be plain JSON."""
    kind, encoding, length = b"", b"", 0
    for name, value in scope["headers"]:
        if name == b"content-type":
            kind = value
        elif name == b"content-length":
            length = int(value) if value.isdigit() else 0
        elif name == b"content-encoding":
            encoding = value
    if kind.partition(b";")[0].strip().lower() != b"application/json":
        said = f"it is {kind.decode('latin-1')!r}" if kind else "it is missing"
        raise Refused(f"the content type must be application/json, {said}", status=415, why="content-type")
    if encoding.strip().lower() not in (b"", b"identity"):
        said = encoding.decode("latin-1")
        raise Refused(f"the body must not be encoded, its content encoding is {said!r}", status=415, why="content-type")
    return length


def _too_large(limit: int, headers: Headers = ()) -> Refused:
    return Refused(f"the body is larger than {limit} bytes", status=413, why="body-size", headers=headers)


def _too_many() -> Refused:
    """The rest of the body is read and dropped by the connection, which is as good as before."""
    message = "too many large bodies are being answered; call again"
    return Refused(message, status=429, why="overloaded", headers=(RETRY_SOON,))
