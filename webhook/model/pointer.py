"""JSON pointers (RFC 6901) and the field paths that Kubernetes prints for them."""

from __future__ import annotations

import re
from functools import lru_cache

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def escape(token: str) -> str:
    """One reference token, escaped for use in a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def join(pointer: str, *tokens: str | int) -> str:
    """`pointer` with `tokens` appended, each escaped."""
    for token in tokens:
        pointer = f"{pointer}/{token if isinstance(token, int) else escape(token)}"
    return pointer


@lru_cache(maxsize=4096)
def field_path(pointer: str) -> str:
    """`/spec/devices/requests/0/firstAvailable/1` as Kubernetes prints it: `spec.devices.requests[0].firstAvailable[1]`.

    A key that is not a plain name is printed in brackets: `metadata.annotations[fallgate.dev/fallback]`.
    """
    path = ""
    for raw in pointer.split("/")[1:]:
        token = raw.replace("~1", "/").replace("~0", "~")
        if token.isdigit() or not _PLAIN.match(token):
            path += f"[{token}]"
        else:
            path += f".{token}" if path else token
    return path
