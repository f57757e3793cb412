"""README.md and docs/ say what is so: their commands run, their policies load, their keys are the ones that are printed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.harness import ask, documents, policies_of
from webhook.cli.app import app
from webhook.engine import respond
from webhook.folder.server_file import is_server, read_server
from webhook.policyfile import parse_policies_with_warnings
from webhook.policyfile.kinds import KINDS
from webhook.telemetry import DecisionRecord

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
POLICY_KINDS = {kind.name for kind in KINDS}

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A yaml block whose first line is `# some-name.yaml` is a file of the reader's.
_FILE_NAME = re.compile(r"# ([\w-]+\.yaml)\n")


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of a page in one language."""
    return (found[2] for found in _FENCE.finditer(page.read_text()) if found[1] == language)


def named(items: Iterable[tuple[Path, Any]]) -> list[Any]:
    """Parameters called after their page and number."""
    return [pytest.param(page, item, id=f"{page.stem}-{number}") for number, (page, item) in enumerate(items)]


# Commands.


def sessions() -> Iterator[tuple[Path, tuple[str, str]]]:
    """(page, (command, what is shown)) of every `$ fallgate ...` in the console blocks."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                yield page, (command, shown)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like a checkout, to put a reader's files into."""
    for name in ("examples", "policies"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pattern(shown: str) -> str:
    """A line `...` stands for any number of lines, `...` within a line for any text of it."""
    lines = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in shown.splitlines()
    ]
    return "".join(lines)


@pytest.mark.parametrize(("page", "session"), named(sessions()))
def test_a_command_shows_what_the_page_shows(page: Path, session: tuple[str, str], desk: Path) -> None:
    command, shown = session
    for block in blocks(page, "yaml"):
        name = _FILE_NAME.match(block)
        if name:
            (desk / name[1]).write_text(block)
    program, *arguments = shlex.split(command)
    assert program == "fallgate"
    result = CliRunner(env={"FALLGATE_DEBUG": "1"}).invoke(app, arguments, prog_name="fallgate")
    assert shown.strip() != ""
    assert re.fullmatch(pattern(shown), result.stdout), f"{command}\nprints\n{result.stdout}"
    assert result.exit_code in (0, 1)


def test_the_readme_shows_the_three_things_it_promises() -> None:
    words = [command.split()[1] for page, (command, _) in sessions() if page.name == "README.md"]
    assert {"review", "patch", "overlap"} <= set(words)


def test_the_readme_begins_with_the_two_commands() -> None:
    first = next(iter(blocks(ROOT / "README.md", "sh")))
    assert [line.split("#")[0].split() for line in first.splitlines()] == [["make", "demo"], ["make", "test"]]


def test_the_readme_names_every_command() -> None:
    listed = re.findall(r"^\| `fallgate (\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(app.list_commands(None))


# Policies.


def policy_blocks() -> Iterator[tuple[Path, str]]:
    """The yaml blocks that hold policies, whole documents all of them."""
    for page in PAGES:
        for block in blocks(page, "yaml"):
            if any(kind in POLICY_KINDS for kind in re.findall(r"^kind: (\w+)", block, re.MULTILINE)):
                yield page, block


@pytest.mark.parametrize(("page", "block"), named(policy_blocks()))
def test_policies_load_without_a_warning(page: Path, block: str) -> None:
    files = [(page.name, block.encode())]
    if "kind: ShapeCatalog" not in block:
        # Lists and shapes name models: those of the pack.
        catalog, *_ = (ROOT / "policies" / "nvidia" / "policy.yaml").read_text().split("\n---\n")
        files.append(("policy.yaml", catalog.encode()))
    policies, warnings = parse_policies_with_warnings(files)
    assert warnings == ()
    assert policies.digest


def test_every_kind_of_policy_is_shown_somewhere() -> None:
    shown = {kind for _, block in policy_blocks() for kind in re.findall(r"^kind: (\w+)", block, re.MULTILINE)}
    assert shown >= POLICY_KINDS


def test_server_documents_are_right() -> None:
    found = [item for page in PAGES for block in blocks(page, "yaml") for item in _documents(block) if is_server(item)]
    assert found != []
    assert [read_server(item)[1] for item in found] == [()] * len(found)


def _documents(block: str) -> list[Mapping[str, Any]]:
    """The mappings of a block; fragments that are no YAML by themselves have none."""
    try:
        return [item for item in yaml.safe_load_all(block) if isinstance(item, dict)]
    except yaml.YAMLError:
        return []


# Messages.


def test_the_answer_is_the_one_shown() -> None:
    folder = ROOT / "examples" / "01-fixed-tensor-parallel"
    template, pod = documents(folder / "objects.yaml")
    admission = ask(pod, cluster=[*documents(folder / "fleet.yaml"), template], policies=policies_of(folder / "policies.yaml"))
    answer = respond(admission.decision, "705ab4f5-0000-4000-8000-000000000000")
    (shown,) = (json.loads(block) for block in blocks(ROOT / "docs" / "messages.md", "json"))
    assert _fits(shown, answer), json.dumps(answer, indent=2)


def _fits(shown: Any, said: Any) -> bool:
    """Equal, where `...` in a text stands for any text."""
    if isinstance(shown, dict):
        return isinstance(said, dict) and list(shown) == list(said) and all(_fits(shown[key], said[key]) for key in shown)
    if isinstance(shown, list):
        return isinstance(said, list) and len(shown) == len(said) and all(map(_fits, shown, said))
    if isinstance(shown, str):
        return re.fullmatch(re.escape(shown).replace(r"\.\.\.", r"(?s:.*)"), said) is not None
    return bool(shown == said)


def test_the_warning_shown_is_the_one_that_is_given() -> None:
    folder = ROOT / "examples" / "01-fixed-tensor-parallel"
    template, _ = documents(folder / "objects.yaml")
    admission = ask(template, cluster=documents(folder / "fleet.yaml"), policies=policies_of(folder / "policies.yaml"))
    text = (ROOT / "docs" / "messages.md").read_text()
    assert f"\n{admission.decision.warnings[1]}\n" in text


def test_every_key_of_the_decision_log_is_told_in_order() -> None:
    section = (ROOT / "docs" / "messages.md").read_text().partition("## The decision log")[2].partition("\n## ")[0]
    assert first_column(section) == list(DecisionRecord.__struct_fields__)


def test_every_metric_is_told() -> None:
    section = (ROOT / "docs" / "messages.md").read_text().partition("## Metrics")[2]
    code = "\n".join(path.read_text() for path in (ROOT / "webhook").rglob("*.py"))
    counters = re.findall(r'_counter\(\s*"(\w+)"', code) + re.findall(r'\.watch\(\s*"(\w+)".*counter=True', code)
    gauges = re.findall(r'_gauge\(\s*"(\w+)"', code) + re.findall(r'\.watch\(\s*"(\w+)"(?!.*counter=True)', code)
    known = {f"fallgate_{name}_total" for name in counters} | {f"fallgate_{name}" for name in gauges if name != "build_info"}
    told = set(re.findall(r"`(fallgate_\w+)`", section))
    assert told == known | {"fallgate_admission_review_duration_seconds"}


# Labels and annotations.


def test_every_key_of_ours_is_told() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "webhook").rglob("*.py"))
    used = set(re.findall(r'"(fallgate\.dev/[a-z-]+)"', code))
    text = (ROOT / "docs" / "labels-and-annotations.md").read_text()
    table = text.partition("| key |")[2].partition("\n\n")[0]
    told = re.findall(r"^\| \[`([^`]+)`\]", table, re.MULTILINE)
    assert sorted(told) == sorted(used | {"fallgate.dev/mode.<rule-id>"})
    assert re.findall(r"^## (fallgate\.dev/\S+)", text, re.MULTILINE) == [key for key in told if "<" not in key]


# Keys that machines depend on.

CLI = (ROOT / "docs" / "cli.md").read_text()
EXAMPLE = "examples/07-half-moved-node-pool"


def first_column(section: str) -> list[str]:
    """The names in the first column of a section's tables, in order."""
    rows = re.findall(r"^\| (`[^|]+) \|", section, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def section(name: str) -> str:
    """What docs/cli.md says of a command."""
    return CLI.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def printed(*arguments: str) -> list[Any]:
    """What a command prints with `-o json`."""
    result = CliRunner(env={"FALLGATE_DEBUG": "1"}).invoke(app, [*arguments, "-o", "json"], prog_name="fallgate")
    assert result.exit_code in (0, 1), result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


CALLS = {
    "review": ("--policies", f"{EXAMPLE}/policies.yaml", "--fleet", f"{EXAMPLE}/fleet.yaml", f"{EXAMPLE}/objects.yaml"),
    "explain": ("--policies", f"{EXAMPLE}/policies.yaml", "--fleet", f"{EXAMPLE}/fleet.yaml", f"{EXAMPLE}/objects.yaml"),
    "check": ("policies/nvidia",),
    "test": ("policies/starter",),
    "shapes": ("--policies", f"{EXAMPLE}/policies.yaml", "--fleet", f"{EXAMPLE}/fleet.yaml"),
    "tiers": ("--policies", "examples/06-tier-default/policies.yaml"),
    "overlap": ("--policies", f"{EXAMPLE}/policies.yaml", "--fleet", f"{EXAMPLE}/fleet.yaml"),
}


@pytest.mark.parametrize("command", CALLS)
def test_what_is_printed_is_told_in_its_order(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    told = section(command)
    for document in printed(command, *CALLS[command]):
        places = [told.find(f"`{key}`") for key in document]
        assert -1 not in places, list(document)
        assert places == sorted(places), list(document)


@pytest.mark.parametrize(("command", "table"), [("review", 0), ("explain", 0)])
def test_nothing_else_is_told(command: str, table: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of keys: every key that is told is printed, in that order."""
    monkeypatch.chdir(ROOT)
    (document, *_) = printed(command, *CALLS[command])
    tables = [part for part in re.split(r"\n\n", section(command)) if re.match(r"\| key", part)]
    assert first_column(tables[table]) == list(document)
    if command == "explain":
        request = document["requests"][0]
        assert first_column(tables[1]) == list(request)
        assert first_column(tables[2]) == list(request["alternatives"][0])
    else:
        finding = document["findings"][0]
        sentence = re.search(r"Each finding has (.*?)\. Kinds", section(command), re.DOTALL)
        assert sentence is not None
        outside = re.sub(r"\([^()]*\)", "", sentence[1])
        assert re.findall(r"`(\w+)`", outside) == list(finding)
