"""`python -m certs`, as a person uses it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from certs.__main__ import main


def test_issue_and_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["issue", str(tmp_path), "--name", "localhost", "--name", "127.0.0.1", "--days", "30"]) == 0
    issued = capsys.readouterr().out.splitlines()
    assert issued[0] == f"{tmp_path}/tls.crt: localhost"
    assert issued[1] == "  names    localhost, 127.0.0.1"
    assert issued[2] == "  issuer   Fallgate webhook CA"
    assert re.fullmatch(r"  valid    \S+Z to \S+Z, 29 days left", issued[3])
    assert issued[-1] == f"give {tmp_path}/ca.crt to clients (caBundle of the webhook configuration, base64)"

    assert main(["show", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert f"{tmp_path}/ca.crt: Fallgate webhook CA (certificate authority)" in shown
    assert "PRIVATE" not in shown

    assert main(["show", str(tmp_path / "ca.crt")]) == 0
    assert "tls.crt" not in capsys.readouterr().out


def test_new_ca(tmp_path: Path) -> None:
    main(["issue", str(tmp_path), "--name", "localhost"])
    authority = (tmp_path / "ca.crt").read_bytes()
    main(["issue", str(tmp_path), "--name", "localhost", "--new-ca"])
    assert (tmp_path / "ca.crt").read_bytes() != authority


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/none: No such file or directory\n"
    assert main(["issue", str(tmp_path), "--name", "ä"]) == 2
    assert capsys.readouterr().err.startswith("error: 'ä' is neither an IP address nor a DNS name: ")
    (tmp_path / "text").write_text("hello")
    assert main(["show", str(tmp_path / "text")]) == 2
    assert capsys.readouterr().err == "error: the certificate is not PEM: it has no line -----BEGIN CERTIFICATE-----\n"
