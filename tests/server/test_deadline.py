"""The time kube-apiserver allows."""

from __future__ import annotations

import pytest

from webhook.server.answers import Refused
from webhook.server.deadline import seconds_allowed


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        (b"", 7.0),
        (b"dryRun=All", 7.0),
        (b"notimeout=1s", 7.0),
        (b"timeout=10s", 10.0),
        (b"timeout=1m30s", 90.0),
        (b"timeout=1h0m0s", 3600.0),
        (b"timeout=2m", 120.0),
        (b"timeout=1.5s", 1.5),
        (b"timeout=250ms", 0.25),
        (b"a=b&timeout=3s", 3.0),
        (b"timeout=%33s", 3.0),
        (b"timeout=1s&timeout=2s", 2.0),
    ],
)
def test_duration(query: bytes, seconds: float) -> None:
    assert seconds_allowed(query, 7.0) == seconds


@pytest.mark.parametrize("written", ["10", "s", "-1s", "1s2m", "10 s", "\u0661s", "1e3s", ""])
def test_no_duration(written: str) -> None:
    with pytest.raises(Refused) as refused:
        seconds_allowed(f"timeout={written}".encode(), 7.0)
    assert refused.value.status == 400
    assert refused.value.why == "timeout-parameter"
