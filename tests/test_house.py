"""The house keeps its own rules: sizes, names, docstrings, what the distribution holds, and what documents point at."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from inspect import getmodule
from pathlib import Path

import pytest

from tests.harness import header
from tests.rules.test_manifests import admission
from webhook.rulekit.rule import Rule
from webhook.rules import ALL

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("webhook", "certs")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]

#: What the engine itself adds when exemptions apply (webhook/engine/exemptions.py).
OF_THE_ENGINE = frozenset({"exempted", "exemption-ended"})
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 450, 60


def short(path: Path) -> str:
    """A path as messages show it."""
    return path.relative_to(ROOT).as_posix()


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the tree that are not left out of it by .gitignore; without git, all of those folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        folders = (*PACKAGES, "docs", "examples", "policies", "tests", "bench", ".ci")
        found = [path for folder in folders for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
        return tuple(sorted(path for path in [*found, *ROOT.glob("*")] if path.is_file()))
    return tuple(sorted(path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()))


# Modules.


@cache
def tree(path: Path) -> ast.Module:
    """A module, parsed."""
    return ast.parse(path.read_text())


def memo_names(module: ast.Module) -> Iterator[str]:
    """The names under which a module keeps things in memos."""
    for node in ast.walk(module):
        key: ast.expr | None = None
        if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.func, ast.Name):
            key = node.args[1] if node.func.id in ("remembered", "keep", "kept") else None
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
            key = node.args[0] if node.func.attr in ("get", "setdefault") and of_memo(node.func.value) else None
        elif isinstance(node, ast.Subscript) and of_memo(node.value):
            key = node.slice
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "key":
            key = node.value
        while isinstance(key, ast.Tuple) and key.elts:
            key = key.elts[0]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def of_memo(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "memo"


def test_no_two_modules_keep_things_under_one_name() -> None:
    """Memos are shared: what one module keeps under a name, another would take for its own."""
    owners: dict[str, set[str]] = {}
    for path in MODULES:
        for name in memo_names(tree(path)):
            owners.setdefault(name, set()).add(short(path))
    assert len(owners) > 30
    assert {name: sorted(modules) for name, modules in owners.items() if len(modules) > 1} == {}


def test_files_fit_in_a_glance() -> None:
    sizes = {short(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: lines for name, lines in sizes.items() if lines >= MOST_LINES} == {}


def test_functions_fit_in_a_glance() -> None:
    long = {
        f"{short(path)}:{node.lineno} {node.name}": lines
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > MOST_LINES_OF_A_FUNCTION
    }
    assert long == {}


def test_every_module_begins_with_a_line_that_says_what_it_is() -> None:
    first = {short(path): (ast.get_docstring(tree(path)) or "").partition("\n")[0].strip() for path in MODULES}
    assert [name for name, line in first.items() if len(line) < 10 or line[-1] not in ".:;,)"] == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    names = {part for path in MODULES for part in (*path.relative_to(ROOT).parts[:-1], path.stem)}
    assert names & {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc", "base"} == set()


# Rules.


def test_rules_are_sorted_by_id_and_unique() -> None:
    ids = [rule.id for rule in ALL]
    assert ids == sorted(set(ids))


def test_every_rule_file_is_in_the_tuple() -> None:
    files = {path.stem.replace("_", "-") for path in (ROOT / "webhook" / "rules").glob("*.py") if path.stem != "__init__"}
    assert files == {rule.id for rule in ALL}


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_rule_says_what_it_reads_allows_and_why(rule: Rule) -> None:
    text = _docstring(rule)
    sections = re.findall(r"^(Reads|Allows|Because|Changes): {2,}\S", text, re.MULTILINE)
    assert sections in (["Reads", "Allows", "Because"], ["Reads", "Allows", "Because", "Changes"])
    assert text.partition("\n")[0].endswith(".")


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_rule_has_a_page(rule: Rule) -> None:
    page_of_rule = ROOT / "docs" / "rules" / f"{rule.id}.md"
    assert page_of_rule.exists(), "run `make docs`"
    page = page_of_rule.read_text()
    assert [reason.id for reason in rule.reasons if f"`{reason.id}`" not in page] == []


def _docstring(rule: Rule) -> str:
    module = getmodule(rule.check)
    assert module is not None
    return module.__doc__ or ""


def test_a_reason_means_one_thing() -> None:
    """Reasons are known by their id alone in metrics, exemptions and Checks.rules."""
    ids = [reason.id for rule in ALL for reason in rule.reasons]
    assert sorted(ids) == sorted(set(ids))


def test_a_rule_has_an_example_of_each_reason_and_no_others() -> None:
    """What the manifests' headers name is what is found: tests/rules/test_manifests.py sees to that."""
    declared = {(rule.id, reason.id) for rule in ALL for reason in rule.reasons}
    named = {(rule.id, reason) for rule in ALL for path in _judged(rule) for reason in _reasons_of(path)}
    assert {pair for pair in named - declared if pair[1] not in OF_THE_ENGINE} == set()
    heard = {(rule.id, reason.id) for rule in ALL for reason in rule.reasons if reason.severity != "note"}
    assert heard - named == set()


def _judged(rule: Rule) -> Iterator[Path]:
    folder = ROOT / "tests" / "rules" / rule.id
    yield from (path for kind in ("fail", "mutate") for path in sorted((folder / kind).glob("*.yaml")))


def _reasons_of(path: Path) -> list[str]:
    reason = header(path).get("reason", [])
    return reason if isinstance(reason, list) else [reason]


WARNED = [path for rule in ALL for path in _judged(rule) if header(path).get("effect") == "warn"]


@pytest.mark.parametrize("path", WARNED, ids=short)
def test_warnings_are_lines(path: Path) -> None:
    """The API server drops a warning with a line break or tab without a word."""
    warnings = admission(path)[0].decision.warnings
    assert warnings != ()
    assert [line for line in warnings if not line.isprintable() or line != line.strip()] == []


# The distribution.


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution, built from a copy of the tree: nothing of an earlier build gets in."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for path in tracked():
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        str(folder),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_distribution_holds_the_two_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith("fallgate-")
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(PACKAGES)
    code = {name for name in names if name.endswith(".py")}
    assert code == {short(path) for path in MODULES}
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(names)
    assert any(name.endswith("/LICENSE") for name in names)


def test_the_console_script_works_from_the_distribution(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    (points,) = tmp_path.glob("*.dist-info/entry_points.txt")
    assert points.read_text().split() == ["[console_scripts]", "fallgate", "=", "webhook.cli:main"]
    code = (
        "import sys, webhook; print(webhook.__file__); sys.argv = ['fallgate', '--help']; from webhook.cli import main; main()"
    )
    # -P: the current folder is not searched, so that it is the distribution's code that runs.
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path)},
    )
    first, _, rest = ran.stdout.partition("\n")
    assert first == str(tmp_path / "webhook" / "__init__.py")
    assert rest.startswith("Usage: fallgate ")


# What documents point at.

_LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
_PATH = re.compile(
    r"(?<![\w/.-])(?:webhook|certs|policies|tests|docs|examples|bench|charts|requirements)/[\w./{}<>*-]*[\w}>*/]"
)
_TARGET = re.compile(r"\bmake ((?:[a-z]+)(?: [a-z]+)*)")
#: Paths that documents make up: the reader's own folders.
MADE_UP = frozenset({"policies/", "policies/NAME", "certs/"})


def links() -> Iterator[tuple[Path, str, str]]:
    """(page, where to, anchor) of every link that does not leave the tree."""
    for page in PAGES:
        for found in _LINK.finditer(page.read_text()):
            if not found[1].startswith(("http://", "https://", "mailto:")):
                yield page, found[1], (found[2] or "").removeprefix("#")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_every_link_leads_somewhere() -> None:
    dead = []
    for page, where, anchor in links():
        target = (page.parent / where).resolve() if where else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(f"{short(page)}: {where}#{anchor}")
    assert dead == []


def test_every_path_in_prose_is_there() -> None:
    gone = sorted(
        {
            f"{short(page)}: {name}"
            for page in PAGES
            for name in _PATH.findall(_without_fences(page.read_text()))
            if name not in MADE_UP and not _is_there(name)
        }
    )
    assert gone == []


def _without_fences(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)


def _is_there(name: str) -> bool:
    """`<rule>` and `{pass,fail}` stand for names: then there must be something that fits."""
    pattern = re.sub(r"\{[^}]*\}|<[^>]*>", "*", name).rstrip("/")
    return any(ROOT.glob(pattern))


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    prose = {short(page): " ".join(re.findall(r"`[^`\n]+`|^\s*make .*$", page.read_text(), re.MULTILINE)) for page in PAGES}
    prose[".ci/run"] = (ROOT / ".ci" / "run").read_text()
    named = {(page, word) for page, text in prose.items() for found in _TARGET.findall(text) for word in found.split()}
    assert {(page, word) for page, word in named if word not in targets} == set()
    assert {"demo", "test", "lint"} <= {word for _, word in named}


def test_the_tree_does_not_know_where_it_was_built() -> None:
    places = re.compile(r"/work/|/home/|/root/|/Users/|(?<![\w.])/tmp/")
    found = [
        f"{short(path)}: {places.findall(text)[0]}"
        for path in tracked()
        if not path.is_relative_to(ROOT / "tests") and (text := _text(path)) and places.search(text)
    ]
    assert found == []


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


def test_the_licence_is_the_one_that_is_declared() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert text.lstrip().startswith("Apache License\n")
    assert "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION" in text
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text()
