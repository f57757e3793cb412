"""Writes what is made from the chart: its copies of the packs, the plain manifests of deploy/, the golden files.

`python -m tests.chart.regenerate` (`make chart`) writes all of it with Helm 4, built when it is not here; the tests check that
all of it is what this would write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.chart.helms import CHART, KUBERNETES, NAMESPACE, ROOT, Helm, built
from tests.cluster.binaries import ProgramMissing

GOLDEN = Path(__file__).parent / "golden"
PACKS = CHART / "packs"
DEPLOY = ROOT / "deploy"

#: Golden files that are rendered for another Kubernetes than the newest.
_FOR = {"least": "1.33.13"}

_NAMESPACE = f"""\
---
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""
#: In the order in which they can be created; whatever else there is goes before the Deployment.
_LAST = ("Deployment", "PodDisruptionBudget", "NetworkPolicy")
_HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def packs() -> Iterator[tuple[Path, str]]:
    """The chart's copies of the packs, which Helm can only read inside the chart: where they go, and their text."""
    for policy in sorted((ROOT / "policies").glob("*/policy.yaml")):
        yield PACKS / f"{policy.parent.name}.yaml", policy.read_text()


def value_sets() -> dict[str, Mapping[str, Any]]:
    """The values of every golden file, by name."""
    suffix = ".values.yaml"
    return {
        path.name.removesuffix(suffix): yaml.safe_load(path.read_text()) or {} for path in sorted(GOLDEN.glob(f"*{suffix}"))
    }


def golden(helm: Helm, name: str, values: Mapping[str, Any]) -> str:
    """What the golden file of that name must hold."""
    return helm.template(values, kubernetes=_FOR.get(name, KUBERNETES))


def manifests(helm: Helm) -> Iterator[tuple[Path, str]]:
    """The plain manifests: what runs, and what the API server is told to ask. Where they go, and their text."""
    documents = helm.template({}).removeprefix("---\n").split("\n---\n")
    kinds = {document: str(yaml.safe_load(document)["kind"]) for document in documents}
    first = [document for document, kind in kinds.items() if kind not in (*_HOOKS, *_LAST)]
    last = [document for wanted in _LAST for document, kind in kinds.items() if kind == wanted]
    hooks = [document for document, kind in kinds.items() if kind in _HOOKS]
    yield DEPLOY / "fallgate.yaml", _written(_ABOUT_FALLGATE + _NAMESPACE, first + last)
    yield DEPLOY / "webhooks.yaml", _written(_ABOUT_HOOKS, hooks)


_ABOUT = """\
# Made by `make chart` from charts/fallgate with its default values, for Kubernetes 1.34 and newer. Do not edit: a chart is
# better at values.
"""
_ABOUT_FALLGATE = f"{_ABOUT}# What runs. kubectl apply -f deploy/ creates everything.\n"
_ABOUT_HOOKS = f"""\
{_ABOUT}# What the API server is told to ask. To uninstall, this file goes first:
# kubectl delete -f deploy/webhooks.yaml -f deploy/fallgate.yaml
"""


def _written(about: str, documents: list[str]) -> str:
    return about + "".join(f"---\n{_without_helm(document)}" for document in documents)


def _without_helm(document: str) -> str:
    """A document without what only says that Helm made it."""
    said = ("# Source: ", "app.kubernetes.io/managed-by: Helm", "helm.sh/chart: ")
    return "".join(f"{line}\n" for line in document.splitlines() if not line.strip().startswith(said))


def main() -> None:
    """Write all of it."""
    try:
        helm = built()[-1]
    except ProgramMissing as missing:
        sys.exit(str(missing))
    _write(packs())  # before anything is rendered from them
    _write(manifests(helm))
    _write((GOLDEN / f"{name}.yaml", golden(helm, name, values)) for name, values in value_sets().items())


def _write(files: Iterable[tuple[Path, str]]) -> None:
    for path, text in files:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
