"""An API server, a client of it, and patience that ends."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

import pytest
from kubernetes.client.configuration import Configuration

from tests.kube.api_server import ApiServer, serving
from tests.real_clock import real_now
from webhook.kube.client import Client
from webhook.telemetry import EventLog


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An API server on the loopback that knows the token `good`."""
    with serving() as found:
        yield found


@pytest.fixture
def client(server: ApiServer) -> Client:
    """A client that is let in."""

    def load() -> Configuration:
        configuration = Configuration(host=server.url)
        configuration.api_key["BearerToken"] = "Bearer good"
        return configuration

    return Client(load)


@pytest.fixture
def log() -> io.BytesIO:
    """What the event log has written."""
    return io.BytesIO()


@pytest.fixture
def events(log: io.BytesIO) -> EventLog:
    """An event log into memory."""
    return EventLog(log, real_now, style="text")


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait until something holds; give up after ten seconds."""

    def wait(holds: Callable[[], object]) -> None:
        end = time.monotonic() + 10
        while not holds():
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.005)

    return wait
