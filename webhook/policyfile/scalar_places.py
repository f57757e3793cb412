"""Where each character of a YAML scalar stands in the file: folded, quoted, in a block. For carets inside CEL."""

from __future__ import annotations

from webhook.policyfile.source import Place
from webhook.policyfile.yaml_nodes import Scalar

_BLANK = " \t\r\n"
_ESCAPE_LENGTH = {"x": 4, "u": 6, "U": 10}


def place_in(scalar: Scalar, line: int, column: int) -> Place:
    """The place of a line and column (from 1) of the scalar's text. Behind the end: behind its last character."""
    lines = scalar.text.split("\n")
    if line < 1 or column < 1:
        return Place(scalar.place.source, _first_index(scalar))
    if line > len(lines):
        line, column = len(lines), len(lines[-1]) + 1
    if scalar.style == "|":
        return _place_in_literal(scalar, line, min(column, len(lines[line - 1]) + 1))
    offset = sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
    return Place(scalar.place.source, _index_of(scalar, min(offset, len(scalar.text))))


def _place_in_literal(scalar: Scalar, line: int, column: int) -> Place:
    """In a literal block every line is the file's line without the block's indentation."""
    source = scalar.place.source
    file_line = min(scalar.place.line + line, len(source.starts))
    text = scalar.text.split("\n")[line - 1]
    indentation = max(len(source.line_text(file_line)) - len(text), 0)
    return Place(source, min(source.starts[file_line - 1] + indentation + column - 1, len(source.text)))


def _first_index(scalar: Scalar) -> int:
    return _index_of(scalar, 0)


def _index_of(scalar: Scalar, offset: int) -> int:
    """The file's index of character `offset` of a flow scalar or folded block."""
    indices = _indices(scalar)
    if offset < len(indices):
        return indices[offset]
    return indices[-1] + 1 if indices else scalar.place.index


def _indices(scalar: Scalar) -> list[int]:
    """For each character of the text its index in the file, found by walking through both side by side.

    Blanks of the text may stand for any blanks of the file (folding); everything else stands for itself or is an escape.
    """
    raw = scalar.place.source.text
    here = _content_start(scalar)
    found: list[int] = []
    for character in scalar.text:
        here = _skip_continuation(raw, here, scalar)
        if character not in _BLANK:
            while here < scalar.end and raw[here] in _BLANK:
                here = _skip_continuation(raw, here + 1, scalar)
        if here >= scalar.end:
            break
        found.append(here)
        here += _raw_length(raw, here, scalar.style)
    return found


def _content_start(scalar: Scalar) -> int:
    index = scalar.place.index
    if scalar.style in ("'", '"'):
        return index + 1
    if scalar.style == ">":
        following = scalar.place.line
        starts = scalar.place.source.starts
        return starts[following] if following < len(starts) else scalar.end
    return index


def _skip_continuation(raw: str, here: int, scalar: Scalar) -> int:
    """In double quotes a backslash at the end of a line joins it with the next, without its leading blanks."""
    while scalar.style == '"' and here + 1 < scalar.end and raw[here] == "\\" and raw[here + 1] in "\r\n":
        here += 1
        while here < scalar.end and raw[here] in _BLANK:
            here += 1
    return here


def _raw_length(raw: str, here: int, style: str) -> int:
    """How many characters of the file make one character of the text."""
    if style == "'" and raw.startswith("''", here):
        return 2
    if style == '"' and raw[here] == "\\":
        return _ESCAPE_LENGTH.get(raw[here + 1 : here + 2], 2)
    return 1
