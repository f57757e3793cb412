"""Requests to the Kubernetes API as bytes: configuration, credentials and connections are those of the official client.

Its typed calls are not used: they cost a millisecond an object and ten times the memory, and drop fields that they do not know.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urlencode

import msgspec
import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject

from webhook.errors import ApiError, ClusterError
from webhook.model.tolerant import integer, mapping, text

Query: TypeAlias = Mapping[str, str | int]

JSON: Final = "application/json"
#: Objects, and lists of them, of which nothing but the metadata is sent.
METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
#: Seconds until a connection is up, and until an answer begins or goes on.
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 60.0
_CHUNK: Final = 64 * 1024
#: How much of an error that is no Status object is shown.
_MOST_SHOWN: Final = 200
_UNAUTHORIZED: Final = 401
_A_DAY: Final = 86_400


class Stream:
    """The body of an answer that goes on for as long as its server likes."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response

    def lines(self) -> Iterator[bytes]:
        """Its lines as they come in. Raises ClusterError when the connection breaks or is silent for too long.

        What was cut off in the middle of a line is not given.
        """
        rest = b""
        with _speaking_plainly():
            for chunk in self._response.stream(_CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (line for line in whole if line)

    def close(self) -> None:
        """Wake up whoever waits for a line, from any thread: `lines` then ends or raises ClusterError."""
        with contextlib.suppress(Exception):
            self._response.shutdown()


class Client:
    """One API server, as one user. May be used by many threads at once.

    `load` reads the configuration anew: at the beginning, and whenever the server does not know the credentials any more.
    """

    def __init__(self, load: Callable[[], Configuration]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._session = _Session.of(load())

    @property
    def where(self) -> str:
        """The server's address."""
        return str(self._session.configuration.host)

    def get(
        self,
        path: str,
        query: Query | None = None,
        *,
        accept: str = JSON,
        seconds: float = ANSWER_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> dict[str, Any]:
        """The JSON object at `path`. Raises ApiError, ClusterError."""
        return self.send("GET", path, query=query, accept=accept, seconds=seconds, connect_seconds=connect_seconds)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Query | None = None,
        accept: str = JSON,
        seconds: float = ANSWER_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> dict[str, Any]:
        """The JSON object that answers a request. Raises ApiError, ClusterError."""
        headers = {"Accept": accept, **({} if body is None else {"Content-Type": JSON})}
        response = self._ask(method, path, query, headers, body, (connect_seconds, seconds))
        with _speaking_plainly():
            data = response.read()
            response.release_conn()
        try:
            decoded = msgspec.json.decode(data)
        except msgspec.DecodeError as fault:
            raise ClusterError(f"{method} {path}: the answer is not JSON: {fault}") from fault
        if not isinstance(decoded, dict):
            raise ClusterError(f"{method} {path}: the answer is no JSON object")
        return decoded

    @contextlib.contextmanager
    def stream(self, path: str, query: Query, *, accept: str = JSON, silence_seconds: float) -> Iterator[Stream]:
        """A long answer. Raises ApiError, ClusterError; later, in `Stream.lines`, when nothing comes for `silence_seconds`."""
        response = self._ask("GET", path, query, {"Accept": accept}, None, (CONNECT_SECONDS, silence_seconds))
        try:
            yield Stream(response)
        finally:
            # The rest of a long answer is never read: the connection cannot be used again.
            with contextlib.suppress(Exception):
                response.close()

    def _ask(
        self,
        method: str,
        path: str,
        query: Query | None,
        headers: Mapping[str, str],
        body: object,
        seconds: tuple[float, float],
    ) -> urllib3.BaseHTTPResponse:
        session = self._session
        response = session.ask(method, path, query, headers, body, seconds)
        if response.status == _UNAUTHORIZED:
            response.close()
            self._renew(session)
            response = self._session.ask(method, path, query, headers, body, seconds)
        if response.status >= 300:
            with _speaking_plainly():
                data = response.read()
            response.release_conn()
            message = _said(method, path, response.status, data)
            raise ApiError(message, status=response.status, retry_after=_retry_after(response.headers, data))
        return response

    def _renew(self, refused: _Session) -> None:
        """Read the configuration anew, unless somebody has just done so. Raises ClusterError."""
        with self._lock:
            if self._session is refused:
                self._session = _Session.of(self._load())


@dataclass(frozen=True, slots=True)
class _Session:
    """A configuration with its connections."""

    configuration: Configuration
    connections: RESTClientObject
    lock: threading.Lock

    @classmethod
    def of(cls, configuration: Configuration) -> _Session:
        # Who asks decides whether to ask again: lists and watches have a back-off of their own.
        configuration.retries = False
        # A watch keeps its connection for minutes, and there is one for each kind.
        configuration.connection_pool_maxsize = 64
        return cls(configuration, RESTClientObject(configuration), threading.Lock())

    def ask(
        self,
        method: str,
        path: str,
        query: Query | None,
        headers: Mapping[str, str],
        body: object,
        seconds: tuple[float, float],
    ) -> urllib3.BaseHTTPResponse:
        url = f"{self.configuration.host}{quote(path)}{'?' + urlencode(query) if query else ''}"
        with _speaking_plainly():
            answer = self.connections.request(  # type: ignore[no-untyped-call]
                method, url, headers={**headers, **self._credentials()}, body=body, _request_timeout=seconds
            )
        response: urllib3.BaseHTTPResponse = answer.response
        return response

    def _credentials(self) -> dict[str, str]:
        # Asking for the token may read a file or run a program: one thread at a time.
        with self.lock:
            try:
                token = self.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
            except Exception as fault:
                # A file that is gone or empty for a moment, a program that fails.
                raise ClusterError(f"no token: {_last_line(fault)}") from fault
        return {"Authorization": token.strip()} if token else {}


@contextlib.contextmanager
def _speaking_plainly() -> Iterator[None]:
    """What the client libraries raise, as ClusterError in a sentence without anything secret."""
    try:
        yield
    except ApiException as fault:
        raise ClusterError(f"no TLS connection: {fault.reason}") from fault
    except urllib3.exceptions.ReadTimeoutError as fault:
        raise ClusterError("no answer in time") from fault
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as fault:
        raise ClusterError(f"no connection: {_last_line(fault)}") from fault


def _last_line(fault: BaseException) -> str:
    words = str(fault).strip().splitlines()
    return f"{type(fault).__name__}: {words[-1]}" if words else type(fault).__name__


def _retry_after(headers: Mapping[str, str], data: bytes) -> float:
    """Seconds the server wants to be left alone for: by Retry-After (RFC 9110; API servers give no dates), or by its Status."""
    header = headers.get("Retry-After", "").strip()
    if header.isdecimal():
        return float(header)
    try:
        return asked_to_wait(mapping(msgspec.json.decode(data)))
    except msgspec.DecodeError:
        return 0.0


def asked_to_wait(status: Mapping[str, Any]) -> float:
    """`details.retryAfterSeconds` of a Status object, 0.0 without one."""
    return float(min(max(0, integer(mapping(status.get("details")).get("retryAfterSeconds"))), _A_DAY))


def _said(method: str, path: str, status: int, data: bytes) -> str:
    try:
        message = text(mapping(msgspec.json.decode(data)).get("message"))
    except msgspec.DecodeError:
        message = ""
    message = message or " ".join(data.decode(errors="replace").split())[:_MOST_SHOWN]
    return f"{method} {path}: {status}{': ' + message if message else ''}"
