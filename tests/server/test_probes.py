"""What kubelet and Prometheus get."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.serving import FixedSource, Parts, serving
from webhook.fleet.build import build_fleet
from webhook.rulekit.policies import PolicySet
from webhook.server.ports import Condition


def parts(*conditions: Condition) -> Parts:
    fleet = FixedSource(build_fleet([]), listed=(Condition(name="fleet", state="ok", detail="10 nodes"),))
    return Parts(policies=FixedSource(PolicySet(), listed=conditions), fleet=fleet)


GOOD = Condition(name="policies", state="ok", detail="8 policies")
BROKEN_NEWER = Condition(name="policies-newest", state="degraded", detail="not in force:\na.yaml:3:5: no such key")
NEVER = Condition(name="policies", state="failed", detail="not loaded yet")


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
async def test_alive_even_when_not_ready(certificates: Path, path: str) -> None:
    async with serving(certificates, parts(NEVER)) as served:
        answer = await served.client.get(path)
    assert (answer.status_code, answer.text) == (200, "ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_ready(certificates: Path) -> None:
    async with serving(certificates, parts(GOOD)) as served:
        short, long = await served.client.get("/readyz"), await served.client.get("/readyz?verbose")
        head = await served.client.head("/readyz")
    assert (short.status_code, short.text) == (200, "ok")
    assert (long.status_code, long.text) == (200, "[+]policies ok: 8 policies\n[+]fleet ok: 10 nodes\nreadyz check passed\n")
    assert (head.status_code, head.text) == (200, "")


async def test_broken_newer_policies_leave_it_ready_and_are_shown(certificates: Path) -> None:
    async with serving(certificates, parts(GOOD, BROKEN_NEWER)) as served:
        short, long = await served.client.get("/readyz"), await served.client.get("/readyz?verbose")
    assert (short.status_code, short.text) == (200, "ok")
    assert long.status_code == 200
    assert long.text.splitlines() == [
        "[+]policies ok: 8 policies",
        "[!]policies-newest degraded: not in force:",
        "    a.yaml:3:5: no such key",
        "[+]fleet ok: 10 nodes",
        "readyz check passed",
    ]


async def test_not_ready_says_why_without_being_asked(certificates: Path) -> None:
    async with serving(certificates, parts(NEVER)) as served:
        answer = await served.client.get("/readyz")
    assert answer.status_code == 503
    assert answer.text == "[-]policies failed: not loaded yet\n[+]fleet ok: 10 nodes\nreadyz check failed\n"


async def test_probes_take_get_only(certificates: Path) -> None:
    async with serving(certificates) as served:
        answer = await served.client.post("/readyz")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert answer.json()["message"] in ("/readyz takes GET, HEAD, not POST", "/readyz takes HEAD, GET, not POST")
    assert served.parts.recorder.refusals == ["method"]


@pytest.mark.parametrize(
    ("accept", "content_type", "end"),
    [
        ("*/*", "text/plain; version=", ""),
        ("application/openmetrics-text", "application/openmetrics-text; version=", "# EOF\n"),
    ],
)
async def test_metrics(certificates: Path, accept: str, content_type: str, end: str) -> None:
    async with serving(certificates) as served:
        answer = await served.client.get("/metrics", headers={"accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(content_type)
    assert 'fallgate_http_refusals_total{reason="json"} 0.0' in answer.text
    assert answer.text.endswith(end)
