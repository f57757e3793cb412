"""The programs of a control plane: from KUBEBUILDER_ASSETS, or built with Go from the modules of go/ and kept in a cache.

`python -m tests.cluster.binaries` builds what the suite needs and prints where it is. A built program lies in the user's cache
folder, in a folder named after its version and a hash of its go.mod, so that it is built once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "go"

#: The release that runs in full; of the others only the API server.
FULL = "1.37.2"
API_SERVERS = ("1.34.4", "1.36.3")

_OTHERS = {"etcd": ("etcd-3.7.3", "go.etcd.io/etcd/server/v3"), "helm": ("helm-4.3.2", "helm.sh/helm/v4/cmd/helm")}
#: Roughly how long a build takes on two cores with nothing cached, to be told to whoever waits.
_MINUTES = {"kube-apiserver": "4 minutes", "helm": "2 minutes", "etcd": "1 minute"}


class ProgramMissing(Exception):
    """A program is not there and cannot be built here; the text says why."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one Kubernetes release, found or built when they are asked for. `version` is without the v."""

    version: str

    @property
    def full(self) -> bool:
        """Whether this release runs with scheduler and controllers."""
        assets, rest = assets_folder(), ("kube-scheduler", "kube-controller-manager")
        return all((assets / name).exists() for name in rest) if assets else self.version == FULL

    def has(self, name: str) -> bool:
        """Whether the program is there already: nothing is built."""
        assets = assets_folder()
        return bool(assets and (assets / name).exists()) or _place(name, self._module(name)[0]).exists()

    def path(self, name: str) -> Path:
        """Where the program is. Raises ProgramMissing."""
        assets = assets_folder()
        if assets and (assets / name).exists():
            return assets / name
        if assets and name.startswith("kube"):  # one release: never a scheduler of another than the API server
            raise ProgramMissing(f"{name} is not in KUBEBUILDER_ASSETS ({assets})")
        return _built(name, *self._module(name))

    def _module(self, name: str) -> tuple[Path, str]:
        """The module that a program is built in, and its package."""
        version = FULL if name == "kubectl" else self.version  # a client of one release serves them all
        module, package = _OTHERS.get(name) or (f"kubernetes-{version}", f"k8s.io/kubernetes/cmd/{name}")
        return MODULES / module, package


def assets_folder() -> Path | None:
    """The folder KUBEBUILDER_ASSETS names, the convention of envtest."""
    named = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(named) if named else None


def chosen_versions() -> tuple[str, ...]:
    """The releases to run, FULL first: all, or those of FALLGATE_CLUSTER_VERSIONS. KUBEBUILDER_ASSETS holds one: that.

    Raises ProgramMissing for a release that is not known.
    """
    if assets_folder():
        return (FULL,)
    named = os.environ.get("FALLGATE_CLUSTER_VERSIONS", "")
    wanted = {version.strip() for version in named.split(",") if version.strip()} or {FULL, *API_SERVERS}
    unknown = wanted - {FULL, *API_SERVERS}
    if unknown:
        known, wrong = ", ".join((FULL, *API_SERVERS)), ", ".join(sorted(unknown))
        raise ProgramMissing(f"FALLGATE_CLUSTER_VERSIONS: {wrong} is not one of {known}")
    return tuple(version for version in (FULL, *API_SERVERS) if version in wanted)


def why_not() -> str:
    """Why the suite cannot run here; empty when it can."""
    if shutil.which("go") or assets_folder():
        return ""
    return "no control plane here: Go is not installed and KUBEBUILDER_ASSETS is not set"


def _built(name: str, module: Path, package: str) -> Path:
    binary = _place(name, module)
    folder = binary.parent
    if binary.exists():
        return binary
    go = shutil.which("go")
    if go is None:
        raise ProgramMissing(f"{name} is not in KUBEBUILDER_ASSETS, and Go is not installed to build it")
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / ".lock"):
        if not binary.exists():
            _build(go, binary, module, package)
    return binary


def _place(name: str, module: Path) -> Path:
    return _cache() / f"{module.name}-{_fingerprint(module)}" / name


def _build(go: str, binary: Path, module: Path, package: str) -> None:
    _say(f"building {binary.name} of {module.name} (about {_MINUTES.get(binary.name, '1 minute')}, once)")
    began = time.monotonic()
    made = binary.with_suffix(f".{os.getpid()}")
    command = [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", _linked(module), "-o", str(made), package]
    run = subprocess.run(
        command,
        cwd=module,
        env=os.environ | {"CGO_ENABLED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if run.returncode:
        said = run.stdout.decode(errors="replace").strip()
        raise ProgramMissing(f"{binary.name} of {module.name} does not build:\n{said[-3000:]}")
    made.replace(binary)
    _say(f"built {binary.name} in {time.monotonic() - began:.0f} s")


def _linked(module: Path) -> str:
    """Linker flags: without a version of its own, a Kubernetes program reports one that clients and feature gates refuse."""
    kind, _, version = module.name.partition("-")
    flags = "-s -w"
    if kind == "kubernetes":
        major, minor, _ = version.split(".")
        values: Mapping[str, str] = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
        for name, value in values.items():
            flags += f" -X k8s.io/component-base/version.{name}={value}"
    return flags


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "fallgate"


def _fingerprint(module: Path) -> str:
    return hashlib.sha256((module / "go.mod").read_bytes()).hexdigest()[:12]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two suites at once build a program once."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    # Past pytest's capture: whoever waits minutes wants to know why.
    if sys.__stderr__ is not None:
        sys.__stderr__.write(f"{line}\n")
        sys.__stderr__.flush()


def main() -> None:
    """Build everything of the chosen releases."""
    if reason := why_not():
        _say(f"skipped: {reason}")
        return
    try:
        for version in chosen_versions():
            full = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl", "etcd", "helm")
            for name in full if version == FULL else ("kube-apiserver",):
                sys.stdout.write(f"{Programs(version).path(name)}\n")
                sys.stdout.flush()
    except ProgramMissing as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
