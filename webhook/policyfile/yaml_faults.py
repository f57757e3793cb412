"""What the YAML parser complains about, in words for somebody who edits a policy file."""

from __future__ import annotations

import yaml

from webhook.policyfile.source import Place, Source

#: Beginning of the parser's complaint -> what is wrong, and what usually helps.
_WORDS = (
    (
        "mapping values are not allowed",
        '": " cannot stand here',
        'text with ": " in it needs quotes or a block (|-); else look at the indentation',
    ),
    ("found character '\\t'", "a tab cannot stand here", "indent with spaces"),
    ("found character", "text cannot begin with this character", "put it in quotes"),
    (
        "could not find expected ':'",
        "a key without a colon",
        'write ": " behind the key; text over several lines needs quotes or a block (|-)',
    ),
    (
        "expected <block end>",
        "this line does not belong to what stands above it",
        "look at the indentation, and at text behind a closing quote",
    ),
    ("expected alphabetic or numeric", "a name is missing behind * or &", "text that begins with * or & needs quotes"),
    ("expected ',' or ']'", "a list in [ ] does not go on here", "a comma or ] is missing, or text with { } or ? needs quotes"),
    (
        "expected ',' or '}'",
        "a mapping in { } does not go on here",
        "a comma or } is missing, or text with [ ] { } or ? needs quotes",
    ),
    ("found unknown escape", "no such escape", "write a backslash as \\\\ in double quotes, or use single quotes"),
    ("found unexpected end of stream", "a quoted text does not end", "the closing quote is missing"),
    ("found unexpected document separator", "a quoted text does not end before this line", "the closing quote is missing"),
    (
        "sequence entries are not allowed",
        "a list cannot begin here",
        'begin it on a new line, with "- " before each item',
    ),
    ("expected '<document start>'", "a new document without a line ---", "separate documents by a line ---"),
    ("did not find expected <document start>", "a new document without a line ---", "separate documents by a line ---"),
)

_CONSTRUCTS = (
    ("flow sequence", "list"),
    ("flow mapping", "mapping"),
    ("block mapping", "mapping"),
    ("block collection", "list"),
    ("quoted scalar", "text"),
)


def describe_fault(error: yaml.MarkedYAMLError, source: Source, start: int) -> tuple[Place, str, str]:
    """Place, message and hint for a parser error in the text from index `start` on."""
    mark = error.problem_mark or error.context_mark
    index = min(start + (mark.index if mark is not None else 0), len(source.text))
    place = Place(source, index)
    complaint = error.problem or error.context or "it cannot be read"
    words = ((wrong, hint) for beginning, wrong, hint in _WORDS if complaint.startswith(beginning))
    wrong, hint = next(words, (complaint, ""))
    opened = _opened(error, source, start, place)
    return place, f"not valid YAML: {wrong}", "; ".join(part for part in (hint, opened) if part)


def _opened(error: yaml.MarkedYAMLError, source: Source, start: int, place: Place) -> str:
    """Where the construct began in which the parser got stuck, when that is another line."""
    if error.context_mark is None or error.problem_mark is None:
        return ""
    begun = Place(source, min(start + error.context_mark.index, len(source.text)))
    what = next((words for name, words in _CONSTRUCTS if (error.context or "").endswith(name)), "")
    return f"the {what} begins in line {begun.line}" if what and begun.line != place.line else ""
