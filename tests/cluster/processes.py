"""Processes of the control plane: each with its log, found dead early, and gone at the end whatever happened."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

#: Ports above those of services and below those that Linux gives to outgoing connections.
_PORTS = range(20_000, 32_000)

_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody uses."""
    for port in random.sample(_PORTS, 200):
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port on 127.0.0.1")


def _end_with_parent() -> None:
    """Called in the new process, on Linux: when whoever started it is killed, it is too, so that nothing is left running."""
    if _PRCTL is not None:
        _PRCTL(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Process:
    """A running program. Everything it says goes to `log`; what it gets is its command line, and `environ` on top of PATH."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None) -> None:
        self.name, self.log = name, log
        given = {"PATH": os.environ["PATH"], "HOME": str(log.parent), **(environ or {})}
        with log.open("ab") as into:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=into,
                stderr=subprocess.STDOUT,
                env=given,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def __enter__(self) -> Process:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def check(self) -> None:
        """Raises AssertionError, with the end of its log, when it is not running any more."""
        code = self._process.poll()
        if code is not None:
            raise RuntimeError(f"{self.name} ended by itself with {code}:\n{self.tail()}")

    def running(self) -> bool:
        """Whether it is."""
        return self._process.poll() is None

    def pause(self) -> None:
        """Let it hang."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> int:
        """Its exit status. Raises AssertionError when it does not end in time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {seconds:g} s") from None

    def kill(self) -> None:
        """End it now, and wait until it is gone."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def tail(self, lines: int = 40) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
