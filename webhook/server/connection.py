"""One connection: uvicorn's HTTP protocol, with the limits it lacks.

It depends on the inner workings of uvicorn's HttpToolsProtocol, which is why pyproject.toml pins uvicorn to one minor version.
What is added:
1. A client has a limited time to send a request; a connection that never sends one, or stops in the middle, is cut.
2. Above a number of calls in flight, admission calls are answered with 429 before anything of them is read.
3. While the server drains, every answer says `Connection: close`; a request that is half read then is still answered.
4. Broken HTTP gets a Status object and is counted, not logged line by line.
5. Where client certificates are expected, a client without the right one gets 403 for everything but probes.
6. Headers that do not end, in front of a body or behind it, are cut off, before they fill the memory of a process that has not
   even seen who sends them.
7. A request that is cut off takes nothing from those before it on the same connection: their answers go out first, and then
   nothing more, since an answer to it could be taken for one of theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, cast

from starlette.types import ASGIApp
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from webhook.server.admission import RECEIVED
from webhook.server.answers import CLOSE, error_answer
from webhook.server.clients import client_fault
from webhook.server.probes import PROBES
from webhook.telemetry import Refusal

#: Above so many bytes of a request's head: 431. Checked after each read, so that a little more may have come in.
MOST_HEADERS = 256 * 1024


@dataclass(slots=True, kw_only=True)
class Traffic:
    """What all connections of a server share. `draining` is the only thing that changes."""

    limited: frozenset[str]
    max_in_flight: int
    read_seconds: float
    overloaded: ASGIApp
    refused: Callable[[Refusal], None]
    client_names: frozenset[str] = frozenset()
    draining: bool = False


class Connection(HttpToolsProtocol):
    """One connection of the admission server."""

    def __init__(self, config: Config, server_state: ServerState, loop: asyncio.AbstractEventLoop, traffic: Traffic) -> None:
        super().__init__(config=config, server_state=server_state, app_state={}, _loop=loop)
        self.traffic = traffic
        #: Which part of a request the client is sending.
        self.reading: Literal["", "headers", "body"] = ""
        self.read_timer: asyncio.TimerHandle | None = None
        #: Bytes of headers that have come and have not ended yet.
        self.header_bytes = 0
        #: Whether the bytes that came last brought some of a body.
        self.body_came = False
        #: The request that is being answered; others may wait behind it.
        self.running: RequestResponseCycle | None = None
        #: Nothing that comes is looked at any more: the connection ends with the last answer that is owed.
        self.deaf = False
        #: Why this client may ask for probes only, "" when it may ask for everything.
        self.client_fault = ""

    @property
    def answering(self) -> RequestResponseCycle | None:
        """The newest request, as long as its answer is not complete."""
        cycle = cast(RequestResponseCycle | None, self.cycle)
        return None if cycle is None or cycle.response_complete else cycle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Start the clock for the first request."""
        super().connection_made(transport)
        if self.traffic.client_names:
            self.client_fault = client_fault(transport.get_extra_info("peercert"), self.traffic.client_names)
        self._start_read_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock."""
        self._stop_read_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, then see whether the client still owes us something."""
        if not self.deaf:
            self._take(data)

    def _take(self, data: bytes) -> None:
        self.body_came = False
        super().data_received(data)
        if self.deaf:
            return
        # What comes behind the last chunk of a body are headers, too.
        self.header_bytes = self.header_bytes + len(data) if self.reading and not self.body_came else 0
        if self.header_bytes > MOST_HEADERS and not self.transport.is_closing():
            self.traffic.refused("http")
            self._cut_off(431, f"the headers are larger than {MOST_HEADERS} bytes")
            return
        # Bytes between two requests that begin none have switched off the keep-alive timer: ours takes over.
        if self.reading or (self.answering is None and self.timeout_keep_alive_task is None):
            self._start_read_timer()
        else:
            self._stop_read_timer()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self.reading = "headers"

    def on_headers_complete(self) -> None:
        """The call starts here, although its turn and its body may come later."""
        self.reading = "body"
        self.scope["state"][RECEIVED] = perf_counter()
        super().on_headers_complete()
        if self.traffic.draining:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self.body_came = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self.reading = ""
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        path = cycle.scope["path"]
        instead: ASGIApp | None = None
        if self.client_fault and path not in PROBES:
            self.traffic.refused("client")
            instead = error_answer(403, self.client_fault)
        elif len(self.tasks) >= self.traffic.max_in_flight and path in self.traffic.limited:
            self.traffic.refused("overloaded")
            instead = self.traffic.overloaded
        self.running = cycle
        # starlette and uvicorn have different names for one thing
        super()._start_asgi_task(cycle, app if instead is None else cast(ASGI3Application, instead))

    def drain(self) -> None:
        """Say `Connection: close` in the answer that is being worked on, if it has not begun."""
        if self.answering is not None and not self.answering.response_started:
            self.answering.keep_alive = False

    def shutdown(self) -> None:
        """Close now, or after the answer to a request that is being read or worked on."""
        self.drain()
        if not self.reading and self.answering is None:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer broken HTTP and close."""
        self.traffic.refused("http")
        self._cut_off(400, msg)

    def _start_read_timer(self) -> None:
        if self.read_timer is None and not self.transport.is_closing():
            self.read_timer = self.loop.call_later(self.traffic.read_seconds, self._read_timeout)

    def _stop_read_timer(self) -> None:
        if self.read_timer is not None:
            self.read_timer.cancel()
            self.read_timer = None

    def _read_timeout(self) -> None:
        self.read_timer = None
        if self.transport.is_closing():
            return
        self.traffic.refused("read-timeout")
        if self.reading:
            self._cut_off(408, f"the request was not complete within {self.traffic.read_seconds:g} seconds")
        else:
            self.transport.close()

    def _cut_off(self, status: int, message: str) -> None:
        """Read no more. Answer what is being read, unless its answer has begun, or others before it must be answered first."""
        self.deaf = True
        self._stop_read_timer()
        cut = self.answering if self.reading == "body" else None
        if cut is not None and cut is not self.running:
            self.pipeline.popleft()
        owed = self.pipeline[0][0] if self.pipeline else self.running
        if owed is not None and owed is not cut and not owed.response_complete:
            owed.keep_alive = False
            return
        if cut is not None:
            # The endpoint waits for the rest of the body: it learns that there will be none, and answers nothing.
            cut.disconnected = True
            cut.message_event.set()
        if self.reading != "body" or (cut is not None and not cut.response_started):
            self.transport.write(error_answer(status, message, (CLOSE,)).raw())
        self.transport.close()


def connection_factory(config: Config, state: ServerState, traffic: Traffic) -> Callable[[], Connection]:
    """What makes a connection for the event loop's server."""
    loop = asyncio.get_running_loop()

    def make() -> Connection:
        return Connection(config, state, loop, traffic)

    return make
