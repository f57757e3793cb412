"""Which files of a folder count, and their bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

YAML_SUFFIXES: Final = (".yaml", ".yml")
MANIFEST_SUFFIXES: Final = (*YAML_SUFFIXES, ".json", ".yaml.gz", ".yml.gz", ".json.gz")


def files_below(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """The files below `folder` with one of `suffixes`, sub-folders included, in the order of their paths.

    Names that begin with a dot are passed over: hidden files, and the `..data` folders that a mounted ConfigMap's files are
    links into. Links are followed, a folder that contains itself once.
    """
    entered: set[str] = set()
    found: list[Path] = []
    for here, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(here)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(here, name) for name in names if not name.startswith(".") and name.lower().endswith(suffixes)]
    yield from sorted(found, key=lambda path: path.relative_to(folder).parts)


def shown(path: Path, folder: Path) -> str:
    """A file's name for messages and as its source: relative to the folder that was named."""
    return path.relative_to(folder).as_posix() if path != folder else path.name


def reason_of(fault: OSError) -> str:
    """What the system says of a file that cannot be read, without the path."""
    return (fault.strerror or str(fault)).lower()
