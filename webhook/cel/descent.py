"""Going down a tree without the stack: generators that ask for what they need of other nodes.

A task is a generator that yields other tasks and is sent their results. However deep they nest, Python's own stack stays as
shallow as one task, so that text of strangers cannot exhaust it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

Result = TypeVar("Result")

#: Yields tasks, is sent what they return, and returns a `Result`.
Task: TypeAlias = Generator[Generator[Any, Any, Any], Any, Result]


def perform(task: Task[Result]) -> Result:
    """What the task returns. An error in any task ends all of them."""
    waiting: list[Generator[Any, Any, Any]] = [task]
    value: Any = None
    while waiting:
        try:
            needed = waiting[-1].send(value)
        except StopIteration as stop:
            waiting.pop()
            value = stop.value
        else:
            waiting.append(needed)
            value = None
    return value  # type: ignore[no-any-return]
