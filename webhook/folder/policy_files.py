"""The files of a policy folder, as bytes: what `policyfile.parse_policies` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from webhook.errors import InputError
from webhook.folder.files import YAML_SUFFIXES, files_below, reason_of, shown

#: What a pack's tests are called; they lie beside its policies.
TESTS_FILE: Final = "tests.yaml"


class PolicyFile(NamedTuple):
    """A policy file: its name relative to the folder, and its bytes."""

    name: str
    data: bytes


def read_policy_files(path: Path) -> tuple[PolicyFile, ...]:
    """All YAML files below `path` (`tests.yaml` apart) in the order of their paths, or the one file `path`.

    Raises InputError when `path` does not exist or any of the files cannot be read: part of a policy set is none.
    """
    if not path.is_file() and not path.is_dir():
        raise InputError(f"{path}: no such policy folder or file")
    files = [path] if path.is_file() else [file for file in files_below(path, YAML_SUFFIXES) if file.name != TESTS_FILE]
    return tuple(PolicyFile(shown(file, path), _bytes(file)) for file in files)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as fault:
        raise InputError(f"{file}: cannot be read: {reason_of(fault)}") from fault
