"""Admissions one after the other from several clients, and what became of each."""

from __future__ import annotations

import base64
import socket
import ssl
import threading
from collections.abc import Callable
from types import TracebackType

from tests.cluster.sites import Site
from tests.cluster.waiting import eventually


class Load:
    """Clients that call without a break while the context lasts. `call` gives "" or what went wrong."""

    def __init__(self, call: Callable[[], str], clients: int = 4) -> None:
        self._call, self._ending = call, threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]
        self._counts = [0] * clients
        self.faults: list[str] = []

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        self.some_more()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.some_more()
        self._ending.set()
        for thread in self._threads:
            thread.join(60)

    @property
    def count(self) -> int:
        """How many calls there were."""
        return sum(self._counts)

    def some_more(self, calls: int = 50) -> None:
        """Wait until so many further calls were made."""
        until = self.count + calls
        eventually(f"{calls} calls are made", lambda: self.count >= until, within=60)

    def _run(self) -> None:
        mine = self._threads.index(threading.current_thread())
        while not self._ending.is_set():
            try:
                fault = self._call()
            except Exception as error:  # noqa: BLE001  # whatever it is, it is a failed call
                fault = repr(error)
            if fault:
                self.faults.append(fault)
            self._counts[mine] += 1


def trusted(site: Site) -> str:
    """A new connection, trusting what the API server is told to trust at this moment: "" or what is wrong with it."""
    status, found = site.plane.rest(
        "admin", "GET", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/fallgate"
    )
    bundle = base64.b64decode(found["webhooks"][0]["clientConfig"].get("caBundle", "")).decode()
    if status != 200 or not bundle:
        return "caBundle is empty"
    context = ssl.create_default_context(cadata=bundle)
    try:
        with (
            socket.create_connection(("127.0.0.1", site.front.port), timeout=5) as line,
            context.wrap_socket(line, server_hostname="127.0.0.1"),
        ):
            return ""
    except OSError as error:
        return repr(error)
