"""What a selector says of a fleet, as a person reads it: by match, error and no match, with counts by model and node. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from webhook.cel import CompileProblem, line_of
from webhook.cli.cel_asking import Asked, grouped
from webhook.cli.explaining import AskedDevice
from webhook.cli.outputs.tables import aligned
from webhook.errors import Problem

#: Devices of a node that are named; the rest is counted.
_NAMED: Final = 4


def asked_text(asked: Asked) -> Iterator[Text]:
    """The whole answer."""
    for outcome, verb, style in (("match", "match", "green"), ("no match", "do not match", "dim")):
        devices = asked.having(outcome)
        if devices:
            hint = asked.hint if outcome == "no match" else ""
            yield from _section(devices, f"{_counted(len(devices))} {_verb(verb, len(devices))}", style, hint)
    for (error, hint), devices in _by_error(asked.having("error")):
        title = f"{_counted(len(devices))} {_verb('raise', len(devices))} an error: {error}"
        yield from _section(devices, title, "red", hint)
    if not asked.devices:
        yield Text("there is no device to ask" + (": the class rules out all of them" if asked.left_out else ""), "yellow")
    elif asked.left_out:
        yield Text(f"{_counted(asked.left_out)} of other classes left out", "dim")
    yield Text(f"cost: at most {asked.max_cost:,}", "dim")


def problem_of(problem: CompileProblem, text: str) -> Problem:
    """A compile error with its line, to be shown with a caret."""
    return Problem(
        message=problem.message,
        source="expression",
        line=problem.line,
        column=problem.column,
        excerpt=line_of(problem, text),
        hint=problem.hint,
    )


def _section(devices: Sequence[AskedDevice], title: str, style: str, hint: str = "") -> Iterator[Text]:
    yield Text(title, f"bold {style}" if style != "dim" else style)
    if hint:
        yield Text(f"  {hint}", "cyan")
    rows = [
        (f"  {len(members)}", model, node or "(several nodes)", _names(members)) for model, node, members in grouped(devices)
    ]
    yield from map(Text, aligned(rows))


def _by_error(devices: Sequence[AskedDevice]) -> list[tuple[tuple[str, str], tuple[AskedDevice, ...]]]:
    """By error and what helps against it."""
    groups: dict[tuple[str, str], list[AskedDevice]] = {}
    for item in devices:
        groups.setdefault((item.error, item.hint), []).append(item)
    return [(key, tuple(members)) for key, members in groups.items()]


def _names(devices: Sequence[AskedDevice]) -> str:
    names = [item.device.name for item in devices]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _counted(number: int) -> str:
    return f"{number} device{'' if number == 1 else 's'}"


def _verb(many: str, number: int) -> str:
    """`match`, or for a single device `matches`."""
    if number != 1:
        return many
    return {"match": "matches", "do not match": "does not match", "raise": "raises"}[many]
