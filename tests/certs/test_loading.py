"""A TLS context from memory: nothing of a key reaches a disk or stays behind."""

from __future__ import annotations

import os
import ssl
import stat
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from certs.issue import issue_authority, issue_leaf
from certs.loading import loaded_context, server_context
from certs.model import CertificateError, Pair
from tests.real_clock import real_now

NOW = real_now()
AUTHORITY = issue_authority("a", now=NOW, valid_for=timedelta(days=2))
PAIR = issue_leaf(AUTHORITY, ["localhost"], now=NOW, valid_for=timedelta(days=1))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nothing_is_left_open_or_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = open_files()
    context = loaded_context(PAIR)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert (open_files(), list(tmp_path.iterdir())) == (before, [])


def test_without_files_in_memory_there_is_one_for_us_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "memfd_create")
    seen: list[int] = []
    load = ssl.SSLContext.load_cert_chain

    class Watching(ssl.SSLContext):
        def load_cert_chain(self, certificate: str, key: str) -> None:
            seen.extend(stat.S_IMODE(path.stat().st_mode) for path in (Path(key), Path(key).parent))
            load(self, certificate, key)

    monkeypatch.setattr("certs.loading.server_context", lambda: Watching(ssl.PROTOCOL_TLS_SERVER))
    loaded_context(PAIR)
    assert seen == [0o600, 0o700]
    assert list(tmp_path.iterdir()) == []


def test_a_pair_that_openssl_does_not_take() -> None:
    with pytest.raises(CertificateError) as refused:
        loaded_context(Pair(certificate=AUTHORITY.certificate, key=PAIR.key))
    assert str(refused.value) == "OpenSSL does not take the pair (KEY_VALUES_MISMATCH)"


def test_clients_are_asked_for_a_certificate_only_where_they_are_verified() -> None:
    assert loaded_context(PAIR).verify_mode == ssl.CERT_NONE
    assert loaded_context(PAIR, AUTHORITY.certificate).verify_mode == ssl.CERT_OPTIONAL
    assert server_context().num_tickets == 0


def test_authorities_of_clients_that_cannot_be_read() -> None:
    with pytest.raises(CertificateError) as refused:
        loaded_context(PAIR, b"junk")
    assert str(refused.value) == "no authority can be read from the file of client authorities"
