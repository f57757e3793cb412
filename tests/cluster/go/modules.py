"""Writes the Go modules of this folder anew: `python -m tests.cluster.go.modules`, after a change of the versions below.

Each module only names tools to build. k8s.io/kubernetes replaces its staging modules by folders of its own tree, which a module
that requires it does not inherit: they are named again, with the version that was published of each.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent

#: The Kubernetes releases, and what is built of each.
KUBERNETES = {
    "1.37.2": ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    "1.36.3": ("kube-apiserver",),
    "1.34.4": ("kube-apiserver",),
}
#: The other programs: module, version, package, in Go modules of their own, so that they do not lift Kubernetes' dependencies.
OTHERS = {
    "etcd": ("go.etcd.io/etcd/server/v3", "v3.7.3", "go.etcd.io/etcd/server/v3"),
    "helm": ("helm.sh/helm/v4", "v4.3.2", "helm.sh/helm/v4/cmd/helm"),
}

_STAGING = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/src/\1$", re.MULTILINE)
_LANGUAGE = re.compile(r"^(?:go|godebug) .+$", re.MULTILINE)


def main() -> None:
    """Write every go.mod, and let `go mod tidy` fill in the rest and go.sum."""
    for version, programs in KUBERNETES.items():
        _write(f"kubernetes-{version}", _kubernetes(version, programs))
    for name, (module, version, package) in OTHERS.items():
        go = _LANGUAGE.findall(_published(module, version))
        _write(f"{name}-{version.removeprefix('v')}", [*go, f"require {module} {version}", f"tool {package}"])


def _kubernetes(version: str, programs: tuple[str, ...]) -> Iterator[str]:
    published = _published("k8s.io/kubernetes", f"v{version}")
    yield from _LANGUAGE.findall(published)
    yield f"require k8s.io/kubernetes v{version}"
    for module in _STAGING.findall(published):
        yield f"replace {module} => {module} v0.{version.removeprefix('1.')}"
    for program in programs:
        yield f"tool k8s.io/kubernetes/cmd/{program}"


def _published(module: str, version: str) -> str:
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    found = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True)
    return Path(json.loads(found.stdout)["GoMod"]).read_text()


def _write(name: str, lines: Iterator[str] | list[str]) -> None:
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text("\n".join([f"module fallgate.test/{name}", *lines]) + "\n")
    (folder / "go.sum").unlink(missing_ok=True)
    for command in (["go", "mod", "tidy"], ["go", "mod", "verify"]):
        subprocess.run(command, cwd=folder, env=os.environ | {"GOFLAGS": "-mod=mod"}, check=True)


if __name__ == "__main__":
    main()
