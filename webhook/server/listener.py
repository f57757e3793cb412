"""The listening server: uvicorn's, started on our socket with our connections, drained and stopped by us."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn._types import ASGIApplication

from webhook.server.answers import RETRY_SOON, error_answer
from webhook.server.app import MUTATE, VALIDATE, Application
from webhook.server.connection import Connection, Traffic, connection_factory
from webhook.settings import HttpSettings
from webhook.telemetry import Recorder

#: How long a closing connection waits for the client's half of the TLS goodbye.
_GOODBYE_SECONDS = 2.0
_BACKLOG = 2048
_LOOK_SECONDS = 0.01


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError when the address is not ours or in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server(
        (host, port), family=family, backlog=2048, dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6()
    )


class Listener(uvicorn.Server):
    """uvicorn's server without its signal handling, which would end the process with the signal's own exit status."""

    def __init__(
        self,
        config: uvicorn.Config,
        listening: socket.socket,
        context: ssl.SSLContext | None,
        traffic: Traffic,
        handshake_seconds: float,
    ) -> None:
        super().__init__(config)
        self._listening = listening
        self._context = context
        self._traffic = traffic
        self._handshake_seconds = handshake_seconds
        self._stopping = asyncio.Event()

    @property
    def in_flight(self) -> int:
        """Calls that have begun and are not answered yet."""
        return len(self.server_state.tasks)

    @property
    def open_connections(self) -> int:
        """Connections that are up, idle ones included."""
        return len(self.server_state.connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen. uvicorn's own cannot set the time limits of TLS."""
        make = connection_factory(self.config, self.server_state, self._traffic)
        secure = self._context is not None
        server = await asyncio.get_running_loop().create_server(
            make,
            sock=self._listening,
            ssl=self._context,
            backlog=_BACKLOG,
            ssl_handshake_timeout=self._handshake_seconds if secure else None,
            ssl_shutdown_timeout=_GOODBYE_SECONDS if secure else None,
        )
        self.servers = [server]
        self.started = True

    async def serve_beside(self) -> None:
        """Serve until cancelled, without a drain: for what is asked to the very end."""
        try:
            await self.serve()
        finally:
            for server in self.servers:
                server.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to webhook.lifecycle."""
        yield

    async def main_loop(self) -> None:
        """Renew the Date header every second until `stop`."""
        while not self._stopping.is_set():
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 1.0)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the socket, let connections finish for as long as they may, then cut off the calls that are left."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()

    def drain(self) -> None:
        """From now on every answer carries `Connection: close`."""
        self._traffic.draining = True
        for connection in list(self.server_state.connections):
            cast(Connection, connection).drain()

    def stop(self) -> None:
        """Close the socket and idle connections, finish what is in flight; `serve` returns then."""
        self.should_exit = True
        self._stopping.set()


def build_listener(
    app: Application,
    listening: socket.socket,
    context: ssl.SSLContext,
    settings: HttpSettings,
    recorder: Recorder,
    *,
    stop_seconds: int,
) -> Listener:
    """A server for `app` on a bound socket."""
    message = f"more than {settings.max_in_flight} calls are being answered; call again"
    traffic = Traffic(
        limited=frozenset((MUTATE, VALIDATE)),
        max_in_flight=settings.max_in_flight,
        read_seconds=settings.read_seconds,
        overloaded=error_answer(429, message, (RETRY_SOON,)),
        refused=recorder.refused,
        client_names=frozenset(settings.client_names),
    )
    return Listener(uvicorn_config(app, settings, stop_seconds), listening, context, traffic, settings.read_seconds)


def build_plain_listener(app: ASGIApp, listening: socket.socket, settings: HttpSettings, recorder: Recorder) -> Listener:
    """A server without TLS, for probes and metrics."""
    traffic = Traffic(
        limited=frozenset(),
        max_in_flight=settings.max_in_flight,
        read_seconds=settings.read_seconds,
        overloaded=error_answer(429, "too many calls are being answered; call again", (RETRY_SOON,)),
        refused=recorder.refused,
    )
    return Listener(uvicorn_config(app, settings, stop_seconds=0), listening, None, traffic, settings.read_seconds)


def uvicorn_config(app: ASGIApp, settings: HttpSettings, stop_seconds: int) -> uvicorn.Config:
    """uvicorn without everything that costs time or that we do ourselves: access log, proxy headers, WebSockets, lifespan."""
    return uvicorn.Config(
        cast(ASGIApplication, app),
        loop="none",
        http=Connection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=stop_seconds,
    )
