"""JSON text -> documents with line numbers: one object, a List, an array, or one object after another (JSON lines)."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from webhook.errors import Problem
from webhook.folder.document import Document, Documents, excerpt_of

_SPACE: Final = " \t\r\n"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def read_json(text: str, source: str) -> Documents:
    """All documents of a JSON text. After a mistake reading goes on with the next `{` that begins a line."""
    reader = _Reader(text)
    documents: list[Document] = []
    problems: list[Problem] = []
    at = reader.skip(0)
    while at < len(text):
        try:
            document, at = reader.document(at)
            documents.append(document)
        except json.JSONDecodeError as fault:
            problems.append(_problem(f"this is not JSON: {_lower(fault.msg)}", source, text, fault.pos))
            at = reader.next_object(max(fault.pos, at))
        except (ValueError, RecursionError) as fault:
            reason = "nested too deeply" if isinstance(fault, RecursionError) else str(fault)
            problems.append(_problem(f"this is not usable JSON: {reason}", source, text, at))
            at = reader.next_object(at)
        at = reader.skip(at)
    return Documents(tuple(documents), tuple(problems))


class _Reader:
    """Walks over the outermost levels itself, to know where objects begin; the rest is the standard decoder's."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset, self._line = 0, 1

    def skip(self, at: int) -> int:
        """The place of the next character that is no white space."""
        while at < len(self._text) and self._text[at] in _SPACE:
            at += 1
        return at

    def next_object(self, at: int) -> int:
        """The place of the next `{` at the beginning of a line, or the end of the text."""
        found = self._text.find("\n{", at)
        return found + 1 if found >= 0 else len(self._text)

    def document(self, at: int) -> tuple[Document, int]:
        """The document that begins at `at`, and where it ends."""
        line = self._line_at(at)
        lines: dict[int, int] = {}
        value: Any
        match self._text[at]:
            case "{":
                value, end = self._object(at, lines)
            case "[":
                value, end = self._array(at, lines)
            case _:
                value, end = _DECODER.raw_decode(self._text, at)
        if "\\ud" in self._text[at:end].lower():
            _check_surrogates(value)
        return Document(value, line, lines), end

    def _object(self, at: int, lines: dict[int, int]) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self.skip(at + 1)
        if self._peek(at) == "}":
            return found, at + 1
        while True:
            if self._peek(at) != '"':
                raise json.JSONDecodeError("Expecting property name enclosed in double quotes", self._text, at)
            key, at = _DECODER.raw_decode(self._text, at)
            at = self.skip(at)
            if self._peek(at) != ":":
                raise json.JSONDecodeError("Expecting ':' delimiter", self._text, at)
            at = self.skip(at + 1)
            if key == "items" and self._peek(at) == "[":
                found[key], at = self._array(at, lines)
            else:
                found[key], at = _DECODER.raw_decode(self._text, at)
            at, more = self._next(at, "}")
            if not more:
                return found, at

    def _array(self, at: int, lines: dict[int, int]) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.skip(at + 1)
        if self._peek(at) == "]":
            return found, at + 1
        while True:
            line = self._line_at(at)
            item, at = _DECODER.raw_decode(self._text, at)
            found.append(item)
            lines[id(item)] = line
            at, more = self._next(at, "]")
            if not more:
                return found, at

    def _next(self, at: int, closing: str) -> tuple[int, bool]:
        at = self.skip(at)
        match self._peek(at):
            case ",":
                return self.skip(at + 1), True
            case found if found == closing:
                return at + 1, False
            case _:
                raise json.JSONDecodeError("Expecting ',' delimiter", self._text, at)

    def _peek(self, at: int) -> str:
        return self._text[at : at + 1]

    def _line_at(self, at: int) -> int:
        self._line += self._text.count("\n", self._offset, at)
        self._offset = at
        return self._line


def _check_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a string holds half of a surrogate pair") from None


def _problem(message: str, source: str, text: str, at: int) -> Problem:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Problem(message=message, source=source, line=line, column=column, excerpt=excerpt_of(text, line))


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]
