"""Finds and reads tests.yaml files and what they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from webhook.cli.inputs.manifests import read_bytes
from webhook.cli.inputs.policies import File, policy_files
from webhook.cli.policytests.format import ObjectSource, PolicyTest, PolicyTests, read_policy_tests
from webhook.cli.policytests.running import Loaded
from webhook.errors import InputError, Problem
from webhook.folder.files import files_below
from webhook.folder.manifests import FileObject, read_manifests
from webhook.folder.policy_files import TESTS_FILE


def tests_files(paths: Sequence[str]) -> Sequence[Path]:
    """All tests.yaml in these folders and below; a file is taken as it is.

    Raises InputError when there is none, or no such file or folder.
    """
    found = [file for path in paths for file in _below(Path(path))]
    if not found:
        raise InputError(f"there is no {TESTS_FILE} in {', '.join(paths)}: see docs/testing-policies.md for how to write one")
    return list(dict.fromkeys(found))


def read_tests_file(file: Path) -> tuple[PolicyTests, tuple[Problem, ...]]:
    """The tests of a file, and what is wrong with it. Raises InputError when it cannot be read."""
    try:
        text = read_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: this is not UTF-8 text") from error
    return read_policy_tests(text, str(file))


def policies_beside(file: Path, tests: PolicyTests) -> tuple[File, ...]:
    """The policy files that a tests.yaml is about. Raises InputError for what cannot be read.

    Policies that are written out come as files of their own, called after their place in the list.
    """
    if not tests.policies:
        return policy_files([str(file.parent)])
    named = [str(file.parent / item) for item in tests.policies if isinstance(item, str)]
    written = [
        (f"{file} policies[{number}]", yaml.safe_dump(dict(item), sort_keys=False).encode())
        for number, item in enumerate(tests.policies)
        if not isinstance(item, str)
    ]
    return (*(policy_files(named) if named else ()), *written)


def load_objects(file: Path, test: PolicyTest) -> Loaded:
    """The objects that a test names. Raises InputError for what cannot be read, or is not one object where one is wanted."""
    return Loaded(
        object=_single(file, test.object, test.line),
        old=_single(file, test.old, test.line).raw if test.old is not None else None,
        fleet=[found.raw for item in test.fleet for found in _read(file, item, test.line)],
    )


def _below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from (file for file in files_below(path, (TESTS_FILE,)) if file.name == TESTS_FILE)
    else:
        raise InputError(f"{path}: there is no such file or folder")


def _single(file: Path, item: ObjectSource, line: int) -> FileObject:
    found = _read(file, item, line)
    if len(found) != 1:
        raise InputError(f"{item} holds {len(found)} objects; name a file with one, and put the others into fleet")
    return found[0]


def _read(file: Path, item: ObjectSource, line: int) -> Sequence[FileObject]:
    if isinstance(item, Mapping):
        raw: Mapping[str, Any] = item
        return (FileObject(raw, str(file), line),)
    path = file.parent / item
    reading = read_manifests(read_bytes(path), str(path))
    wrong = [problem for problem in reading.problems if not problem.warning]
    if wrong:
        raise InputError(f"{path}:{wrong[0].line}: {wrong[0].message}")
    return reading.objects
