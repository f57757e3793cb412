"""JSON Patch (RFC 6902) for the operations we emit: add, remove, replace. Nothing that was handed in is changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from webhook.errors import PatchError

# RFC 6901: no sign, no leading zeros. Ten digits are more than any array has.
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")


def apply_patch(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """`document` with `operations` applied in order. Only what lies on a changed path is copied.

    Raises PatchError when an operation cannot be applied, as the API server would refuse it.
    """
    for operation in operations:
        document = _applied(document, operation)
    return document


def _applied(document: Any, operation: Mapping[str, Any]) -> Any:
    name, path = operation.get("op"), operation.get("path")
    if name not in ("add", "remove", "replace"):
        raise PatchError(f"operation {name!r} is not one of add, remove, replace")
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise PatchError(f"{name}: {path!r} is no JSON pointer")
    if name != "remove" and "value" not in operation:
        raise PatchError(f"{name} {path}: there is no value")
    steps = [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]
    if steps:
        return _at(document, steps, operation)
    if name == "remove":
        raise PatchError("remove: the whole document cannot be removed")
    return operation["value"]


def _at(here: Any, steps: list[str], operation: Mapping[str, Any]) -> Any:
    """A copy of `here` with the operation applied at `steps` below it."""
    step, rest = steps[0], steps[1:]
    if isinstance(here, dict):
        return _in_object(here, step, rest, operation)
    if isinstance(here, list):
        return _in_array(here, step, rest, operation)
    raise _nothing(operation, f"{step!r} is asked of what is neither an object nor an array")


def _in_object(here: dict[str, Any], step: str, rest: list[str], operation: Mapping[str, Any]) -> dict[str, Any]:
    if step not in here and (rest or operation["op"] != "add"):
        raise _nothing(operation, f"there is no {step!r}")
    if rest:
        return {**here, step: _at(here[step], rest, operation)}
    if operation["op"] == "remove":
        return {key: value for key, value in here.items() if key != step}
    return {**here, step: operation["value"]}


def _in_array(here: list[Any], step: str, rest: list[str], operation: Mapping[str, Any]) -> list[Any]:
    adding = operation["op"] == "add" and not rest
    if adding and step == "-":
        return [*here, operation["value"]]
    index = _index(step, operation)
    if index >= len(here) + adding:
        raise _nothing(operation, f"the array has {len(here)} item{'' if len(here) == 1 else 's'}")
    if rest:
        return [*here[:index], _at(here[index], rest, operation), *here[index + 1 :]]
    if adding:
        return [*here[:index], operation["value"], *here[index:]]
    if operation["op"] == "remove":
        return [*here[:index], *here[index + 1 :]]
    return [*here[:index], operation["value"], *here[index + 1 :]]


def _index(step: str, operation: Mapping[str, Any]) -> int:
    if not _INDEX.fullmatch(step):
        raise _nothing(operation, f"{step!r} is no array index")
    return int(step)


def _nothing(operation: Mapping[str, Any], why: str) -> PatchError:
    return PatchError(f"{operation['op']} {operation['path']}: {why}")
