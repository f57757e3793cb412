"""What the compiler makes of a node: a closure over a frame, or a constant.

A frame is a flat list: what the expression is about, the steps left, then one slot per local variable. A closure keeps
nothing of a call but which overload took which types (calls.py), so one compiled expression may run in many threads at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from webhook.cel.values import MAPS, STEPS, take

Frame: TypeAlias = list[Any]
Closure: TypeAlias = Callable[[Frame], Any]

ROOT, FIRST_SLOT = 0, STEPS + 1
MAX_STEPS = 500_000

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


def measured(run: Closure) -> Closure:
    """`run`, with the size of its value charged."""

    def measure(frame: Frame) -> Any:
        value = run(frame)
        per_step = _PER_STEP.get(type(value))
        if per_step is not None:
            take(frame, 1 + len(value) // per_step)
        return value

    return measure


# How much of a value is dealt with in the time of one step.
_PER_STEP: dict[type, int] = {str: 50, bytes: 50, list: 16, **dict.fromkeys(MAPS, 16)}
