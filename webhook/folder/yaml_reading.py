"""YAML text -> documents with line numbers, as kubectl would read them.

Built from the parser's events instead of a loader: for the lines, for kubectl's scalars (scalars.py), and so that aliases
can be counted before anything is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from webhook.errors import Problem
from webhook.folder.document import Document, Documents, excerpt_of
from webhook.folder.yaml_building import Builder, YamlFault

# A document marker at the beginning of a line ends whatever came before, even inside a block scalar.
_MARKER = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NOTHING = re.compile(r"(?:[ \t]*(?:[#%][^\n]*)?\r?\n)*[ \t]*(?:[#%][^\n]*)?\Z")
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, source: str) -> Documents:
    """All documents of a YAML text; one with a mistake is reported and does not spoil the others. Empty ones are left out.

    A key that is given twice is reported as a warning: the later one counts, as with kubectl.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    for part, before in _parts(text):
        builder = Builder(before)
        try:
            for document in builder.documents(yaml.parse(part, Loader=_LOADER)):
                if document.value is not None:
                    documents.append(document)
        except YamlFault as fault:
            problems.append(_problem(str(fault), source, text, fault.line, fault.column))
        except yaml.MarkedYAMLError as fault:
            problems.append(_marked(fault, source, text, before))
        except yaml.YAMLError as fault:
            problems.append(_unmarked(fault, source, text, part, before))
        problems.extend(
            Problem(
                message=f'the key "{twice.key}" is given twice: the later one counts',
                source=source,
                line=twice.line,
                column=twice.column,
                excerpt=excerpt_of(text, twice.line),
                warning=True,
            )
            for twice in builder.duplicates
        )
    return Documents(tuple(documents), tuple(problems))


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """The documents' texts, each with the number of lines before it."""
    starts = [0, *(found.start() for found in _MARKER.finditer(text) if found.start())]
    before = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        part = text[start:end]
        if not _NOTHING.match(part):
            yield part, before
        before += part.count("\n")


def _problem(message: str, source: str, text: str, line: int, column: int) -> Problem:
    return Problem(message=message, source=source, line=line, column=column, excerpt=excerpt_of(text, line))


def _marked(fault: yaml.MarkedYAMLError, source: str, text: str, before: int) -> Problem:
    mark = fault.problem_mark or fault.context_mark
    message = ", ".join(part for part in (fault.context, fault.problem) if part)
    line, column = (before + mark.line + 1, mark.column + 1) if mark else (before + 1, 0)
    return _problem(f"this is not YAML: {message}", source, text, line, column)


def _unmarked(fault: yaml.YAMLError, source: str, text: str, part: str, before: int) -> Problem:
    position: Any = getattr(fault, "position", 0)
    reason: Any = getattr(fault, "reason", "it cannot be read")
    line = before + part.count("\n", 0, position) + 1
    column = position - (part.rfind("\n", 0, position) + 1) + 1
    return _problem(f"this is not YAML: {reason}", source, text, line, column)
