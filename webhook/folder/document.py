"""A document of a YAML or JSON file, and where in the file its objects begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webhook.errors import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One document. `lines` maps the id() of its mappings that may be Kubernetes objects to the line they begin on."""

    value: Any
    line: int
    lines: Mapping[int, int] = field(default_factory=dict)

    def line_of(self, part: object) -> int:
        """The line on which a mapping of this document begins; the document's own when that was not noted."""
        return self.lines.get(id(part), self.line)


@dataclass(frozen=True, slots=True)
class Documents:
    """What a text holds, and what of it could not be read."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...]


def excerpt_of(text: str, line: int) -> str:
    """The text of a line, without its end; "" when there is none."""
    if line < 1:
        return ""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if not start:
            return ""
    end = text.find("\n", start)
    return text[start : end if end >= 0 else len(text)].rstrip("\r")
