"""What a device publishes, as a selector names it: text that can be pasted into one."""

from __future__ import annotations

import json
import re
from typing import Final, Literal

Kind = Literal["attribute", "capacity"]

_PARTS: Final[dict[Kind, str]] = {"attribute": "attributes", "capacity": "capacity"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Words that CEL does not take behind a dot, or keeps for itself.
_RESERVED: Final = frozenset(
    {"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"}
    | {"namespace", "null", "package", "return", "true", "var", "void", "while"}
)


def path_of(kind: Kind, domain: str, name: str) -> str:
    """`device.attributes["gpu.example.com"].model`"""
    return f"{_domain(kind, domain)}.{name}" if _is_plain(name) else f"{_domain(kind, domain)}[{quoted(name)}]"


def presence_of(kind: Kind, domain: str, name: str) -> str:
    """The test whether a device has it: `has(device.attributes["gpu.example.com"].model)`"""
    return f"has({path_of(kind, domain, name)})" if _is_plain(name) else f"{quoted(name)} in {_domain(kind, domain)}"


def quoted(text: str) -> str:
    """A text as CEL writes it."""
    return json.dumps(text, ensure_ascii=False)


def spellings_of(kind: Kind, domain: str, name: str) -> re.Pattern[str]:
    """The ways in which a selector may have written the path: with brackets or dots, and either kind of quotes."""
    parts = (_spelt(name) for name in (domain, name))
    return re.compile(rf"\bdevice\s*\.\s*{_PARTS[kind]}\s*{''.join(parts)}")


def _spelt(name: str) -> str:
    bracketed = rf"\[\s*[\"']{re.escape(name)}[\"']\s*\]\s*"
    return rf"(?:{bracketed}|\.\s*{re.escape(name)}\b\s*)" if _is_plain(name) else bracketed


def _domain(kind: Kind, domain: str) -> str:
    return f"device.{_PARTS[kind]}[{quoted(domain)}]"


def _is_plain(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and name not in _RESERVED
