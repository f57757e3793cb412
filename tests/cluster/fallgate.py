"""`fallgate serve` as a process of its own, and what it says of itself."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.cluster.processes import Process, free_port
from tests.cluster.waiting import eventually

COMMAND = str(Path(sys.executable).with_name("fallgate"))


class Fallgate:
    """A running server. `options` are those of `fallgate serve` but for where it listens and logs."""

    def __init__(self, name: str, port: int, folder: Path, options: Sequence[str], environ: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.port, self.folder = name, port, folder
        self.decision_log = folder / "decisions.jsonl"
        self._probed = free_port()
        command = [COMMAND, "serve", f"--listen=127.0.0.1:{port}", f"--metrics-listen=127.0.0.1:{self._probed}"]
        self.process = Process(
            name, [*command, f"--decision-log={self.decision_log}", *options], folder / "events.log", environ
        )

    def ask(self, path: str) -> tuple[int, str]:
        """Status and text of a GET; status 0 when nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._probed}{path}", timeout=3) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def is_ready(self) -> bool:
        """Whether it is."""
        return self.ask("/readyz")[0] == 200

    def conditions(self) -> str:
        """What /readyz?verbose lists."""
        return self.ask("/readyz?verbose")[1]

    def wait_until_ready(self, within: float = 30.0) -> None:
        """Raises TooLate with what /readyz lists when it is not ready in time."""

        def look() -> bool:
            self.process.check()
            status, text = self.ask("/readyz")
            assert status == 200, text
            return True

        eventually(f"{self.name} is ready", look, within=within)

    def decisions(self) -> Iterator[dict[str, Any]]:
        """The decision log."""
        if self.decision_log.exists():
            for line in self.decision_log.read_text().splitlines():
                yield json.loads(line)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        lines = [line for line in self.ask("/metrics")[1].splitlines() if line.split("{")[0].split(" ")[0] == name]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if all(label in line for label in wanted))
