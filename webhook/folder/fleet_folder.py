"""A cluster as a folder of files: the objects that `kubectl get -o yaml` prints, in any number of files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from webhook.errors import FleetError, Problem
from webhook.folder.files import MANIFEST_SUFFIXES, files_below, reason_of, shown
from webhook.folder.manifests import FileObject, read_manifests
from webhook.folder.server_file import is_server, read_server
from webhook.model.server_version import Server
from webhook.model.tolerant import mapping, text

#: Called with the number of objects read so far, after every file.
Progress: TypeAlias = Callable[[int], None]

_Identity = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderReading:
    """What a folder holds: every object once, what could not be used, and the server if a document names it.

    `listed_kinds` are kinds that were dumped as typed Lists, for `build_fleet(observed=...)`: no object of them being there
    means that there is none.
    """

    objects: tuple[FileObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    server: Server | None = None
    listed_kinds: frozenset[str] = frozenset()


def read_fleet_folder(path: Path, *, progress: Progress | None = None) -> FolderReading:
    """The objects of all YAML and JSON files (gzipped or not) below `path`, or of the one file `path`.

    Of two objects of the same kind, namespace and name the later counts (files in the order of their paths); a warning names
    both places. Broken files and objects are problems, the rest is used.

    Raises FleetError when `path` does not exist or cannot be looked into.
    """
    collector = _Collector()
    for file in _files(path):
        source = shown(file, path)
        try:
            data = file.read_bytes()
        except OSError as fault:
            collector.problems.append(Problem(message=f"this file cannot be read: {reason_of(fault)}", source=source))
            continue
        reading = read_manifests(data, source)
        collector.problems.extend(reading.problems)
        collector.listed_kinds |= reading.listed_kinds
        for found in reading.objects:
            collector.take(found)
        if progress is not None:
            progress(len(collector.objects))
    return FolderReading(
        objects=tuple(collector.objects.values()),
        problems=tuple(collector.problems),
        server=collector.server,
        listed_kinds=frozenset(collector.listed_kinds),
    )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FleetError(f"{path}: no such folder or file")
    try:
        next(path.iterdir(), None)
    except OSError as fault:
        raise FleetError(f"{path}: {reason_of(fault)}") from fault
    return list(files_below(path, MANIFEST_SUFFIXES))


class _Collector:
    """Objects by what identifies them, and the Server document."""

    def __init__(self) -> None:
        self.objects: dict[_Identity, FileObject] = {}
        self.problems: list[Problem] = []
        self.server: Server | None = None
        self.listed_kinds: set[str] = set()
        self._server_place = ""

    def take(self, found: FileObject) -> None:
        """Add an object, in place of an earlier one of the same name."""
        if is_server(found.raw):
            self._take_server(found)
            return
        identity = _identity(found)
        if not identity[3]:
            self._report(f"this {identity[1]} has no metadata.name", found)
            return
        # Taken out first: the later one also takes the later place in the order.
        earlier = self.objects.pop(identity, None)
        if earlier is not None:
            self._report(f"{_named(identity)} is also at {earlier.place}: the later one counts", found, warning=True)
        self.objects[identity] = found

    def _take_server(self, found: FileObject) -> None:
        if self._server_place:
            self._report(f"another Server is at {self._server_place}: the later one counts", found, warning=True)
        self._server_place = found.place
        self.server, faults = read_server(found.raw)
        for fault in faults:
            self._report(fault, found)

    def _report(self, message: str, found: FileObject, *, warning: bool = False) -> None:
        self.problems.append(Problem(message=message, source=found.source, line=found.line, warning=warning))


def _identity(found: FileObject) -> _Identity:
    meta = mapping(found.raw.get("metadata"))
    group = text(found.raw.get("apiVersion")).rpartition("/")[0]
    return (group, text(found.raw.get("kind")), text(meta.get("namespace")), text(meta.get("name")))


def _named(identity: _Identity) -> str:
    _, kind, namespace, name = identity
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
