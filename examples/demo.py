"""The main job, shown: a TLS server with a certificate it made, real AdmissionReviews of the examples, and what is answered.

`make demo`, or `python -m examples.demo [NAME ...]` for some of the folders. Exits 1 when an answer is not the one that the
example's expected.yaml names.
"""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.text import Text

from webhook.cli.console import STYLES, show
from webhook.cli.outputs.changes import changes
from webhook.model.json_patch import apply_patch
from webhook.model.meta import read_meta

HERE = Path(__file__).parent
_UID = "705ab4f5-0000-4000-8000-000000000000"
_SIGNS = {"+": "green", "-": "red", " ": "dim"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What both calls gave for one object."""

    word: str
    message: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    stored: Any


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its port, and the TLS context that trusts it."""

    port: int
    trust: ssl.SSLContext

    def call(self, method: str, path: str, document: Any = None) -> tuple[int, Any]:
        """One request over TLS: status, and the JSON answered (None for text)."""
        connection = http.client.HTTPSConnection("localhost", self.port, context=self.trust, timeout=10)
        try:
            body = json.dumps(document) if document is not None else None
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text.startswith(b"{") else None
        finally:
            connection.close()

    def ask(self, body: Any, user: str) -> Answer:
        """The two calls that the API server makes, in its order."""
        first = self._review("/mutate", body, user)
        stored = body
        if "patch" in first:
            stored = apply_patch(body, json.loads(base64.b64decode(first["patch"])))
        last = self._review("/validate", stored, user) if first["allowed"] else first
        warnings = tuple(dict.fromkeys((*first.get("warnings", ()), *last.get("warnings", ()))))
        notes = tuple(dict.fromkeys(line for answer in (first, last) for line in noted(answer)))
        if not last["allowed"]:
            return Answer("deny", last["status"]["message"], warnings, notes, body)
        return Answer("mutate" if stored != body else "warn" if warnings else "allow", "", warnings, notes, stored)

    def _review(self, path: str, body: Any, user: str) -> dict[str, Any]:
        status, answer = self.call("POST", f"{path}?timeout=10s", review(body, user))
        if status != 200:
            raise SystemExit(f"{path} answered {status}: {answer}")
        response: dict[str, Any] = answer["response"]
        return response


def noted(response: dict[str, Any]) -> Iterator[str]:
    """What an answer leaves in the API server's audit log without saying it to the client."""
    for line in response.get("auditAnnotations", {}).get("findings", "").splitlines():
        if line.startswith("note "):
            yield line.removeprefix("note ")


def review(body: Any, user: str) -> dict[str, Any]:
    """An AdmissionReview for the creation of `body`."""
    group, _, version = body["apiVersion"].rpartition("/")
    meta, resource = read_meta(body), body["kind"].lower() + "s"
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": _UID,
            "kind": {"group": group, "version": version, "kind": body["kind"]},
            "resource": {"group": group, "version": version, "resource": resource},
            "name": meta.name,
            "namespace": meta.namespace,
            "operation": "CREATE",
            "userInfo": {"username": user, "groups": ["system:authenticated"]},
            "object": body,
            "oldObject": None,
            "dryRun": False,
        },
    }


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """`fallgate serve` with the policies and the fleet of an example, and a certificate it makes for itself."""
    with tempfile.TemporaryDirectory(prefix="fallgate-demo-") as made, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        certs, fleet = Path(made), Path(made) / "fleet"
        fleet.mkdir()
        for name in ("fleet.yaml", "objects.yaml"):  # a pod is created when its template is there
            shutil.copy(folder / name, fleet)
        command = [str(Path(sys.executable).with_name("fallgate")), "serve", "--listen", f"127.0.0.1:{port}"]
        command += ["--policies", str(folder / "policies.yaml"), "--fleet", str(fleet)]
        command += ["--certs", made, "--self-signed", "localhost,127.0.0.1"]
        command += ["--decision-log", str(certs / "decisions.jsonl"), "--drain-seconds", "0"]
        with (certs / "events.log").open("wb") as events, subprocess.Popen(command, stderr=events) as process:  # noqa: S603 - our own program
            try:
                yield _ready(port, certs, process)
            finally:
                process.terminate()
                process.wait(30)


def _ready(port: int, certs: Path, process: subprocess.Popen[bytes]) -> Server:
    for _ in range(200):
        if process.poll() is not None:
            raise SystemExit(f"the server ended by itself:\n{(certs / 'events.log').read_text()}")
        authority = certs / "ca.crt"
        if authority.exists():
            server = Server(port, ssl.create_default_context(cafile=str(authority)))
            try:
                if server.call("GET", "/readyz")[0] == 200:
                    return server
            except OSError:
                pass
        time.sleep(0.05)
    raise SystemExit(f"the server was not ready in time:\n{(certs / 'events.log').read_text()}")


def shown(body: Any, answer: Answer) -> Text:
    """One decision, as a person reads it."""
    text = Text(f"{answer.word:<6}", STYLES[answer.word])
    text.append(f" {body['kind']} {read_meta(body).display_name}\n", "bold")
    for line in answer.message.splitlines():
        text.append(f"    {line}\n")
    for line in answer.warnings:
        text.append("    warning: ", STYLES["warn"]).append(f"{line}\n")
    for line in answer.notes:
        text.append(f"    noted: {line}\n", "dim")
    for change in changes(body, answer.stored):
        text.append(f"    {change.title}\n", "cyan")
        for sign, line in change.lines:
            text.append(f"      {sign} {line}\n", _SIGNS[sign])
    return text


def play(folder: Path) -> bool:
    """Show one example. False when an answer is not the expected one."""
    title, _, story = (folder / "README.md").read_text().partition("\n")
    show(Text(f"\n{folder.name}: {title.removeprefix('# ')}", "bold underline"), Text(story.strip() + "\n", "dim"))
    expected = yaml.safe_load((folder / "expected.yaml").read_text())["answers"]
    objects = [item for item in yaml.safe_load_all((folder / "objects.yaml").read_text()) if item]
    good = True
    with running(folder) as server:
        for body, wanted in zip(objects, expected, strict=True):
            answer = server.ask(body, wanted.get("user", "jane"))
            show(shown(body, answer))
            if answer.word != wanted["decision"]:
                show(Text(f"    expected: {wanted['decision']}\n", "bold red"))
                good = False
    return good


def main(names: list[str]) -> int:
    """Play the examples. Gives the exit code."""
    folders = [path.parent for path in sorted(HERE.glob("*/expected.yaml")) if not names or path.parent.name in names]
    results = [play(folder) for folder in folders]
    show(Text(f"{sum(results)} of {len(results)} examples answered as expected", "bold green" if all(results) else "bold red"))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
