"""`?timeout=`: how long kube-apiserver waits for the answer, a Go duration such as `10s` or `1m30s`."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import parse_qsl

from webhook.server.answers import Refused

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)


@lru_cache(maxsize=64)  # an API server says the same few things for ever
def seconds_allowed(query: bytes, default: float) -> float:
    """The seconds that the query string of a call allows, `default` when it does not say.

    Raises Refused (400) when it says something that is no duration.
    """
    if b"timeout=" not in query:
        return default
    written = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)).get("timeout")
    if written is None:
        return default
    found = _DURATION.fullmatch(written)
    if not written or found is None:
        raise Refused(f"timeout={written} is no duration; write it as 10s", status=400, why="timeout-parameter")
    hours, minutes, seconds, thousandths = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000
