"""cel-spec's simple tests as selectors: what of them concerns the language that selectors have, and why the rest does not.

Bindings become `cel.bind`, and the wanted value a comparison, so that each test is a selector that has to match (or to err).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

#: Files about libraries that the environment of selectors does not have, each with the reason.
OTHER_LIBRARIES: Mapping[str, str] = {
    "block_ext": "cel.block is not in the environment",
    "encoders_ext": "base64 is not in the environment",
    "math_ext": "math is not in the environment",
    "proto2": "protobuf messages",
    "proto2_ext": "protobuf messages",
    "proto3": "protobuf messages",
    "enums": "protobuf enums",
    "dynamic": "protobuf messages",
    "wrappers": "protobuf messages",
    "unknowns": "unknown values: evaluation is never partial",
    "network_ext": "another network library than Kubernetes' own",
}
_MESSAGES = re.compile(r"TestAllTypes|google\.protobuf\.(?!Timestamp\b|Duration\b)|NestedTestAllTypes|proto[23]\.|TestRequired")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BINDABLE = re.compile(r"(bool|int|uint|double|string|bytes|dyn|type|timestamp|duration|list\(.*\)|map\(.*\))")


@dataclass(frozen=True, slots=True)
class Converted:
    """A test of cel-spec as a selector. `wants` is "match" or "error"; `skipped` says why there is no selector."""

    name: str
    expression: str = ""
    wants: str = ""
    skipped: str = ""


def convert(test: Json) -> Converted:
    """The selector that a test (a line of `oracle conformance`) becomes."""
    name = f"{test['file']}/{test['section']}/{test['name']}"
    why = _not_ours(test)
    if why:
        return Converted(name, skipped=why)
    try:
        expression = _bound(test["expr"], test)
        if "error" in test:
            return Converted(name, f"dyn({expression}) == 1", "error")
        return Converted(name, _compared(expression, test["want"]), "match")
    except _Unspellable as error:
        return Converted(name, skipped=str(error))


def _not_ours(test: Json) -> str:
    if test["file"] in OTHER_LIBRARIES:
        return OTHER_LIBRARIES[test["file"]]
    if test.get("container") or _MESSAGES.search(test["expr"]):
        return "protobuf messages"
    if test.get("noMacros"):
        return "macros switched off"
    if test.get("noCheck"):
        return "type checking switched off"
    if "other" in test:
        return OTHER_LIBRARIES["unknowns"]
    if "want" not in test and "error" not in test:
        return "deduced types only"
    return ""


class _Unspellable(Exception):
    """A value or a name that a selector cannot have."""


def _bound(text: str, test: Json) -> str:
    """The expression with its variables bound around it."""
    for name, value in test.get("bindings", {}).items():
        declared = test.get("types", {}).get(name, "dyn")
        if not _NAME.fullmatch(name):
            raise _Unspellable("variables with dotted names")
        if not _BINDABLE.fullmatch(declared):
            raise _Unspellable("protobuf messages")
        literal = spell(value)
        text = f"cel.bind({name}, {f'dyn({literal})' if declared == 'dyn' else literal}, {text})"
    unbound = test.get("types", {}).keys() - test.get("bindings", {}).keys()
    if unbound:
        raise _Unspellable("variables or functions without a value")
    return text


def _compared(text: str, want: Json) -> str:
    ((kind, value),) = want.items()
    if kind == "double" and value == "NaN":
        return f"cel.bind(got, dyn({text}), got != got)"
    same = f"got == {spell(want)}" if kind == "type" else f"got == dyn({spell(want)})"
    typed = f" && type(got) == {kind}" if kind in ("int", "uint", "double") else ""
    return f"cel.bind(got, dyn({text}), {same}{typed})"


def spell(value: Json) -> str:
    """A tagged value as CEL text."""
    ((kind, held),) = value.items()
    if kind not in _SPELLERS:
        raise _Unspellable("protobuf messages")
    return _SPELLERS[kind](held)


def _spell_bytes(held: str | None) -> str:
    return 'b"' + "".join(f"\\x{byte:02x}" for byte in base64.b64decode(held or "")) + '"'


def _spell_type(name: str) -> str:
    if name in _LONG_TYPES:
        return _LONG_TYPES[name]
    if not _NAME.fullmatch(name):
        raise _Unspellable("protobuf messages")
    return name


_LONG_TYPES = {"google.protobuf.Timestamp": "type(timestamp(0))", "google.protobuf.Duration": 'type(duration("0s"))'}
_SPELLERS: Mapping[str, Callable[[Any], str]] = {
    "null": lambda _: "null",
    "bool": lambda held: "true" if held else "false",
    "int": str,
    "uint": lambda held: f"{held}u",
    "double": lambda held: f'double("{held}")',
    "string": lambda held: json.dumps(held, ensure_ascii=False),
    "bytes": _spell_bytes,
    "list": lambda held: f"[{', '.join(map(spell, held))}]",
    "map": lambda held: "{" + ", ".join(f"{spell(key)}: {spell(item)}" for key, item in held) + "}",
    "timestamp": lambda held: f"timestamp({json.dumps(held)})",
    "duration": lambda held: f"duration({json.dumps(held)})",
    "type": _spell_type,
}
