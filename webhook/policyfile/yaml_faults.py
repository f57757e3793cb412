"""What the YAML parser complains about, in words for somebody who edits a policy file."""

from __future__ import annotations

import yaml

from webhook.policyfile.source import Place, Source

#: Beginning of the parser's complaint -> what usually helps.
_HINTS = (
    ("mapping values are not allowed", 'text with ": " in it needs quotes or a block (|-); else look at the indentation'),
    ("found character '\\t'", "indent with spaces, not with tabs"),
    ("found character '@'", "text that begins with @ needs quotes"),
    ("found character '`'", "text that begins with ` needs quotes"),
    ("found character '%'", "text that begins with % needs quotes"),
    ("could not find expected ':'", 'a key needs ": " behind it; text over several lines needs quotes or a block (|-)'),
    ("expected <block end>", "look at the indentation: this line does not line up with the ones above"),
    ("expected alphabetic or numeric", "text that begins with * or & needs quotes"),
    ("expected ',' or ']'", "a comma or the closing ] is missing"),
    ("expected ',' or '}'", "a comma or the closing } is missing"),
    ("found unknown escape", "write a backslash as \\\\ in double quotes, or use single quotes"),
    ("found unexpected end of stream", "a closing quote is missing"),
    ("found unexpected document separator", "a closing quote is missing before ---"),
    ("sequence entries are not allowed", 'a list begins on a line of its own, with "- " before each item'),
    ("did not find expected <document start>", "several documents are separated by a line ---"),
    ("expected '<document start>'", "several documents are separated by a line ---"),
)


def describe_fault(error: yaml.MarkedYAMLError, source: Source, start: int) -> tuple[Place, str, str]:
    """Place, message and hint for a parser error in the text from index `start` on."""
    mark = error.problem_mark or error.context_mark
    index = min(start + (mark.index if mark is not None else 0), len(source.text))
    place = Place(source, index)
    complaint = error.problem or error.context or "it cannot be read"
    hint = next((text for beginning, text in _HINTS if complaint.startswith(beginning)), "")
    opened = _opened(error, source, start, place)
    return place, f"not valid YAML: {complaint}", "; ".join(part for part in (hint, opened) if part)


def _opened(error: yaml.MarkedYAMLError, source: Source, start: int, place: Place) -> str:
    """Where the construct began in which the parser got stuck, when that is another line."""
    if error.context_mark is None or error.problem_mark is None:
        return ""
    begun = Place(source, min(start + error.context_mark.index, len(source.text)))
    what = (error.context or "").removeprefix("while ").removeprefix("parsing ").removeprefix("scanning ")
    return f"{what} began in line {begun.line}" if what and begun.line != place.line else ""
