"""The text of one policy file, and places in it. Knows nothing of YAML."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from webhook.errors import Problem

_LINE_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file's name and text. `starts` holds the index of each line's first character."""

    name: str
    text: str
    starts: tuple[int, ...]

    def line_text(self, line: int) -> str:
        """The text of a line (from 1), without its line break."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Place:
    """One character of a file."""

    source: Source
    index: int

    @property
    def line(self) -> int:
        """The line, from 1."""
        return bisect_right(self.source.starts, self.index)

    @property
    def column(self) -> int:
        """The column, from 1, in characters."""
        return self.index - self.source.starts[self.line - 1] + 1

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}"

    def problem(self, message: str, hint: str = "", *, warning: bool = False) -> Problem:
        """A problem at this place."""
        return Problem(
            message=message,
            source=self.source.name,
            line=self.line,
            column=self.column,
            excerpt=self.source.line_text(self.line),
            hint=hint,
            warning=warning,
        )


def source_of(name: str, text: str) -> Source:
    """`text` as the content of the file `name`."""
    return Source(name, text, (0, *(found.end() for found in _LINE_BREAK.finditer(text))))
