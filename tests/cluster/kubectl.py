"""kubectl and helm as a person runs them: one command, what it printed, how it ended."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Raw = dict[str, Any]
Manifest = Raw | list[Raw] | str


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed and how it ended."""

    command: str
    out: str
    err: str
    code: int

    @property
    def text(self) -> str:
        """Both outputs, as they would stand in a terminal."""
        return self.out + self.err

    @property
    def warnings(self) -> list[str]:
        """The warnings of the API server."""
        return [line.removeprefix("Warning: ") for line in self.err.splitlines() if line.startswith("Warning: ")]

    def __str__(self) -> str:
        return f"$ {self.command}\n{self.out}{self.err}exit {self.code}"

    def fine(self) -> Said:
        """Itself. Raises AssertionError when the command failed."""
        assert self.code == 0, str(self)
        return self

    def refused(self) -> Said:
        """Itself. Raises AssertionError unless an admission webhook of ours said no."""
        assert self.code != 0, str(self)
        assert "admission webhook" in self.err, str(self)
        assert "denied the request" in self.err, str(self)
        return self


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that talks to the cluster with one person's kubeconfig."""

    program: Path
    kubeconfig: Path
    home: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, stdin: Manifest = "", seconds: float = 60.0) -> Said:
        """Run it. `stdin` may be an object or several."""
        given = {"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), **self.environ}
        command = [str(self.program), *arguments]
        run = subprocess.run(
            command,
            input=written(stdin),
            capture_output=True,
            text=True,
            env=given,
            timeout=seconds,
            check=False,
            cwd=self.home,
        )
        return Said(f"{self.program.name} {' '.join(arguments)}", run.stdout, run.stderr, run.returncode)


@dataclass(frozen=True, slots=True)
class Kubectl(Tool):
    """kubectl, with a few commands that tests use all the time."""

    def apply(self, manifest: Manifest, *options: str) -> Said:
        """`kubectl apply -f -`."""
        return self("apply", "-f", "-", *options, stdin=manifest)

    def create(self, manifest: Manifest, *options: str) -> Said:
        """`kubectl create -f -`."""
        return self("create", "-f", "-", *options, stdin=manifest)

    def get(self, *what: str) -> Raw:
        """`kubectl get ... -o json`. Raises AssertionError when it is not there."""
        found: Raw = json.loads(self("get", *what, "-o", "json").fine().out)
        return found

    def items(self, *what: str) -> list[Raw]:
        """The items of `kubectl get ... -o json`."""
        found: list[Raw] = self.get(*what)["items"]
        return found

    def raw(self, path: str) -> Said:
        """`kubectl get --raw`."""
        return self("get", "--raw", path)


def written(manifest: Manifest) -> str:
    """Objects as YAML documents; text as it is."""
    if isinstance(manifest, str):
        return manifest
    return yaml.safe_dump_all(manifest if isinstance(manifest, list) else [manifest], sort_keys=False)
