"""What the compiler makes of a node: a closure over a frame, or a constant.

A frame is a flat list: what the expression is about, the steps left, then one slot per local variable. A closure never
keeps anything between calls, so one compiled expression may run in many threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from webhook.cel.values import limit_exceeded

Frame: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Frame], Any]

ROOT, STEPS, FIRST_SLOT = 0, 1, 2
MAX_STEPS = 1_000_000

_VARIABLE = object()


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled node. `constant` is its value when it has always the same one and cannot fail.

    `literal`: the scheduler's library takes the value for a constant as well (it does so for fewer expressions), which
    decides whether a failing conversion of it is a compile error.
    """

    run: Closure
    constant: Any = _VARIABLE
    literal: bool = False

    @property
    def is_constant(self) -> bool:
        """The value is known."""
        return self.constant is not _VARIABLE


def constant(value: Any, *, literal: bool = False) -> Code:
    """Code that gives `value`."""
    return Code(lambda _: value, value, literal)


def charge(frame: Frame, steps: int) -> None:
    """Take steps off what is left; the evaluation ends when there are none."""
    left = frame[STEPS] - steps
    if left < 0:
        raise limit_exceeded()
    frame[STEPS] = left


def measured(run: Closure) -> Closure:
    """`run`, with the size of its result charged."""

    def measure(frame: Frame) -> Any:
        value = run(frame)
        if type(value) in (str, bytes, list, dict):
            charge(frame, 1 + len(value) // 10)
        return value

    return measure
