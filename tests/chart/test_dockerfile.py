"""The Dockerfile: pinned, without root, without build tools; what it copies is what the build context lets through."""

from __future__ import annotations

import re

import yaml

from tests.chart.dockerfile import ROOT, instructions, stages
from tests.chart.helms import CHART
from tests.chart.rendered import rendered


def said(stage: int, word: str) -> list[str]:
    """What follows a word in a stage."""
    return [item.rest for item in stages()[stage] if item.word == word]


def test_two_stages_on_one_slim_base() -> None:
    assert [item.rest for item in instructions() if item.word == "FROM"] == ["python:${PYTHON} AS build", "python:${PYTHON}"]
    (python,) = [item.rest for item in instructions() if item.word == "ARG" and item.rest.startswith("PYTHON=")]
    version = re.fullmatch(r"PYTHON=3\.(\d+)-slim-\w+", python)
    assert version is not None
    assert int(version[1]) >= 11


def test_it_runs_as_nobody_in_particular() -> None:
    pod = rendered("default").one("Deployment")["spec"]["template"]["spec"]["securityContext"]
    assert said(1, "USER") == [f"{pod['runAsUser']}:{pod['runAsGroup']}"]
    words = [item.word for item in stages()[1]]
    assert words.index("USER") > max(index for index, word in enumerate(words) if word in ("RUN", "COPY"))


def test_it_runs_fallgate() -> None:
    assert said(1, "ENTRYPOINT") == ['["fallgate"]']
    ports = {
        str(port["containerPort"])
        for port in rendered("default").one("Deployment")["spec"]["template"]["spec"]["containers"][0]["ports"]
    }
    assert set(said(1, "EXPOSE")[0].split()) == ports


def test_everything_from_an_index_is_checked_by_hash() -> None:
    installs = [rest for rest in said(0, "RUN") if " install " in rest or " wheel " in rest]
    assert len(installs) == 4
    for command in installs:
        assert ("--require-hashes" in command and "--only-binary=:all:" in command) or "--no-index" in command
    assert not [rest for rest in said(1, "RUN") if "install" in rest]


def test_what_is_locked_to_run_is_what_is_tested() -> None:
    """The versions of requirements/run.txt and build.txt are those of requirements/dev.txt."""
    pins = {name: _pins(name) for name in ("dev", "run", "build")}
    assert pins["run"].items() <= pins["dev"].items()
    assert pins["build"].items() <= pins["dev"].items()
    assert not {"pytest", "ruff", "mypy", "setuptools", "wheel", "pip"} & set(pins["run"])
    assert set(pins["build"]) == {"setuptools"}


def _pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    found = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, re.MULTILINE))
    hashed = [block for block in re.split(r"^(?=[a-z0-9.-]+==)", text, flags=re.MULTILINE)[1:] if "--hash=sha256:" in block]
    assert len(hashed) == len(found)
    return found


def test_no_build_tools_are_left() -> None:
    (removed,) = said(1, "RUN")
    assert removed.startswith("rm -rf ")
    assert {"/usr/local/lib/python3*/site-packages/*", "/usr/local/lib/python3*/ensurepip", "/usr/local/bin/pip*"} <= set(
        removed.split()
    )
    assert said(1, "COPY") == ["--from=build /opt/fallgate /opt/fallgate"]
    assert "--without-pip" in said(0, "RUN")[0]


def test_it_is_compiled_because_it_cannot_be_written() -> None:
    assert said(0, "RUN")[-1] == "python -m compileall -q --invalidation-mode unchecked-hash /opt/fallgate/lib"


def test_the_build_context_is_what_is_copied() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[1] == "*"
    allowed = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {source for rest in said(0, "COPY") for source in rest.split()[:-1]}
    assert allowed == copied
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_labels() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', said(1, "LABEL")[0]))
    assert labels["title"] == "fallgate"
    assert labels["licenses"] == "Apache-2.0"
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert said(1, "ARG") == [f"VERSION={chart['appVersion']}"]
    assert labels["version"] == "${VERSION}"
