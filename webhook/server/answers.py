"""HTTP answers that are no AdmissionReview: a Kubernetes Status object, whose message kube-apiserver shows and logs."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

import msgspec
from starlette.types import Receive, Scope, Send

from webhook.errors import ReviewError
from webhook.telemetry import Refusal

JSON_TYPE = (b"content-type", b"application/json")
#: kube-apiserver repeats a call that was answered with 429 or 5xx when this header is there, within its deadline.
RETRY_SOON = (b"retry-after", b"1")
CLOSE = (b"connection", b"close")

Headers = tuple[tuple[bytes, bytes], ...]

#: metav1.StatusReason for the statuses that occur here; 431 has none of its own.
_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "Timeout",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


class Refused(ReviewError):
    """A call that gets an HTTP error for an answer. `why` is what it is counted as."""

    def __init__(self, message: str, *, status: int, why: Refusal, headers: Headers = ()) -> None:
        super().__init__(message, status=status)
        self.why: Refusal = why
        self.headers = headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole HTTP answer. As an ASGI application it gives itself, without reading the call."""

    status: int
    body: bytes
    headers: Headers

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})

    def raw(self) -> bytes:
        """The bytes of it, for a connection that speaks HTTP too badly to get an ASGI answer."""
        head = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()]
        head += [name + b": " + value for name, value in self.headers]
        return b"\r\n".join([*head, b"", self.body])


def json_answer(body: bytes) -> Answer:
    """200 with a JSON body."""
    return Answer(status=200, body=body, headers=(JSON_TYPE, _length(body)))


def text_answer(status: int, text: str) -> Answer:
    """Plain text for people and probes."""
    body = text.encode()
    return Answer(status=status, body=body, headers=((b"content-type", b"text/plain; charset=utf-8"), _length(body)))


def error_answer(status: int, message: str, headers: Headers = ()) -> Answer:
    """A Status object that says what was wrong."""
    body = msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "message": message,
            "reason": _REASONS.get(status, ""),
            "code": status,
        }
    )
    return Answer(status=status, body=body, headers=(JSON_TYPE, _length(body), *headers))


def refusal_answer(refused: Refused) -> Answer:
    """The answer to a refused call."""
    return error_answer(refused.status, str(refused), refused.headers)


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()
