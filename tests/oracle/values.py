"""Values of expressions of any type, as the oracle spells them: by closures, and by steps whose cost is counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from webhook.cel.checker import check
from webhook.cel.closures import Compiler
from webhook.cel.cost.charges import TRACKED
from webhook.cel.cost.meter import Meter
from webhook.cel.cost.program import device_reader, program
from webhook.cel.device import DeviceRoots
from webhook.cel.dialect import Dialect, environment_of
from webhook.cel.frontend import parse
from webhook.cel.library.format import go_quoted
from webhook.cel.library.named_formats import FormatValue
from webhook.cel.library.net import IpValue
from webhook.cel.library.numbers import format_plain
from webhook.cel.library.time import duration_text, timestamp_text
from webhook.cel.problems import ExpressionError
from webhook.cel.validators import validate
from webhook.cel.values import (
    NONE,
    AbortedError,
    DomainMap,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    TypeValue,
    UInt,
    key_value,
)
from webhook.model.device import Device

_NOT_FOUND = "%!s(<nil>)"


def spelt(value: Any) -> str:
    """A CEL value as the recorded answers spell it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _spelt_float(value)
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(spelt, value))}]"
    if isinstance(value, dict | DomainMap):
        # Go looks each key up again to spell it, and never finds NaN.
        pairs = sorted(
            (spelt(known := key_value(key)), spelt(item) if known == known else _NOT_FOUND) for key, item in value.items()
        )
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    if value is NONE or isinstance(value, Optional):
        return "optional.none()" if value is NONE else f"optional.of({spelt(value.value)})"
    return _SPELLERS.get(type(value), str)(value)


def _spelt_float(value: float) -> str:
    if math.isnan(value):
        return 'double("NaN")'
    if math.isinf(value):
        return f'double("{"-" if value < 0 else ""}Infinity")'
    text = format_plain(value)
    return text if "." in text else f"{text}.0"


_SPELLERS: dict[type, Callable[[Any], str]] = {
    str: go_quoted,
    TypeValue: lambda value: value.name,
    FormatValue: lambda value: f"format {value.name.lower()}",
    IpValue: lambda value: str(value.address),
    UInt: lambda value: f"{int(value)}u",
    Duration: lambda value: f'duration("{duration_text(value)}")',
    Timestamp: lambda value: f'timestamp("{timestamp_text(Timestamp(value.nanos))}")',
}


def answers(text: str, device: Device) -> list[dict[str, Any]]:
    """What we make of an expression of any type, by closures and by counted steps: {"value"}, {"error"} or {"compile"}."""
    try:
        checked = check(parse(f"dyn({text})"), environment_of(Dialect()))
        validate(checked)
        compiler = Compiler(checked, DeviceRoots())
        run = compiler.compile(checked.tree).run
        counted = program(checked, device_reader)
    except (ExpressionError, AbortedError):
        return [{"compile": True}]
    closures = _answer(lambda: run([device, 500_000, *[None] * compiler.slots]))
    if any(resolution.function.name in TRACKED for resolution in checked.calls.values()):
        closures = {}  # such selectors are always counted
    return [found for found in (closures, _answer(lambda: counted.run(device, Meter(10**9)))) if found]


def _answer(evaluate: Callable[[], Any]) -> dict[str, Any]:
    try:
        value = evaluate()
    except (EvaluationError, AbortedError) as error:
        return {"error": error.message}
    return {"error": value.message} if isinstance(value, EvaluationError) else {"value": spelt(value)}
