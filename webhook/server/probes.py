"""`/livez`, `/healthz`, `/readyz`, `/metrics`: what kubelet and Prometheus ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from starlette.types import Receive, Scope, Send

from webhook.server.answers import Answer, text_answer
from webhook.server.ports import Condition, Conditions

#: What kubelet asks, which has no certificate to show.
PROBES = frozenset(("/livez", "/healthz", "/readyz"))

_MARKS = {"ok": "+", "degraded": "!", "failed": "-"}


class Alive:
    """Answers as long as the event loop turns; says nothing about readiness."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """200 ok."""
        await text_answer(200, "ok")(scope, receive, send)


class Ready:
    """200 when decisions can be made, else 503. With `?verbose`, and whenever it is not ready, every condition is listed."""

    def __init__(self, sources: Sequence[Conditions]) -> None:
        self._sources = sources

    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, in the order of their sources."""
        return tuple(condition for source in self._sources for condition in source())

    def __bool__(self) -> bool:
        """Whether the server is ready."""
        return all(condition.state != "failed" for condition in self.conditions())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The answer to one probe."""
        conditions = self.conditions()
        ready = all(condition.state != "failed" for condition in conditions)
        verbose = b"verbose" in scope["query_string"].split(b"&")
        text = "ok" if ready and not verbose else _listed(conditions, ready)
        await text_answer(200 if ready else 503, text)(scope, receive, send)


class Metrics:
    """Prometheus' text format, or OpenMetrics for who asks for it."""

    def __init__(self, exposition: Callable[[str], tuple[bytes, str]]) -> None:
        self._exposition = exposition

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """All metrics."""
        accept = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"accept"), "")
        body, content_type = self._exposition(accept)
        headers = ((b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode()))
        await Answer(status=200, body=body, headers=headers)(scope, receive, send)


def _listed(conditions: Iterable[Condition], ready: bool) -> str:
    lines = [_line(condition) for condition in conditions]
    return "\n".join([*lines, f"readyz check {'passed' if ready else 'failed'}", ""])


def _line(condition: Condition) -> str:
    detail = condition.detail.replace("\n", "\n    ")
    return f"[{_MARKS[condition.state]}]{condition.name} {condition.state}{': ' + detail if detail else ''}"
