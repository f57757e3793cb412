"""Kubernetes' own libraries as a judge: builds the Go program of this folder and streams questions to it.

The binary goes into the user's cache folder, named after the library's version and everything it was built from. A machine
without Go, or without the modules and a network, raises OracleMissing: then only the recorded answers judge.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import IO, Any

#: The version of k8s.io/dynamic-resource-allocation that judges (go.mod).
VERSION = "0.37.2"
#: The versions of it that judge what earlier minor releases of Kubernetes say of selectors (older/go-1.*.mod).
OLDER = {34: "0.34.13", 35: "0.35.10", 36: "0.36.6"}
SOURCES = Path(__file__).parent

Json = dict[str, Any]


class OracleMissing(Exception):
    """The oracle cannot be built here; the text says why."""


class OracleDied(Exception):
    """The oracle ended before it had answered everything; the text is what it said last."""


def built() -> Path:
    """The oracle's binary, when it is in the cache. Raises OracleMissing."""
    binary = _binary()
    if not binary.exists():
        _go()
        raise OracleMissing("the oracle is not built: make oracle")
    return binary


def build() -> Path:
    """The oracle's binary, built when it is not in the cache yet. Raises OracleMissing."""
    binary = _binary()
    if binary.exists():
        return binary
    go = _go()
    _compile(go, SOURCES, binary)
    return binary


def build_older(minor: int) -> Path:
    """The program that asks an earlier release about selectors. Raises OracleMissing."""
    binary = older_binary(minor)
    if not binary.exists():
        _compile(_go(), SOURCES / "older", binary, f"-modfile=go-1.{minor}.mod")
    return binary


def older_binary(minor: int) -> Path:
    """Where that program is, or would be."""
    modules = (SOURCES / "older" / f"go-1.{minor}.mod").read_bytes()
    digest = hashlib.sha256(modules + (SOURCES / "older" / "main.go").read_bytes()).hexdigest()[:16]
    return _cache() / f"older-{OLDER[minor]}-{digest}" / "oracle"


def _compile(go: str, sources: Path, binary: Path, *options: str) -> None:
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=binary.parent) as folder:
        made = Path(folder) / "oracle"
        environment = os.environ | {"CGO_ENABLED": "0"}
        command = [go, "build", "-p", "1", "-trimpath", "-buildvcs=false", *options, "-o", str(made), "."]
        built = subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)
        if built.returncode:
            said = built.stderr.strip()[-2000:]
            why = (
                "its modules cannot be fetched, is the module proxy reachable?"
                if _NO_MODULES.search(said)
                else "it does not build"
            )
            raise OracleMissing(f"{why}: {said}")
        made.replace(binary)


_NO_MODULES = re.compile(r"proxy|dial tcp|module lookup disabled|no such host|missing go\.sum|i/o timeout|connection refused")


def conformance_tests() -> Iterator[Json]:
    """The simple tests of cel-spec, read where the Go module cache has them. Raises OracleMissing."""
    folder = _module_folder("cel.dev/expr") / "tests" / "simple" / "testdata"
    if not folder.is_dir():
        raise OracleMissing("the module cache has no simple tests of cel-spec")
    command = [str(build()), "conformance", str(folder)]
    written = subprocess.run(command, capture_output=True, text=True, check=True)
    return (json.loads(line) for line in written.stdout.splitlines())


def _module_folder(module: str) -> Path:
    command = [_go(), "list", "-m", "-f", "{{.Dir}}", module]
    found = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, check=False)
    if found.returncode or not found.stdout.strip():
        raise OracleMissing(f"Go module {module} is not there: {found.stderr.strip()}")
    return Path(found.stdout.strip())


def _go() -> str:
    go = shutil.which("go") or shutil.which("go", path=_USUAL)
    if go is None:
        raise OracleMissing(f"go is neither on PATH nor in {_USUAL}")
    return go


_USUAL = "/usr/local/go/bin"


def _binary() -> Path:
    return _cache() / f"oracle-{VERSION}-{_fingerprint()}" / "oracle"


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "fallgate"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in (*sorted(SOURCES.glob("*.go")), SOURCES / "go.mod", SOURCES / "go.sum"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Oracle:
    """A running oracle, the newest or one from `build_older`. `with Oracle() as oracle: oracle.ask({...})`."""

    def __init__(self, binary: Path | None = None) -> None:
        program = str(binary or build())
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the oracle
        self._process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            errors="replace",
        )

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def ask(self, question: Mapping[str, Any]) -> Json:
        """The answer to one question."""
        to, came = self._pipes()
        _write(to, question)
        to.flush()
        return self._read(came)

    def stream(self, questions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Json]]:
        """Each question with its answer, in order. The oracle works while the caller looks at earlier answers."""
        to, came = self._pipes()
        asked: deque[Mapping[str, Any]] = deque()
        pending = iter(questions)
        ahead = 512  # questions on the way: more would only take memory
        for question in pending:
            asked.append(question)
            if len(asked) == ahead:
                break
        while asked:
            # The pipes are small: whoever only writes waits for ever for someone who only writes.
            batch = list(asked)
            asked.clear()
            writer = Thread(target=_write_all, args=(to, batch), daemon=True)
            writer.start()
            for question in batch:
                answer = self._read(came)
                following = next(pending, None)
                if following is not None:
                    asked.append(following)
                yield question, answer
            writer.join()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        to, came = self._process.stdin, self._process.stdout
        assert to is not None
        assert came is not None
        return to, came

    def _read(self, came: IO[str]) -> Json:
        line = came.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            raise OracleDied(self._errors.read()[-4000:] or f"exit status {self._process.returncode}")
        answer: Json = json.loads(line)
        if "bad" in answer:
            raise OracleDied(f"the oracle did not understand a question: {answer['bad']}")
        return answer


def _write(to: IO[str], question: Mapping[str, Any]) -> None:
    to.write(json.dumps(question, ensure_ascii=True, separators=(",", ":")) + "\n")


def _write_all(to: IO[str], questions: Iterable[Mapping[str, Any]]) -> None:
    for question in questions:
        _write(to, question)
    to.flush()


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build()}\n")
    except OracleMissing as missing:
        sys.exit(f"no oracle here: {missing}")
