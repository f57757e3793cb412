"""The command itself: help, version, exit codes, faults, terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.build import alternative, claim, exactly, first_available
from webhook.cli.app import COMMANDS, app, own_version
from webhook.cli.exits import FAULT, OK, REFUSED, UNUSABLE, worst

ROOT = Path(__file__).resolve().parents[2]
BOTH = first_available("gpu", alternative("big", "h100.example.com"))
BASE = ("--policies", "policies", "--fleet", "fleet")
PROGRAM = (sys.executable, "-c", "from webhook.cli import main; main()")


def test_help_names_every_command_and_the_exit_codes() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for name, summary in COMMANDS.items():
        assert f"  {name:<8} {summary}" in result.stdout
    assert "Exit codes: 0 nothing was refused, 1 something was, 2 bad usage or input" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_its_exit_codes(name: str) -> None:
    command = import_module(f"webhook.cli.{name}").command
    assert isinstance(command, click.Command)
    result = CliRunner().invoke(app, [name, "--help"], prog_name="fallgate")
    assert result.exit_code == 0
    assert f"fallgate {name}" in result.stdout.partition("Example")[2]
    assert re.search(r"Exit\s+codes:\s+0", result.stdout)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("serve", "certs", "dump")])
def test_every_command_prints_text_json_and_yaml(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"])
    assert "-o, --output [text|json|yaml" in result.stdout


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"], prog_name="fallgate")
    assert (result.exit_code, result.stdout) == (0, f"fallgate {own_version()}\n")


@pytest.mark.parametrize("args", [["nonsense"], ["review", "--nonsense"], ["certs"], []])
def test_bad_usage_is_2(args: list[str]) -> None:
    assert CliRunner().invoke(app, args).exit_code == 2


def test_the_worst_exit_code_wins() -> None:
    assert (OK, REFUSED, UNUSABLE, FAULT) == (0, 1, 2, 3)
    assert worst() == OK
    assert worst(REFUSED, OK) == REFUSED
    assert worst(REFUSED, UNUSABLE) == UNUSABLE
    assert worst(FAULT, REFUSED) == FAULT


@pytest.mark.parametrize(
    ("objects", "text", "code"),
    [
        ([claim("plain", exactly())], "", 0),
        ([claim("both", BOTH)], "", 1),
        ([claim("both", BOTH)], "---\n- 1\n", 2),
        ([], "nothing of use", 2),
    ],
)
def test_exit_codes_of_review(
    run: Any, write: Callable[..., str], folder: Path, objects: list[Any], text: str, code: int
) -> None:
    name = write("in.yaml", *objects)
    with (folder / name).open("a") as file:
        file.write(text)
    assert run("review", name, *BASE).exit_code == code


def test_a_fault_of_our_own_is_told_without_a_traceback(
    run: Any, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the roof is off")

    monkeypatch.setattr("webhook.cli.requests.judge_all", broken)
    name = write("in.yaml", claim("plain", exactly()))
    result = CliRunner().invoke(app, ["review", name, *BASE])
    assert result.exit_code == 3
    assert result.stderr == (
        "error: a fault of Fallgate itself: RuntimeError: the roof is off (FALLGATE_DEBUG=1 shows where)\n"
    )
    with pytest.raises(RuntimeError, match="the roof is off"):
        CliRunner(env={"FALLGATE_DEBUG": "1"}).invoke(app, ["review", name, *BASE], catch_exceptions=False)


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm", **more}


def test_the_console_script_reads_the_standard_input(folder: Path) -> None:
    body = json.dumps(claim("both", BOTH))
    done = subprocess.run(
        [*PROGRAM, "review", *BASE, "-o", "json"], input=body, capture_output=True, text=True, env=environment(), check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["source"] == "stdin:1"


def on_a_terminal(*args: str, code: int = 1, **more: str) -> str:
    """What a terminal shows."""
    outer, inner = pty.openpty()
    with subprocess.Popen([*PROGRAM, *args], stdout=inner, stderr=inner, stdin=inner, env=environment(**more)) as process:
        os.close(inner)
        shown = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(outer)
    assert process.returncode == code
    return shown.decode()


def test_colours_on_a_terminal_unless_no_color_says_no(write: Callable[..., str]) -> None:
    name = write("in.yaml", claim("both", BOTH))
    assert "\x1b[1;31mdeny" in on_a_terminal("review", name, *BASE)
    assert "[1;31m" not in on_a_terminal("review", name, *BASE, NO_COLOR="1")


def test_long_lines_are_not_folded_on_a_terminal(write: Callable[..., str]) -> None:
    name = write("in.yaml", claim("both", BOTH))
    shown = on_a_terminal("review", name, *BASE, COLUMNS="40", NO_COLOR="1")
    assert 'ResourceClaim "both" may hand out devices that its owner has not declared the program can run on\r\n' in shown


def test_a_terminal_shows_progress_on_long_work_and_waits_for_no_input(write: Callable[..., str]) -> None:
    name = write("many.yaml", *(claim(f"c-{i}", BOTH) for i in range(250)))
    shown = on_a_terminal("review", name, *BASE)
    assert "judging" in shown
    assert "250 objects: 250 denied" in shown
    assert "there is nothing to read: name files or folders, or pipe manifests in (-)" in on_a_terminal("review", *BASE, code=2)


def test_commands_can_be_completed() -> None:
    context = click.Context(app, info_name="fallgate")
    assert [item.value for item in app.shell_complete(context, "")] == list(COMMANDS)
