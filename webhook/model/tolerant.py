"""Reading JSON that nobody has validated: every accessor returns its type or an empty value, and never raises.

A mutating webhook sees objects before the API server has validated them, and the offline commands see files written by
hand. An odd value reads as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]

_EMPTY: Json = {}
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def mapping(value: object) -> Json:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def sequence(value: object) -> Sequence[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str:
    """`value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def integer(value: object, default: int = 0) -> int:
    """`value` if it is a whole number (and no bool), else `default`."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def quantity_text(value: object) -> str:
    """A quantity as text: quantities may be written as strings and as numbers. "" for anything else."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def flag(value: object) -> bool:
    """True only for JSON true."""
    return value is True


def string_map(value: object) -> Mapping[str, str]:
    """The entries of a JSON object whose value is a string (labels, annotations, nodeSelector)."""
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in value.items() if isinstance(key, str) and isinstance(item, str)}


def string_tuple(value: object) -> tuple[str, ...]:
    """The strings of a JSON array, in order."""
    return tuple(item for item in sequence(value) if isinstance(item, str))


def at(document: object, pointer: str) -> Any:
    """What the JSON pointer `pointer` (RFC 6901) names in `document`, or None when nothing is there."""
    here: Any = document
    for token in pointer.split("/")[1:]:
        step = token.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, list) and _INDEX.fullmatch(step) and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return here
