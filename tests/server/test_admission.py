"""The two admission calls over TLS: every answer word by word."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import UID, FixedDecider, FixedSource, Parts, Served, review_body, serving
from webhook.model.finding import Decision, Finding, Judged
from webhook.rulekit.policies import PolicySet
from webhook.settings import HttpSettings


@pytest.fixture
async def served(certificates: Path) -> AsyncIterator[Served]:
    async with serving(certificates, Parts(http=HttpSettings(max_body_bytes=4096))) as up:
        yield up


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


async def test_allowed(served: Served) -> None:
    answer = await served.validate()
    assert answer.status_code == 200
    assert answer.http_version == "HTTP/1.1"
    assert answer.headers["content-type"] == "application/json"
    assert "server" not in answer.headers
    assert parsedate_to_datetime(answer.headers["date"])
    assert answer.json() == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": UID, "allowed": True},
    }
    assert [(review.kind, review.name, phase) for review, phase in served.parts.decider.asked] == [
        ("ResourceClaim", "one-gpu", "validate")
    ]
    [(phase, review, decision)] = served.parts.recorder.decisions
    assert (phase, review.uid, decision) == ("validate", UID, Decision(allowed=True))


async def test_patch(certificates: Path) -> None:
    decider = FixedDecider(Decision(allowed=True, patch=({"op": "remove", "path": "/spec"},)))
    async with serving(certificates, Parts(decider=decider)) as served:
        response = (await served.validate(path="/mutate")).json()["response"]
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == [{"op": "remove", "path": "/spec"}]
    assert [phase for _, phase in decider.asked] == ["mutate"]


async def test_denied(certificates: Path) -> None:
    decider = FixedDecider(Decision(allowed=False, code=403, message="no"))
    async with serving(certificates, Parts(decider=decider)) as served:
        answer = await served.validate()
    assert answer.status_code == 200
    assert answer.json()["response"] == {
        "uid": UID,
        "allowed": False,
        "status": {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"},
    }


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_wrong_method(served: Served, method: str) -> None:
    answer = await served.client.request(method, "/mutate")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.json() == status(405, "MethodNotAllowed", f"/mutate takes POST, not {method}")
    assert served.parts.recorder.refusals == ["method"]


async def test_unknown_path(served: Served) -> None:
    answer = await served.validate(path="/validat")
    assert answer.status_code == 404
    assert answer.json() == status(404, "NotFound", "nothing is served under /validat")
    assert served.parts.recorder.refusals == ["path"]


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"content-type": "text/yaml"}, "the content type must be application/json, it is 'text/yaml'"),
        ({"content-type": ""}, "the content type must be application/json, it is missing"),
        ({"content-encoding": "gzip"}, "the body must not be encoded, its content encoding is 'gzip'"),
    ],
)
async def test_wrong_content(served: Served, headers: dict[str, str], message: str) -> None:
    answer = await served.validate(headers=headers)
    assert answer.status_code == 415
    assert answer.json() == status(415, "UnsupportedMediaType", message)
    assert served.parts.recorder.refusals == ["content-type"]


async def test_content_type_may_have_parameters(served: Served) -> None:
    assert (await served.validate(headers={"content-type": "Application/JSON; charset=utf-8"})).status_code == 200


@pytest.mark.parametrize("size", [4097, 16_384])
async def test_large_body_is_read_and_refused(served: Served, size: int) -> None:
    answer = await served.validate(b" " * size)
    assert answer.status_code == 413
    assert "connection" not in answer.headers
    assert answer.json() == status(413, "RequestEntityTooLarge", "the body is larger than 4096 bytes")
    assert served.parts.recorder.refusals == ["body-size"]


async def test_largest_body(served: Served) -> None:
    body = json.dumps(review_body()).encode()
    assert (await served.validate(body + b" " * (4096 - len(body)))).status_code == 200


async def test_huge_body_is_not_read(served: Served) -> None:
    answer = await served.validate(b" " * 16_385)
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"


async def test_huge_body_of_unknown_length_is_not_read_to_its_end(served: Served) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(17):
            yield b" " * 1024

    answer = await served.client.post("/validate", content=parts(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"


async def test_body_in_pieces(served: Served) -> None:
    async def parts() -> AsyncIterator[bytes]:
        body = json.dumps(review_body()).encode()
        for at in range(0, len(body), 100):
            yield body[at : at + 100]
            await asyncio.sleep(0)

    answer = await served.client.post("/validate", content=parts(), headers={"content-type": "application/json"})
    assert answer.json()["response"]["allowed"] is True


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON: Input data was truncated"),
        (b'{"request": ', "the body is not JSON: Input data was truncated"),
        (b"{'a': 1}", "the body is not JSON: JSON is malformed: object keys must be strings (byte 1)"),
        (b'"\xff"', "the body is not JSON: Invalid UTF-8 encoded string"),
        (b"[" * 4000, "the body is JSON nested too deeply"),
    ],
)
async def test_malformed_json(served: Served, body: bytes, message: str) -> None:
    answer = await served.validate(body)
    assert answer.status_code == 400
    assert answer.json() == status(400, "BadRequest", message)
    assert served.parts.recorder.refusals == ["json"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "the body must be a JSON object of kind AdmissionReview, not an array"),
        (
            {"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"},
            "the body must be admission.k8s.io/v1 AdmissionReview, it is 'admission.k8s.io/v1beta1' 'AdmissionReview'",
        ),
        (
            {**review_body(), "kind": "Pod"},
            "the body must be admission.k8s.io/v1 AdmissionReview, it is 'admission.k8s.io/v1' 'Pod'",
        ),
        ({**review_body(), "request": None}, "the AdmissionReview has no request object"),
        (review_body(uid=""), "request.uid is missing: the answer could not be matched to the request"),
        (review_body(kind={}), "request.kind.kind is missing"),
        (review_body(operation="PATCH"), "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT, it is 'PATCH'"),
    ],
)
async def test_no_review(served: Served, body: Any, message: str) -> None:
    answer = await served.validate(body)
    assert answer.status_code == 400
    assert answer.json() == status(400, "BadRequest", message)
    assert served.parts.recorder.refusals == ["review"]


async def test_connection_survives_refusals(served: Served) -> None:
    for body in (b"{", b" " * 5000, json.dumps(review_body()).encode()):
        await served.validate(body)
    await served.validate(headers={"content-type": "text/plain"})
    await served.client.get("/validate")
    assert len(served.parts.decider.asked) == 1
    assert served.listener.open_connections == 1


@pytest.mark.parametrize("query", ["timeout=10", "timeout=soon", "timeout="])
async def test_timeout_that_is_none(served: Served, query: str) -> None:
    answer = await served.validate(path=f"/validate?{query}")
    assert answer.status_code == 400
    assert answer.json() == status(400, "BadRequest", f"{query} is no duration; write it as 10s")
    assert served.parts.recorder.refusals == ["timeout-parameter"]


async def test_timeout_with_time_left(served: Served) -> None:
    assert (await served.validate(path="/validate?timeout=10s")).json()["response"] == {"uid": UID, "allowed": True}


LATE = "Fallgate got to this object after the time allowed by the caller had passed"


async def test_late_call_is_allowed_by_stance(served: Served) -> None:
    answer = await served.validate(path="/validate?timeout=0s")
    assert answer.json()["response"] == {"uid": UID, "allowed": True, "warnings": [LATE]}
    assert served.parts.decider.asked == []
    assert served.parts.recorder.failures == ["deadline"]


async def test_late_call_is_denied_by_stance(certificates: Path) -> None:
    async with serving(certificates, Parts(deny_when_at_fault=True)) as served:
        answer = await served.validate(path="/validate?timeout=0s")
    assert answer.json()["response"] == {
        "uid": UID,
        "allowed": False,
        "status": {"status": "Failure", "code": 500, "reason": "InternalError", "message": LATE},
    }


@pytest.mark.parametrize(
    ("parts", "missing"),
    [(Parts(fleet=FixedSource(None)), "fleet"), (Parts(policies=FixedSource(None)), "policies")],
)
async def test_not_ready(certificates: Path, parts: Parts, missing: str) -> None:
    async with serving(certificates, parts) as served:
        answer = await served.validate()
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert answer.json() == status(503, "ServiceUnavailable", f"not ready: no {missing} loaded yet")
    assert parts.recorder.refusals == ["not-ready"]


FAULT = "Fallgate could not judge this object because of a fault of its own; its log has the details"


@pytest.mark.parametrize("deny", [False, True])
async def test_decider_that_raises(certificates: Path, deny: bool) -> None:
    parts = Parts(decider=FixedDecider(error=RuntimeError("secret detail")), deny_when_at_fault=deny)
    async with serving(certificates, parts) as served:
        answer = await served.validate()
    assert answer.status_code == 200
    assert answer.json()["response"]["allowed"] is not deny
    assert FAULT in answer.text
    assert "secret detail" not in answer.text
    assert "Traceback" not in answer.text
    assert parts.recorder.failures == ["decision"]
    [event] = parts.event_lines()
    assert (event["level"], event["event"], event["uid"]) == ("error", "a decision failed", UID)
    assert event["error"].endswith("RuntimeError: secret detail\n")


class BrokenSource(FixedSource[PolicySet]):
    """A source with a fault of its own."""

    def current(self) -> PolicySet | None:
        raise RuntimeError("secret detail")


async def test_fault_around_the_decision(certificates: Path) -> None:
    parts = Parts(policies=BrokenSource(None))
    async with serving(certificates, parts) as served:
        answer = await served.validate()
        assert (await served.client.get("/livez")).status_code == 200
    assert answer.status_code == 500
    assert answer.json() == status(500, "InternalError", "Fallgate failed while it answered; its log has the details")
    assert parts.recorder.failures == ["server"]
    [event] = parts.event_lines()
    assert (event["event"], event["path"]) == ("a call failed", "/validate")
    assert event["error"].endswith("RuntimeError: secret detail\n")


async def test_rule_that_crashed(certificates: Path) -> None:
    parts = Parts(decider=FixedDecider(Decision(allowed=True, internal_error="tier-fallback: KeyError: 'x'")))
    async with serving(certificates, parts) as served:
        answer = await served.validate()
    assert answer.json()["response"] == {"uid": UID, "allowed": True}
    assert parts.recorder.failures == ["rule"]
    assert parts.event_lines() == [
        {
            "time": "2027-01-01T00:00:00Z",
            "level": "error",
            "event": "a rule failed",
            "uid": UID,
            "error": "tier-fallback: KeyError: 'x'",
        }
    ]


async def test_decision_log(certificates: Path) -> None:
    finding = Finding(
        rule="device-ownership", reason="double-booking", severity="deny", detail="both", path="spec", policy="p@1"
    )
    decision = Decision(
        allowed=True,
        findings=(Judged(finding=finding, mode="audit", effect="note"),),
        would_patch=({"op": "remove", "path": "/spec"},),
        audit_annotations={"findings": "x", "taken-off": "a forged annotation"},
    )
    parts = Parts(decider=FixedDecider(decision))
    async with serving(certificates, parts) as served:
        await served.validate(review_body(dryRun=True, name="", object={"metadata": {"generateName": "one-"}}))
    [line] = parts.decision_lines()
    assert line.pop("duration_us") > 0
    assert line == {
        "time": "2027-01-01T00:00:00Z",
        "uid": UID,
        "phase": "validate",
        "operation": "CREATE",
        "kind": "ResourceClaim",
        "namespace": "team-a",
        "name": "one-*",
        "user": "ada",
        "allowed": True,
        "policies": "3f2a91c0d4e1",
        "dry_run": True,
        "reasons": ["device-ownership/double-booking"],
        "mode": "audit",
        "findings": [
            {
                "rule": "device-ownership",
                "reason": "double-booking",
                "severity": "deny",
                "mode": "audit",
                "effect": "note",
                "path": "spec",
                "detail": "both",
                "policy": "p@1",
            }
        ],
        "because": ["taken-off: a forged annotation"],
        "would_patch": [{"op": "remove", "path": "/spec"}],
    }


async def test_policies_are_read_anew_for_every_call(served: Served) -> None:
    await served.validate()
    served.parts.policies.value = PolicySet(digest="000000000000")
    await served.validate()
    assert [line["policies"] for line in served.parts.decision_lines()] == ["3f2a91c0d4e1", "000000000000"]
