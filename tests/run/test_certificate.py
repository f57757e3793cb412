"""The served certificate: issued when allowed, renewed in time, reported."""

from __future__ import annotations

import io
import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from certs.folder import issue_into
from certs.model import facts_of, read_certificates
from webhook.run.certificate import ServedCertificate
from webhook.server.ports import Condition
from webhook.settings import CertificateSettings
from webhook.telemetry import EventLog, ListRecorder

NOW = datetime(2027, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


class Around:
    """A certificate folder and a clock that can be set."""

    def __init__(self, folder: Path, *self_signed: str) -> None:
        self.folder = folder
        self.now = NOW
        self.recorder = ListRecorder()
        self.events = io.BytesIO()
        self.certificate = ServedCertificate(
            CertificateSettings(folder=folder, self_signed=self_signed),
            1.0,
            recorder=self.recorder,
            events=EventLog(self.events, lambda: NOW),
            clock=lambda: self.now,
        )

    def conditions(self) -> list[Condition]:
        return list(self.certificate.conditions())

    def event_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.events.getvalue().splitlines()]


def test_no_files(tmp_path: Path) -> None:
    around = Around(tmp_path)
    assert around.conditions() == [Condition(name="certificate", state="failed", detail="not loaded yet")]
    around.certificate.look()
    around.certificate.look()
    missing = f"{tmp_path}/tls.crt: No such file or directory"
    assert around.conditions() == [Condition(name="certificate", state="failed", detail=missing)]
    assert math.isnan(around.certificate.not_after())
    assert around.recorder.loads == [("certificate", False)]
    assert [(line["event"], line["why"]) for line in around.event_lines()] == [("certificate not loaded", missing)]


def test_files_of_somebody_else(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW, valid_for=DAY)
    around = Around(tmp_path)
    around.certificate.look()
    assert around.conditions() == [
        Condition(name="certificate", state="ok", detail="localhost, valid until 2027-01-02T00:00:00Z")
    ]
    assert around.certificate.not_after() == (NOW + DAY).timestamp()
    assert around.recorder.loads == [("certificate", True)]


def test_expired(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW, valid_for=DAY)
    around = Around(tmp_path)
    around.certificate.look()
    around.now = NOW + DAY
    assert around.conditions() == [
        Condition(name="certificate", state="failed", detail="localhost, expired on 2027-01-02T00:00:00Z")
    ]


def test_bad_newer_files(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW, valid_for=DAY)
    around = Around(tmp_path)
    around.certificate.look()
    (tmp_path / "tls.key").write_bytes(b"")
    around.certificate.look()
    assert around.conditions()[1] == Condition(
        name="certificate-newest",
        state="degraded",
        detail="the newest pair is not served: there is no private key: it is empty",
    )
    assert around.recorder.loads == [("certificate", True), ("certificate", False)]


def test_self_signed_is_issued_once_and_renewed_in_time(tmp_path: Path) -> None:
    around = Around(tmp_path, "localhost", "127.0.0.1")
    around.certificate.look()
    around.certificate.look()
    assert around.recorder.loads == [("certificate", True)]
    assert around.certificate.not_after() == (NOW + 90 * DAY).timestamp()
    authority = (tmp_path / "ca.crt").read_bytes()
    around.now = NOW + 60 * DAY
    around.certificate.look()
    assert around.certificate.not_after() == (NOW + 90 * DAY).timestamp()
    around.now += timedelta(seconds=1)
    around.certificate.look()
    assert around.certificate.not_after() == (around.now + 90 * DAY).timestamp()
    assert (tmp_path / "ca.crt").read_bytes() == authority


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    around = Around(tmp_path / "file" / "certs", "localhost")
    around.certificate.look()
    assert [line["event"] for line in around.event_lines()] == ["certificate not issued", "certificate not loaded"]
    assert around.conditions()[0].state == "failed"


def test_self_signed_is_for_what_the_api_server_calls_too(tmp_path: Path) -> None:
    events = io.BytesIO()
    certificate = ServedCertificate(
        CertificateSettings(folder=tmp_path, self_signed=("localhost",), service="fallgate", names=("localhost", "a.example")),
        1.0,
        recorder=ListRecorder(),
        events=EventLog(events, lambda: NOW),
        clock=lambda: NOW,
        namespace="ns",
    )
    certificate.look()
    certificate.look()
    assert facts_of(read_certificates((tmp_path / "tls.crt").read_bytes())[0]).names == (
        "localhost",
        "fallgate.ns.svc",
        "a.example",
    )
    assert [json.loads(line)["event"] for line in events.getvalue().splitlines()] == ["certificate loaded"]


def test_a_fault_of_ours_does_not_end_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    around = Around(tmp_path)
    around.certificate.look()

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("certs.reload.check_pair", broken)
    issue_into(tmp_path, ["localhost"], now=NOW)
    around.certificate.look()
    assert around.conditions()[0].state == "ok"
    assert around.event_lines()[-1]["event"] == "certificate not looked at"
    assert "ZeroDivisionError: a fault" in around.event_lines()[-1]["error"]
