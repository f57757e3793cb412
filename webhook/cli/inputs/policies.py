"""Policy files from folders, files and packs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from webhook.cli.checking import show_problems
from webhook.cli.console import complain_about
from webhook.errors import InputError, PolicyErrors
from webhook.folder.policy_files import read_policy_files
from webhook.policyfile import parse_policies_with_warnings
from webhook.rulekit.policies import PolicySet

#: name, content
File: TypeAlias = tuple[str, bytes]

#: Where packs are looked for: beside the package (a checkout), and below the current folder.
_PACK_FOLDERS: Final = (Path(__file__).resolve().parents[3] / "policies", Path("policies"))
_PACK_FILE: Final = "policy.yaml"


def policy_files(paths: Sequence[str], packs: Sequence[str] = ()) -> tuple[File, ...]:
    """All policy files of folders, files and packs, named so that a message leads to them.

    Raises InputError when one of them is not there, cannot be read or holds no policy file.
    """
    found = tuple(file for path in [*map(Path, paths), *map(pack_folder, packs)] for file in _files(path))
    return tuple(dict(found).items())


def pack_folder(name: str) -> Path:
    """The folder of a pack. Raises InputError when there is none of that name."""
    for folder in _PACK_FOLDERS:
        if (folder / name / _PACK_FILE).is_file():
            return folder / name
    known = sorted({file.parent.name for folder in _PACK_FOLDERS for file in folder.glob(f"*/{_PACK_FILE}")})
    if known:
        raise InputError(f"--pack {name}: there is no such pack; there are {', '.join(known)}")
    raise InputError(f"--pack {name}: no packs are installed; name the folder of a pack with --policies")


def read_policies(paths: Sequence[str], packs: Sequence[str] = ()) -> PolicySet:
    """The policies in force. What is wrong with them is printed.

    Raises InputError when none are named, and as `load_policies` does.
    """
    if not paths and not packs:
        raise InputError(
            "no policies are named, so nothing would be enforced: add --policies DIR (a folder of policy files) or --pack NAME"
            " (to begin with: --pack starter)"
        )
    return read_optional_policies(paths, packs)


def read_optional_policies(paths: Sequence[str], packs: Sequence[str] = ()) -> PolicySet:
    """As `read_policies`, but none when none are named."""
    return load_policies(policy_files(paths, packs))


def load_policies(files: Sequence[File]) -> PolicySet:
    """The files as one policy set. What is wrong with them is printed.

    Raises InputError when they have mistakes: part of a policy set is none.
    """
    try:
        policies, warnings = parse_policies_with_warnings(files)
    except PolicyErrors as errors:
        show_problems(errors.problems)
        mistakes = sum(not problem.warning for problem in errors.problems)
        what = f"{mistakes} mistake{'' if mistakes == 1 else 's'}"
        raise InputError(f"the policies have {what} and are not in force: nothing was judged") from errors
    complain_about(warnings)
    return policies


def _files(path: Path) -> Sequence[File]:
    found = read_policy_files(path)
    if not found:
        raise InputError(f"{path}: there is no policy file in this folder (no file ends in .yaml or .yml)")
    return [(str(path / name) if path.is_dir() else str(path), data) for name, data in found]
