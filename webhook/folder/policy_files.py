"""The files of a policy folder, as bytes: what `policyfile.parse_policies` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from webhook.errors import InputError
from webhook.folder.files import YAML_SUFFIXES, files_below, reason_of, shown

#: What a pack's tests are called, and the folder with the clusters that they are about; both lie beside its policies.
TESTS_FILE: Final = "tests.yaml"
TESTS_FLEET: Final = "fleet"


class PolicyFile(NamedTuple):
    """A policy file: its name relative to the folder, and its bytes."""

    name: str
    data: bytes


def read_policy_files(path: Path) -> tuple[PolicyFile, ...]:
    """All YAML files below `path` in the order of their paths, or the one file `path`.

    `tests.yaml` and a folder `fleet` beside one hold no policies.

    Raises InputError when `path` does not exist or any of the files cannot be read: part of a policy set is none.
    """
    if not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: no such policy folder or file")
    files = [path] if path.is_file() else [file for file in files_below(path, YAML_SUFFIXES) if not _of_tests(file, path)]
    return tuple(PolicyFile(shown(file, path), _bytes(file)) for file in files)


def _of_tests(file: Path, folder: Path) -> bool:
    """Whether a file is there for the tests of a pack."""
    if file.name == TESTS_FILE:
        return True
    parts = file.relative_to(folder).parts[:-1]
    return any(
        name == TESTS_FLEET and folder.joinpath(*parts[:depth], TESTS_FILE).is_file() for depth, name in enumerate(parts)
    )


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as fault:
        raise InputError(f"{file}: cannot be read: {reason_of(fault)}") from fault
