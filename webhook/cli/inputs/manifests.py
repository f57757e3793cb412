"""Manifests and AdmissionReviews from files, folders and the standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from webhook.cli.outputs.places import LineIndex
from webhook.errors import InputError, Problem
from webhook.folder.files import MANIFEST_SUFFIXES, files_below, reason_of
from webhook.folder.manifests import FileObject, read_manifests

STDIN: Final = "-"
#: How the standard input is called in `source` and in messages.
STDIN_NAME: Final = "stdin"

#: JSON lines are what an audit log or a capture of AdmissionReviews is.
_SUFFIXES: Final = (*MANIFEST_SUFFIXES, ".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """The objects of an input in order, what of it could not be read, and the bytes of each file."""

    objects: tuple[FileObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    data: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def unreadable(self) -> bool:
        """Whether some of the input could not be used."""
        return any(not problem.warning for problem in self.problems)

    def line_index(self, source: str) -> LineIndex:
        """The lines of the fields of one of the files."""
        return LineIndex(self.data.get(source, b"").decode("utf-8-sig", "replace"))


def read_input(paths: Sequence[str]) -> Manifests:
    """Everything in files, folders and, for `-`, the standard input, which is also read when there are no paths.

    Raises InputError when there is nothing to read: no such file, no paths and a terminal as standard input.
    """
    if not paths:
        if sys.stdin.isatty():
            raise InputError("there is nothing to read: name files or folders, or pipe manifests in (-)")
        paths = (STDIN,)
    objects: list[FileObject] = []
    problems: list[Problem] = []
    kept: dict[str, bytes] = {}
    for source, data in _contents(paths):
        reading = read_manifests(data, source)
        objects.extend(reading.objects)
        problems.extend(reading.problems)
        kept[source] = data
    return Manifests(objects=tuple(objects), problems=tuple(problems), data=kept)


def _contents(paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        if path == STDIN:
            yield STDIN_NAME, sys.stdin.buffer.read()
        else:
            for file in files_of(Path(path)):
                yield str(file), read_bytes(file)


def files_of(path: Path) -> Sequence[Path]:
    """The file itself, or the manifests in a folder and its folders, by name; hidden ones are left out.

    Raises InputError when there is no such file or folder, or no manifest in it.
    """
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise InputError(f"{path}: there is no such file or folder")
    found = list(files_below(path, _SUFFIXES))
    if not found:
        raise InputError(f"{path}: there is no manifest in this folder (no file ends in {', '.join(_SUFFIXES)})")
    return found


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises InputError when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {reason_of(error)}") from error
