"""Changing certificates: what is taken, what is refused, what stays."""

from __future__ import annotations

import os
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
import trustme

from certs.folder import issue_into
from certs.reload import Reloader, from_files
from tests.real_clock import real_now

NOW = real_now()


def reloader(folder: Path) -> Reloader:
    return Reloader(from_files(folder / "tls.crt", folder / "tls.key"))


def served(reloader: Reloader, trust: ssl.SSLContext, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> str:
    """The fingerprint's stand-in: the serial number a client sees."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if trust is None else trust
    client.minimum_version = client.maximum_version = version
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    theirs = reloader.context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for end in (ours, theirs):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return str((ours.getpeercert() or {})["serialNumber"])


def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "ca.crt"))


def test_first_pair(tmp_path: Path) -> None:
    facts = issue_into(tmp_path, ["localhost"], now=NOW)
    found = reloader(tmp_path)
    assert found.facts is None
    outcome = found.poll(NOW)
    assert (outcome.kind, outcome.facts, found.facts, found.refusal) == ("swapped", facts, facts, "")
    assert found.poll(NOW).kind == "unchanged"
    assert found.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert found.context.num_tickets == 0


def test_no_pair_yet(tmp_path: Path) -> None:
    found = reloader(tmp_path)
    outcome = found.poll(NOW)
    assert (outcome.kind, outcome.message) == ("refused", f"{tmp_path}/tls.crt: No such file or directory")
    assert found.poll(NOW).kind == "unchanged"
    issue_into(tmp_path, ["localhost"], now=NOW)
    with pytest.raises(ssl.SSLError):
        served(found, trusting(tmp_path))
    assert found.poll(NOW).kind == "swapped"
    assert served(found, trusting(tmp_path))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_new_pair(tmp_path: Path, version: ssl.TLSVersion) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    found = reloader(tmp_path)
    found.poll(NOW)
    context, before = found.context, served(found, trusting(tmp_path), version)
    issue_into(tmp_path, ["localhost"], now=NOW)
    assert served(found, trusting(tmp_path), version) == before
    assert found.poll(NOW).kind == "swapped"
    assert served(found, trusting(tmp_path), version) != before
    assert found.context is context


def damage(folder: Path, how: str) -> str:
    """Make the files bad; the refusal that is expected."""
    if how == "torn":
        key = (folder / "tls.key").read_bytes()
        issue_into(folder, ["localhost"], now=NOW)
        (folder / "tls.key").write_bytes(key)
        return (
            "the private key does not belong to the certificate: they are halves of two pairs, or the chain does not begin "
            "with the server's own certificate"
        )
    if how == "gone":
        (folder / "tls.key").unlink()
        return f"{folder}/tls.key: No such file or directory"
    if how == "expired":
        issue_into(folder, ["localhost"], now=NOW - timedelta(days=100), authority_valid_for=timedelta(days=3650))
        return f"the certificate has expired on {NOW - timedelta(days=10):%Y-%m-%dT%H:%M:%SZ}"
    (folder / "tls.key").write_bytes(b"half a ke")
    return "the private key is not PEM: it has no line -----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize("how", ["torn", "gone", "expired", "half"])
def test_bad_pair_changes_nothing(tmp_path: Path, how: str) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    found = reloader(tmp_path)
    found.poll(NOW)
    trust, facts = trusting(tmp_path), found.facts
    before = served(found, trust)
    expected = damage(tmp_path, how)
    outcome = found.poll(NOW)
    assert (outcome.kind, outcome.message, found.refusal) == ("refused", expected, expected)
    assert found.poll(NOW).kind == "unchanged"
    assert found.facts == facts
    assert served(found, trust) == before

    issue_into(tmp_path, ["localhost"], now=NOW)
    assert found.poll(NOW).kind == "swapped"
    assert found.refusal == ""


def test_refusal_ends_when_the_served_files_are_back(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    found = reloader(tmp_path)
    found.poll(NOW)
    key = (tmp_path / "tls.key").read_bytes()
    (tmp_path / "tls.key").write_bytes(b"")
    assert found.poll(NOW).kind == "refused"
    (tmp_path / "tls.key").write_bytes(key)
    assert (found.poll(NOW).kind, found.refusal) == ("unchanged", "")


def test_from_ecdsa_to_rsa_and_back(tmp_path: Path) -> None:
    authority = trustme.CA()
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(trust)
    found, kinds, seen = reloader(tmp_path), [], []
    for key_type in (trustme.KeyType.ECDSA, trustme.KeyType.RSA, trustme.KeyType.ECDSA):
        pair = authority.issue_cert("localhost", key_type=key_type)
        (tmp_path / "tls.crt").write_bytes(b"".join(blob.bytes() for blob in pair.cert_chain_pems))
        (tmp_path / "tls.key").write_bytes(pair.private_key_pem.bytes())
        outcome = found.poll(real_now())
        assert outcome.facts is not None, outcome
        kinds.append(outcome.facts.key)
        seen.append(served(found, trust))
    assert kinds == ["ECDSA secp256r1", "RSA 2048", "ECDSA secp256r1"]
    assert len(set(seen)) == 3


def test_a_pipe_is_no_pair_and_is_not_waited_for(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    found = reloader(tmp_path)
    found.poll(NOW)
    (tmp_path / "tls.crt").unlink()
    os.mkfifo(tmp_path / "tls.crt")
    outcome = found.poll(NOW)
    assert (outcome.kind, outcome.message) == ("refused", f"{tmp_path}/tls.crt is no regular file")
    assert found.facts is not None
