"""What will happen to a Secret, told to people."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest

from certs.__main__ import main
from certs.contents import EMPTY, read_contents
from certs.outlook import outlook, secret_in
from tests.certs.cluster import NOW, PLACE, Candidate, installed

DAY = timedelta(days=1)


def settled() -> Candidate:
    candidate = Candidate(installed())
    candidate.round()
    return candidate


def test_what_comes_next() -> None:
    candidate = settled()
    contents = candidate.store.contents
    assert outlook(contents, NOW) == "nothing before 2027-03-02T00:00:00Z"
    assert outlook(contents, NOW + 61 * DAY) == "a new certificate now: the one in use ends on 2027-04-01T00:00:00Z"
    assert outlook(replace(contents, asked="ca"), NOW) == "a new authority now: it was asked for"
    assert outlook(EMPTY, NOW) == "a new authority now: there is none"
    candidate.store.ask("ca")
    candidate.round(3)
    assert outlook(candidate.store.contents, candidate.now) == (
        "a new certificate now: the one in use was not signed by the newest authority"
    )
    candidate.rounds(60)
    later = candidate.now + 59 * DAY
    assert outlook(candidate.store.contents, later).startswith("nothing before ")


def test_old_authorities() -> None:
    candidate = settled()
    candidate.store.ask("ca")
    candidate.rounds(66)
    candidate.now += 60 * DAY
    candidate.store.ask("leaf")
    candidate.rounds(6)
    assert outlook(candidate.store.contents, candidate.now + 31 * DAY) == "1 old authorities are dropped now"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"kind": "Pod"}', b"-----BEGIN CERTIFICATE-----"])
def test_what_is_no_secret(text: bytes) -> None:
    assert secret_in(text) is None


def test_a_secret_is_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    secret = settled().store.objects[PLACE.secret]
    assert read_contents(secret) == secret_in(json.dumps(secret).encode())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(secret).encode())))
    assert main(["show", "-"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "tls.crt: fallgate.fallgate-system.svc"
    assert "ca.crt: Fallgate webhook CA (certificate authority)" in shown
    assert shown[-1].startswith("next: ")
    assert not any("PRIVATE" in line for line in shown)
