"""The helm programs of this machine, and what they make of the chart.

Found are, in this order: the program that HELM names, `helm` on the PATH, and those in the user's cache folder, where
`make test-cluster` leaves Helm 4 and `make chart` leaves Helm 3 (both built with Go from the modules in go/).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import binaries

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "fallgate"
#: What is rendered for, unless a test says otherwise: `helm template` asks no cluster.
KUBERNETES = "1.37.2"
RELEASE, NAMESPACE = "fallgate", "fallgate-system"
#: The one value without a default, for values that do not say it.
IMAGE: Mapping[str, Any] = {"image": {"repository": "registry.example.com/fallgate"}}

_HELM_3 = Path(__file__).parent / "go" / "helm-3.22.0"
_HELM_3_PACKAGE = "helm.sh/helm/v3/cmd/helm"

Json = dict[str, Any]


class Refused(Exception):
    """The chart does not render with these values; the text is what it says about it."""


@dataclass(frozen=True, slots=True)
class Helm:
    """One helm program."""

    path: str
    version: str

    @property
    def major(self) -> str:
        """`3` or `4`."""
        return self.version.removeprefix("v").partition(".")[0]

    def __str__(self) -> str:
        return f"helm-{self.version}"

    def template(self, values: Mapping[str, Any], *, kubernetes: str = KUBERNETES, release: str = RELEASE) -> str:
        """The chart rendered with these values, in the order of its files and without blank lines. Raises Refused.

        Order and blank lines are what Helm 3 and Helm 4 differ in.
        """
        return _template(self.path, yaml.safe_dump({**IMAGE, **values}), kubernetes, release, str(CHART))

    def notes(self, values: Mapping[str, Any]) -> str:
        """What NOTES.txt says after an install with these values. Raises Refused."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "fallgate"
            shutil.copytree(CHART, copy)
            notes = copy / "templates" / "NOTES.txt"
            defined = f'{{{{- define "notes" -}}}}\n{notes.read_text()}{{{{- end -}}}}\n'
            notes.with_name("notes.yaml").write_text(f'{defined}notes: {{{{ include "notes" . | toJson }}}}\n')
            notes.unlink()
            rendered = _template(self.path, yaml.safe_dump({**IMAGE, **values}), KUBERNETES, RELEASE, str(copy))
        return next(str(document["notes"]) for document in objects(rendered) if "notes" in document)

    def lint(self) -> str:
        """What `helm lint --strict` complains about."""
        image = f"image.repository={IMAGE['image']['repository']}"
        ran = _run([self.path, "lint", "--strict", "--quiet", "--kube-version", KUBERNETES, "--set", image, str(CHART)])
        return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def found() -> tuple[Helm, ...]:
    """Every helm here, at most one of each major version. Builds none."""
    known: dict[str, Helm] = {}
    for path in _candidates():
        helm = _ask(path)
        if helm is not None:
            known.setdefault(helm.major, helm)
    return tuple(known[major] for major in sorted(known) if major in ("3", "4"))


def built() -> tuple[Helm, ...]:
    """Helm 3 and Helm 4, built where they are not there yet. Raises ProgramMissing of tests.cluster.binaries."""
    here = {helm.major for helm in found()}
    if "4" not in here:
        binaries.Programs(binaries.FULL).path("helm")
    if "3" not in here:
        binaries._built("helm", _HELM_3, _HELM_3_PACKAGE)
    return found()


def objects(rendered: str) -> tuple[Json, ...]:
    """The objects of a rendering."""
    return tuple(document for document in yaml.safe_load_all(rendered) if document)


def _candidates() -> Iterator[str]:
    named = os.environ.get("HELM")
    if named:
        yield named
    on_path = shutil.which("helm")
    if on_path:
        yield on_path
    yield from (str(path) for path in sorted(binaries._cache().glob("helm-*/helm"), reverse=True))


@cache
def _ask(path: str) -> Helm | None:
    try:
        ran = _run([path, "version", "--short"])
    except OSError:
        return None
    said = re.match(r"v\d+\.\d+[\w.+-]*", ran.stdout.strip())
    return Helm(path, said[0].partition("+")[0]) if ran.returncode == 0 and said else None


@cache
def _template(path: str, values: str, kubernetes: str, release: str, chart: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(values)
        file.flush()
        ran = _run(
            [path, "template", release, chart, "--namespace", NAMESPACE, "--kube-version", kubernetes, "--values", file.name]
        )
    if ran.returncode:
        raise Refused(_said(ran.stderr))
    text = "".join(f"{line}\n" for line in ran.stdout.splitlines() if line.strip())
    documents = [document for document in re.split(r"^---\n", text, flags=re.MULTILINE) if document]
    return "".join(f"---\n{document}" for document in sorted(documents, key=_place))


def _place(document: str) -> tuple[str, str, str]:
    """Where a document belongs: its template, then its kind and name."""
    read = yaml.safe_load(document) or {}
    return document.partition("\n")[0], str(read.get("kind", "")), str(read.get("metadata", {}).get("name", ""))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ.get("PATH", ""), "HOME": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def _said(stderr: str) -> str:
    """What the chart itself says, without what Helm puts around it."""
    text = stderr.removeprefix("Error: ").strip().removesuffix("Use --debug flag to render out invalid YAML").strip()
    return re.sub(r"^(?:execution error at|template:) \([^)]*\):\s*", "", text)
