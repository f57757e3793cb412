"""The terminal: where text goes, when it has colours, and what is shown while something takes long.

Colours and progress appear on a terminal only; NO_COLOR switches colours off. Lines are never wrapped or cut, so that text can
be searched and pasted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO, TypeVar

from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.text import Text

from webhook.errors import Problem

_Item = TypeVar("_Item")

#: What a pipe or a file is as wide as: nothing is folded there.
_WIDE: Final = 10_000
#: Fewer items than this are done before a progress bar could be read.
_WORTH_A_BAR: Final = 200

STYLES: Final = {
    "deny": "bold red",
    "error": "bold red",
    "warn": "yellow",
    "warning": "yellow",
    "mutate": "cyan",
    "allow": "green",
    "note": "dim",
}


def stdout() -> Console:
    """A console on the standard output as it is now."""
    return _console(sys.stdout)


def stderr() -> Console:
    """A console on the standard error output as it is now."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    wide = None if stream.isatty() else _WIDE
    return Console(file=stream, width=wide, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show(*items: RenderableType) -> None:
    """Print text or tables on the standard output."""
    console = stdout()
    for item in items:
        console.print(item)


def complain(message: str, *, label: str = "error") -> None:
    """Print `error: message` on the standard error output."""
    console = stderr()
    console.print(f"{label}: ", style=STYLES.get(label, ""), end="")
    console.print(message)


def complain_about(problems: Iterable[Problem]) -> None:
    """Print each problem with its file and line on the standard error output."""
    for problem in problems:
        complain(placed(problem), label="warning" if problem.warning else "error")


def placed(problem: Problem) -> str:
    """`file:line: message`, with the hint in parentheses."""
    place = problem.source + (f":{problem.line}" if problem.line else "")
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{place}: {problem.message}{hint}" if place else problem.message + hint


@contextmanager
def counting(what: str, things: str) -> Iterator[Callable[[int], None]]:
    """Show on a terminal that something is going on: what is yielded takes the number of things done so far."""
    console = stderr()
    if not console.is_terminal:
        yield lambda _: None
        return
    # A string would be taken for markup, and a file name may hold brackets.
    with console.status(Text(f"{what} ...")) as status:
        yield lambda count: status.update(Text(f"{what} ... {count:,} {things}"))


@contextmanager
def steps(what: str) -> Iterator[Callable[[str, int], None]]:
    """As `counting`, for work in steps: what is yielded takes the step and the number of things of it done so far."""
    console = stderr()
    if not console.is_terminal:
        yield lambda _step, _count: None
        return
    with console.status(Text(f"{what} ...")) as status:
        yield lambda step, count: status.update(Text(f"{what} ... {step} {count:,}"))


def counted(items: Sequence[_Item], what: str) -> Iterator[_Item]:
    """The items, with a progress bar on a terminal when they are many."""
    console = stderr()
    if not console.is_terminal or len(items) < _WORTH_A_BAR:
        yield from items
        return
    with Progress(console=console, transient=True) as progress:
        yield from progress.track(items, description=what)
