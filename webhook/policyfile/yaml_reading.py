"""Bytes -> YAML documents with places. Says everything that is wrong with the YAML itself; never raises.

A document with a syntax error does not hide the others: reading goes on at the next `---`. Aliases are counted with what they
stand for, so that a small file cannot stand for a large one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import yaml

from webhook.errors import Problem
from webhook.policyfile.source import Place, Source, source_of
from webhook.policyfile.yaml_faults import describe_fault
from webhook.policyfile.yaml_nodes import Mapping, Node, Scalar, Sequence, core_value

#: One file. A ConfigMap holds 1 MiB.
MAX_BYTES = 2 * 1024 * 1024
#: Values in one document, aliases expanded.
MAX_NODES = 50_000
#: Faults of the YAML itself after which the rest of a file is left alone: every one means to begin anew.
MAX_FAULTS = 100
#: Lists and mappings within one another. The format itself needs 10.
MAX_DEPTH = 40

_TAG = "tag:yaml.org,2002:"
_KNOWN_TAGS = frozenset({_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq")} | {"!"})
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t\r\n]+)*")
_DOCUMENT_START = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)


@dataclass(slots=True)
class Documents:
    """The documents of a file that could be read, in order, and what is wrong with the YAML."""

    documents: list[Node] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_documents(name: str, data: bytes) -> Documents:
    """All documents of a file. Empty ones are left out."""
    found = Documents()
    source = _decode(name, data, found.problems)
    if source is None:
        return found
    start = 0
    while start < len(source.text) and len(found.problems) < MAX_FAULTS:
        try:
            _compose_all(source, start, found)
            break
        except _Unreadable as unreadable:
            found.problems.append(unreadable.problem)
            following = _DOCUMENT_START.search(source.text, max(unreadable.index, start + 1))
            start = following.start() if following else len(source.text)
    return found


class _Mark(Protocol):
    """A parser's place in its text."""

    index: int


class _Unreadable(Exception):
    """The rest of the document cannot be read."""

    def __init__(self, place: Place, message: str, hint: str) -> None:
        super().__init__(message)
        self.problem = place.problem(message, hint)
        self.index = place.index


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been seen. `key` is the key whose value comes next."""

    place: Place
    anchor: str | None
    mapping: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, tuple[Scalar, Node]] = field(default_factory=dict)
    key: Scalar | None = None
    skip_value: bool = False
    key_next: bool = True
    size: int = 1


def _decode(name: str, data: bytes, problems: list[Problem]) -> Source | None:
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data):,} bytes; {MAX_BYTES:,} are the limit"
        problems.append(Problem(message=message, source=name, hint="split it into several files"))
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = source_of(name, data[: error.start].decode("utf-8-sig", errors="replace"))
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} cannot be read"
        problems.append(Place(before, len(before.text)).problem(message, "save the file as UTF-8"))
        return None
    source = source_of(name, text)
    for odd in _UNPRINTABLE.finditer(text):
        message = f"the character U+{ord(odd[0]):04X} is not allowed in YAML"
        problems.append(Place(source, odd.start()).problem(message, 'remove it, or write it as an escape in "quotes"'))
    return source_of(name, _UNPRINTABLE.sub("\ufffd", text)) if problems else source


def _compose_all(source: Source, start: int, found: Documents) -> None:
    """Add the documents from index `start` on. Raises _Unreadable at the first place that stops the reading."""
    composer = _Composer(source, start, found.problems)
    for event in composer.events():
        match event:
            case yaml.DocumentStartEvent():
                composer.begin()
            case yaml.DocumentEndEvent():
                if composer.root is not None and not composer.broken and not _empty(composer.root):
                    found.documents.append(composer.root)
            case _:
                composer.take(event)


def _empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


class _Composer:
    """Builds nodes from parser events, without recursion: depth is limited by us, not by Python's stack."""

    def __init__(self, source: Source, start: int, problems: list[Problem]) -> None:
        self.source = source
        self.start = start
        self.problems = problems
        self.begin()

    def begin(self) -> None:
        """Forget the previous document."""
        self.root: Node | None = None
        self.broken = False
        self.open: list[_Open] = []
        self.anchors: dict[str, Node] = {}

    def events(self) -> Iterator[yaml.Event]:
        """The parser's events; its errors as _Unreadable."""
        try:
            yield from yaml.parse(self.source.text[self.start :], Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            place, message, hint = describe_fault(error, self.source, self.start)
            raise _Unreadable(place, message, hint) from None
        except (yaml.YAMLError, ValueError, OverflowError):
            # An escape beyond Unicode, a %YAML version of thousands of digits: the parser's own slips have no place.
            place = self.open[-1].place if self.open else self.place(None)
            raise _Unreadable(place, "not valid YAML: a value here or below cannot be read", "") from None

    def place(self, mark: _Mark | None) -> Place:
        """The place of one of the parser's marks."""
        return Place(self.source, min(self.start + (mark.index if mark is not None else 0), len(self.source.text)))

    def take(self, event: yaml.Event) -> None:
        """One event within a document."""
        match event:
            case yaml.ScalarEvent():
                self._check_tag(event)
                self._add(self._scalar(event), event.anchor)
            case yaml.AliasEvent():
                self._add(self._alias(event), None)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._check_tag(event)
                self._descend(event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._ascend()

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        text = event.value
        place = self.place(event.start_mark)
        if event.anchor or event.tag:
            properties = _PROPERTIES.match(self.source.text, place.index)
            place = Place(self.source, properties.end() if properties else place.index)
        if _SURROGATE.search(text):
            self.problems.append(place.problem("an escape in this text is no Unicode character", "write the character itself"))
            self.broken = True
        style = event.style or ""
        as_text = style or event.tag in (_TAG + "str", "!")
        return Scalar(
            place=place,
            end=self.place(event.end_mark).index,
            text=text,
            style=style,
            value=text if as_text else core_value(text),
        )

    def _alias(self, event: yaml.AliasEvent) -> Node:
        place = self.place(event.start_mark)
        known = self.anchors.get(event.anchor or "")
        if known is not None:
            return known
        within = any(frame.anchor == event.anchor for frame in self.open)
        message = f"*{event.anchor} stands within the value it refers to" if within else f"*{event.anchor} refers to no anchor"
        hint = "" if within else f"put &{event.anchor} before the value that is meant, earlier in the same document"
        self.problems.append(place.problem(message, hint))
        self.broken = True
        return Scalar(place=place, end=place.index, text="", style="", value=None)

    def _check_tag(self, event: yaml.ScalarEvent | yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        if event.tag is not None and event.tag not in _KNOWN_TAGS:
            shown = event.tag.replace(_TAG, "!!")
            place = self.place(event.start_mark)
            self.problems.append(place.problem(f"the tag {shown} means nothing here", "remove the tag"))

    def _descend(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        place = self.place(event.start_mark)
        if len(self.open) >= MAX_DEPTH:
            raise _Unreadable(place, f"lists and mappings are nested more than {MAX_DEPTH} deep", "")
        self.open.append(_Open(place, event.anchor, isinstance(event, yaml.MappingStartEvent)))

    def _ascend(self) -> None:
        frame = self.open.pop()
        if frame.mapping:
            node: Node = Mapping(place=frame.place, entries=tuple(frame.entries.values()), size=frame.size)
        else:
            node = Sequence(place=frame.place, items=tuple(frame.items), size=frame.size)
        self._add(node, frame.anchor)

    def _add(self, node: Node, anchor: str | None) -> None:
        """Put a finished node where it belongs: document root, list item, key or value."""
        if anchor:
            self.anchors[anchor] = node
        if not self.open:
            self.root = node
            return
        frame = self.open[-1]
        frame.size += node.size
        if frame.size > MAX_NODES:
            message = f"the document holds more than {MAX_NODES:,} values"
            raise _Unreadable(frame.place, message, "aliases count with all that they stand for")
        if not frame.mapping:
            frame.items.append(node)
        elif frame.key_next:
            frame.key_next = False
            self._add_key(frame, node)
        else:
            frame.key_next = True
            if frame.key is not None and not frame.skip_value:
                frame.entries[frame.key.text] = (frame.key, node)

    def _add_key(self, frame: _Open, node: Node) -> None:
        frame.key, frame.skip_value = None, False
        if not isinstance(node, Scalar):
            self.problems.append(node.place.problem("a key must be text, not a list or mapping", ""))
            return
        frame.key = node
        if node.text in frame.entries:
            first = frame.entries[node.text][0].place
            self.problems.append(
                node.place.problem(f'key "{node.text}" is given twice', f"the first is in line {first.line}; keep one of them")
            )
            frame.skip_value = True
