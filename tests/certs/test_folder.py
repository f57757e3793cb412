"""Certificates in a folder: names, modes, whole files."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs.folder import issue_into, write_file
from certs.model import CertificateError, Pair, check_pair, facts_of, read_certificates

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def pair_in(folder: Path) -> Pair:
    return Pair(certificate=(folder / "tls.crt").read_bytes(), key=(folder / "tls.key").read_bytes())


def authority_of(folder: Path) -> str:
    return facts_of(read_certificates((folder / "ca.crt").read_bytes())[0]).fingerprint


def test_files_and_their_modes(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    facts = issue_into(folder, ["localhost"], now=NOW)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) & 0o077 for file in folder.iterdir()}
    assert modes.keys() == {"tls.crt", "tls.key", "ca.crt", "ca.key"}
    assert (modes["tls.key"], modes["ca.key"]) == (0, 0)
    assert check_pair(pair_in(folder), NOW) == facts
    assert facts.not_after == NOW + timedelta(days=90)


def test_second_certificate_has_the_same_authority(tmp_path: Path) -> None:
    first = issue_into(tmp_path, ["localhost"], now=NOW)
    authority = authority_of(tmp_path)
    second = issue_into(tmp_path, ["localhost"], now=NOW)
    assert first.fingerprint != second.fingerprint
    assert authority_of(tmp_path) == authority


def test_new_authority_on_request(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    authority = authority_of(tmp_path)
    issue_into(tmp_path, ["localhost"], now=NOW, new_authority=True)
    assert authority_of(tmp_path) != authority


@pytest.mark.parametrize("damage", ["expired", "torn", "no key"])
def test_authority_that_cannot_sign_is_replaced(tmp_path: Path, damage: str) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW, authority_valid_for=timedelta(days=1 if damage == "expired" else 100))
    authority = authority_of(tmp_path)
    if damage == "torn":
        (tmp_path / "ca.key").write_bytes((tmp_path / "tls.key").read_bytes())
    elif damage == "no key":
        (tmp_path / "ca.key").unlink()
    later = NOW + timedelta(days=2)
    issue_into(tmp_path, ["localhost"], now=later)
    assert authority_of(tmp_path) != authority
    assert check_pair(pair_in(tmp_path), later).issuer == "Fallgate webhook CA"


def test_nothing_is_written_for_names_that_are_none(tmp_path: Path) -> None:
    issue_into(tmp_path, ["localhost"], now=NOW)
    before = pair_in(tmp_path)
    with pytest.raises(CertificateError):
        issue_into(tmp_path, [], now=NOW)
    assert pair_in(tmp_path) == before


def test_private_file_replaces_an_open_one(tmp_path: Path) -> None:
    file = tmp_path / "tls.key"
    file.write_text("old")
    file.chmod(0o644)
    write_file(file, b"new", private=True)
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["tls.key"]


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "tls.key").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_file(tmp_path / "tls.key", b"new", private=True)
    assert [item.name for item in tmp_path.iterdir()] == ["tls.key"]
