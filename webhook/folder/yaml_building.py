"""YAML parser events -> Python values. Keeps no more than one document in mind and never recurses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from webhook.folder.document import Document
from webhook.folder.scalars import Scalar, key_text, resolve

#: Values that aliases may add to one document. Manifests use a few; a "billion laughs" file uses billions.
MAX_ALIASED: Final = 100_000
#: Levels of nesting: Kubernetes' own types, CRD schemas included, stay far below.
MAX_DEPTH: Final = 200

_STRING_TAGS: Final = frozenset({"!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:binary"})
_CORE_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = object()
_NO_KEY: Final = object()


class YamlFault(Exception):
    """YAML that parses and is not usable; `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key given twice in one mapping, where it is given again."""

    key: str
    line: int
    column: int


@dataclass(slots=True)
class _Frame:
    """A mapping or list that is being read. `size` counts the values in it, aliased ones as often as they appear."""

    value: Any
    line: int
    anchor: str | None
    key: Any = _NO_KEY
    merges: list[Any] = field(default_factory=list)
    size: int = 1


class Builder:
    """Makes documents of events. `duplicates` collects what is given twice."""

    def __init__(self, lines_before: int) -> None:
        self._before = lines_before
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased = 0
        self._lines: dict[int, int] = {}
        self._root: Any = None
        self.duplicates: list[DuplicateKey] = []

    def documents(self, events: Iterable[yaml.Event]) -> Iterator[Document]:
        """The documents, as they are completed.

        Raises YamlFault, and whatever the event source raises.
        """
        line = 1
        for event in events:
            if not self._frames and isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
                line = self._line(event)
            match event:
                case yaml.ScalarEvent():
                    self._add(self._scalar(event), 1, event, event.anchor)
                case yaml.MappingStartEvent():
                    self._start({}, event)
                case yaml.SequenceStartEvent():
                    self._start([], event)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    self._end(event)
                case yaml.AliasEvent():
                    self._alias(event)
                case yaml.DocumentStartEvent():
                    self._root, self._anchors, self._aliased, self._lines = None, {}, 0, {}
                case yaml.DocumentEndEvent():
                    yield Document(self._root, line, self._lines)

    def _line(self, event: yaml.Event) -> int:
        return self._place(event)[0]

    def _place(self, event: yaml.Event) -> tuple[int, int]:
        mark: Any = event.start_mark
        return self._before + mark.line + 1, mark.column + 1

    def _fault(self, message: str, event: yaml.Event) -> YamlFault:
        return YamlFault(message, *self._place(event))

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        if event.tag is None:
            if not event.implicit[0]:
                return event.value
            if event.value == "<<" and self._frames and self._expects_key(self._frames[-1]):
                return _MERGE
            return resolve(event.value)
        if event.tag in _STRING_TAGS:
            return event.value
        if event.tag.startswith(_CORE_TAG):
            return resolve(event.value)
        raise self._fault(f"the tag {event.tag} means nothing to Kubernetes: take it off", event)

    def _expects_key(self, frame: _Frame) -> bool:
        return isinstance(frame.value, dict) and frame.key is _NO_KEY

    def _start(self, value: Any, event: yaml.CollectionStartEvent) -> None:
        if len(self._frames) >= MAX_DEPTH:
            raise self._fault(f"this is nested more than {MAX_DEPTH} levels deep", event)
        if self._frames and self._expects_key(self._frames[-1]):
            raise self._fault("a key must be text, not a mapping or a list", event)
        self._frames.append(_Frame(value, self._line(event), event.anchor))

    def _end(self, event: yaml.Event) -> None:
        frame = self._frames.pop()
        value = frame.value
        for merged in frame.merges:
            value.update({key: item for key, item in merged.items() if key not in value})
        # Lines are wanted of what may be a Kubernetes object: a document, an item of a list, whatever names a kind.
        if isinstance(value, dict) and (len(self._frames) <= 2 or "kind" in value):
            self._lines[id(value)] = frame.line
        self._add(value, frame.size, event, frame.anchor)

    def _alias(self, event: yaml.AliasEvent) -> None:
        found = self._anchors.get(event.anchor or "")
        if found is None:
            raise self._fault(f"the alias *{event.anchor} has no complete anchor &{event.anchor} before it", event)
        value, size = found
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            raise self._fault(f"aliases make this document more than {MAX_ALIASED} values larger: write it out", event)
        self._add(value, size, event, None)

    def _add(self, value: Any, size: int, event: yaml.Event, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        if not self._frames:
            self._root = value
            return
        frame = self._frames[-1]
        frame.size += size
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is _NO_KEY:
            frame.key = self._key(value, frame, event)
        elif frame.key is _MERGE:
            self._merge(value, frame, event)
        else:
            frame.value[frame.key] = value
            frame.key = _NO_KEY

    def _key(self, value: Any, frame: _Frame, event: yaml.Event) -> Any:
        if value is _MERGE:
            return _MERGE
        if isinstance(value, dict | list):
            raise self._fault("a key must be text, not a mapping or a list", event)
        scalar: Scalar = value
        key = key_text(scalar)
        if key in frame.value:
            self.duplicates.append(DuplicateKey(key, *self._place(event)))
        return key

    def _merge(self, value: Any, frame: _Frame, event: yaml.Event) -> None:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in sources):
            raise self._fault("<< takes a mapping, or a list of mappings", event)
        frame.merges.extend(sources)
        frame.key = _NO_KEY
