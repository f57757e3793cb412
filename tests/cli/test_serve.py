"""`fallgate serve` and `fallgate certs`: options handed over, results told."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from webhook.cli.serve import command
from webhook.settings import OPTIONS, Settings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that the server was started with; it ends at once."""
    seen: list[Settings] = []

    def serve(settings: Settings) -> int:
        seen.append(settings)
        return 0

    monkeypatch.setattr("webhook.cli.serve.serve", serve)
    return seen


def test_options_become_settings(run: Any, served: list[Settings]) -> None:
    result = run(
        "serve", "--policies", "policies", "--fleet", "fleet", "--certs", "certs", "--listen", "127.0.0.1:9443", "--audit-only"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    (settings,) = served
    assert settings.sources.policies == Path("policies")
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 9443)
    assert settings.engine.cap == "audit"


def test_the_environment_fills_in_what_the_command_line_leaves_out(
    run: Any, served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FALLGATE_CERTS", "elsewhere")
    monkeypatch.setenv("FALLGATE_LISTEN", "127.0.0.1:1")
    assert run("serve", "--policies", "p", "--fleet", "f", "--listen", "127.0.0.1:2").exit_code == 0
    assert served[0].certificate.folder == Path("elsewhere")
    assert served[0].http.port == 2


def test_settings_that_are_missing_are_bad_usage(run: Any, served: list[Settings]) -> None:
    result = run("serve", "--fleet", "fleet")
    assert result.exit_code == 2
    assert result.stderr == "error: --policies DIR is missing: folder of policy files\n"
    assert served == []


@pytest.mark.parametrize(("ended", "code"), [(0, 0), (1, 3), (2, 2)])
def test_how_the_server_ended_is_the_exit_code(run: Any, monkeypatch: pytest.MonkeyPatch, ended: int, code: int) -> None:
    monkeypatch.setattr("webhook.cli.serve.serve", lambda settings: ended)
    assert run("serve", "--policies", "p", "--fleet", "f", "--certs", "c").exit_code == code


def test_every_setting_is_an_option() -> None:
    assert [parameter.opts for parameter in command.params] == [[f"--{option.name}"] for option in OPTIONS]


def test_certs_are_issued_and_shown(run: Any, folder: Path) -> None:
    issued = run("certs", "issue", "certs", "--name", "fallgate.example", "--days", "30", "-o", "json")
    assert issued.exit_code == 0
    leaf = json.loads(issued.stdout)
    assert (leaf["file"], leaf["names"], leaf["authority"], leaf["expired"]) == (
        "certs/tls.crt",
        ["fallgate.example"],
        False,
        False,
    )
    shown = run("certs", "show", "certs", "-o", "json")
    assert [json.loads(line)["file"] for line in shown.stdout.splitlines()] == ["certs/tls.crt", "certs/ca.crt"]
    assert json.loads(shown.stdout.splitlines()[0]) == leaf
    text = run("certs", "show", "certs").stdout
    assert text.startswith("certs/tls.crt: fallgate.example\n  names    fallgate.example\n  issuer   Fallgate webhook CA\n")
    again = run("certs", "issue", "certs", "--name", "fallgate.example").stdout
    assert again.endswith("give certs/ca.crt to clients (caBundle of the webhook configuration, base64)\n")
    assert "PRIVATE" not in text + shown.stdout + issued.stdout


def test_certificates_that_cannot_be_read_are_bad_input(run: Any, folder: Path) -> None:
    (folder / "x.pem").write_text("nothing")
    result = run("certs", "show", "x.pem")
    assert result.exit_code == 2
    assert result.stderr == "error: x.pem: the certificate is not PEM: it has no line -----BEGIN CERTIFICATE-----\n"
    (folder / "empty").mkdir()
    assert run("certs", "show", "empty").stderr == "error: empty/tls.crt: No such file or directory\n"
    (folder / "file").write_text("")
    assert run("certs", "issue", "file", "--name", "a.example").exit_code == 2
    assert run("certs", "issue", "x", "--name", "ü").exit_code == 2


def test_a_secret_is_shown_with_what_comes_next(run: Any, folder: Path) -> None:
    run("certs", "issue", "certs", "--name", "fallgate.example")
    names = ("tls.crt", "tls.key", "ca.crt", "ca.key")
    data = {name: base64.b64encode((folder / "certs" / name).read_bytes()).decode() for name in names}
    (folder / "secret.json").write_text(json.dumps({"kind": "Secret", "data": data}))
    shown = run("certs", "show", "secret.json").stdout
    assert shown.startswith("tls.crt: fallgate.example\n")
    assert "\nca.crt: Fallgate webhook CA (certificate authority)\n" in shown
    assert "\nnext: nothing before " in shown
    assert "PRIVATE" not in shown
    documents = [json.loads(line) for line in run("certs", "show", "secret.json", "-o", "json").stdout.splitlines()]
    assert [item["file"] for item in documents] == ["tls.crt", "ca.crt"]
