"""Random and malformed AdmissionReviews against the real endpoints: no traceback, no 5xx, no fault of a rule.

`python -m tests.fuzz [N]` asks N times (default 100,000, or FUZZ_REVIEWS): real reviews of the problem cases and examples with
parts exchanged, removed and bent, bytes flipped, cut and repeated, and JSON that Hypothesis makes. It prints what it did and
the seed; the suite runs a small part of it.
"""

from __future__ import annotations

import asyncio
import copy
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.case_files import CASES, cases
from webhook.engine import EngineSettings, decide, respond, undecided
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.model.server_version import Server
from webhook.policyfile import parse_policies
from webhook.rulekit.policies import PolicySet
from webhook.server.admission import AdmissionEndpoint
from webhook.server.budget import Budget
from webhook.server.judge import Engine, Judge
from webhook.settings import HttpSettings
from webhook.telemetry import EventLog, LineLog, ListRecorder

NOW = datetime(2027, 1, 1, tzinfo=UTC)
EXAMPLES = Path(__file__).parent.parent / "examples"

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**63, 1e308, "", "x", "a/b", "\u0000", "é" * 50, [], {}, [None], [[]], {"": {}}, {"name": 5},
    "device.attributes[", "true", "*x a-*", "2x a100-40gb, ", "All", "ExactCount", "DELETE", "resource.k8s.io/v1beta1",
    "fallgate.dev/compatible-shapes", '{"policy": 1}', "9" * 400, ["gpu", "gpu/x", 7],
)  # fmt: skip


@dataclass(slots=True)
class Held:
    """A source that always has the same thing."""

    thing: Any

    def current(self) -> Any:
        """That thing."""
        return self.thing

    def conditions(self) -> Iterator[Any]:
        """Nothing to say."""
        return iter(())


@dataclass(slots=True)
class Target:
    """Both endpoints of one server, called without a socket, and what they gave."""

    recorder: ListRecorder = field(default_factory=ListRecorder)
    events: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    endpoints: dict[str, AdmissionEndpoint] = field(default_factory=dict)

    def ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        """The status and body answered to `body`."""
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(event: dict[str, Any]) -> None:
            sent.append(event)

        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"timeout=10s",
            "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())],
        }
        asyncio.run(self.endpoints[path](scope, receive, send))
        status = int(sent[0]["status"])
        self.statuses[status] += 1
        self.recorder.decisions.clear()
        return status, b"".join(event.get("body", b"") for event in sent[1:])


class _Sink:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def write(self, data: bytes) -> int:
        self.lines.append(data.decode(errors="replace"))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""


def build_target(fleet: Fleet, policies: PolicySet) -> Target:
    """The endpoints of a server with that fleet and those policies."""
    target = Target()
    events = EventLog(_Sink(target.events), lambda: NOW)
    engine = Engine(
        decide=partial(decide, settings=EngineSettings()),
        undecided=partial(undecided, settings=EngineSettings()),
        respond=respond,
        fleet=Held(fleet),
        policies=Held(policies),
        clock=lambda: NOW,
    )
    judge = Judge(engine, target.recorder, LineLog(None), events)
    budget = Budget(HttpSettings().max_bodies_bytes)
    for path, phase in (("/mutate", "mutate"), ("/validate", "validate")):
        target.endpoints[path] = AdmissionEndpoint(
            phase,
            judge,
            HttpSettings(),
            budget,
            target.recorder,
            events,
        )
    return target


def everything() -> tuple[Fleet, PolicySet]:
    """All manifests of the cases in one cluster, under all policies of the cases."""
    found: list[Any] = []
    for path in sorted((CASES / "manifests").glob("*/*.yaml")):
        for item in yaml.safe_load_all(path.read_text()):
            if item:
                item["metadata"].setdefault("namespace", "team-a")
                found.append(item)
    for case in cases():
        found += case.body.get("cluster", {}).get("objects", [])
    files = [(path.name, path.read_bytes()) for path in sorted((CASES / "policies").glob("*.yaml"))]
    files = [item for item in files if item[0] != "zeroMatch-note.yaml"]
    return build_fleet(found, server=Server()), parse_policies(files)


def seeds() -> list[dict[str, Any]]:
    """Reviews of the objects of all cases and examples."""
    bodies = [body for case in cases() for body in case.inputs]
    for path in sorted(EXAMPLES.glob("*/objects.yaml")):
        bodies += [item for item in yaml.safe_load_all(path.read_text()) if item]
    return [review_document(body) for body in bodies]


def review_document(body: dict[str, Any], operation: str = "CREATE") -> dict[str, Any]:
    """An AdmissionReview of `body` as the API server writes it."""
    group, _, version = str(body["apiVersion"]).rpartition("/")
    meta = body.get("metadata", {})
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-0000-4000-8000-000000000000",
            "kind": {"group": group, "version": version, "kind": body["kind"]},
            "resource": {"group": group, "version": version, "resource": body["kind"].lower() + "s"},
            "name": meta.get("name", ""),
            "namespace": meta.get("namespace", ""),
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": body,
            "oldObject": None,
            "dryRun": False,
        },
    }


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document but its root."""
    items: Any = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def bend(rng: random.Random, document: dict[str, Any], pool: list[dict[str, Any]]) -> dict[str, Any]:
    """The document with one to four of its parts exchanged, removed, doubled or taken from another."""
    bent = copy.deepcopy(document)
    request = bent["request"]
    if rng.random() < 0.3:
        request["operation"] = rng.choice(["UPDATE", "CREATE", "DELETE"])
        request["oldObject"] = copy.deepcopy(rng.choice(pool)["request"]["object"] if rng.random() < 0.3 else request["object"])
    for _ in range(rng.randint(1, 4)):
        spots = list(places(bent["request"]["object"] if rng.random() < 0.8 and bent["request"].get("object") else bent))
        if not spots:
            break
        _change(rng, bent, rng.choice(spots), pool)
        if not isinstance(bent.get("request"), dict):
            break
    return bent


def _change(rng: random.Random, bent: dict[str, Any], spot: tuple[Any, ...], pool: list[dict[str, Any]]) -> None:
    for root in (bent["request"].get("object"), bent):
        here = root
        try:
            for key in spot[:-1]:
                here = here[key]
            here[spot[-1]]
        except (KeyError, IndexError, TypeError):
            continue
        match rng.randrange(4):
            case 0:
                here[spot[-1]] = copy.deepcopy(rng.choice(ODD))
            case 1:
                del here[spot[-1]]
            case 2 if isinstance(here, list):
                here.append(copy.deepcopy(here[spot[-1]]))
            case 2:
                here[str(rng.choice(ODD))[:20]] = copy.deepcopy(here[spot[-1]])
            case _:
                other = rng.choice(pool)
                here[spot[-1]] = copy.deepcopy(_at(other, rng.choice(list(places(other)))))
        return


def _at(document: Any, spot: tuple[Any, ...]) -> Any:
    for key in spot:
        document = document[key]
    return document


def damage(rng: random.Random, body: bytes) -> bytes:
    """The bytes with some of them changed, cut off, taken out or repeated."""
    data = bytearray(body)
    for _ in range(rng.randint(1, 6)):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data[at] = rng.randrange(256)
            case 1:
                del data[at : at + rng.randint(1, 30)]
            case 2:
                data[at:at] = data[at : at + rng.randint(1, 60)] * rng.randint(1, 3)
            case 3:
                data[at:at] = rng.choice([b"{", b"[", b'"', b"\\u0000", b"null", b"-", b"1e999", b"\xff", b","])
            case _:
                del data[at:]
    return bytes(data)


def check(target: Target, path: str, body: bytes) -> None:
    """Ask once. Raises AssertionError when the answer is a fault of ours."""
    status, answer = target.ask(path, body)
    assert status < 500, (status, body)
    assert not target.recorder.failures, (target.recorder.failures, target.events[-1:], body)
    document = msgspec.json.decode(answer)
    assert isinstance(document, dict), answer
    assert b"Traceback" not in answer, answer


def run(count: int, seed: int) -> Counter[int]:
    """Ask `count` times, from `seed`. Gives how often which HTTP status was answered."""
    rng, pool = random.Random(seed), seeds()
    target = build_target(*everything())
    for i in range(count):
        path = "/mutate" if i % 2 else "/validate"
        body = msgspec.json.encode(bend(rng, rng.choice(pool), pool))
        check(target, path, damage(rng, body) if i % 3 == 0 else body)
    _hypothesis(target, pool, max(10, count // 50))
    return target.statuses


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


def _hypothesis(target: Target, pool: list[dict[str, Any]], count: int) -> None:
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(st.sampled_from(pool), st.sampled_from(["spec", "metadata", "status", None]), _JSON, st.booleans())
    def ask(document: dict[str, Any], where: str | None, value: Any, mutate: bool) -> None:
        body = copy.deepcopy(document)
        if where is None:
            body["request"]["object"] = value
        else:
            body["request"]["object"][where] = value
        check(target, "/mutate" if mutate else "/validate", msgspec.json.encode(body))

    ask()


def main() -> int:
    """Run as a command."""
    count = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("FUZZ_REVIEWS", "100000"))
    seed = int(os.environ.get("FUZZ_SEED", random.SystemRandom().randrange(2**32)))
    sys.stdout.write(f"{count:,} reviews, FUZZ_SEED={seed}\n")
    statuses = run(count, seed)
    counted = ", ".join(f"{number:,} x {status}" for status, number in sorted(statuses.items()))
    sys.stdout.write(f"no fault: {counted}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
