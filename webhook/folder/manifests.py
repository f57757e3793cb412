"""Bytes of a YAML or JSON file -> Kubernetes objects, each with its place: documents and Lists are taken apart."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from webhook.errors import Problem
from webhook.folder.document import Document, Documents, excerpt_of
from webhook.folder.json_reading import read_json
from webhook.folder.yaml_reading import read_yaml
from webhook.model.tolerant import Json, text

#: Bytes that a compressed file may unpack to: a dump of the largest clusters is a tenth of it.
MAX_UNPACKED: Final = 2 * 1024**3

_GZIP_MAGIC: Final = b"\x1f\x8b"
_NO_ITEMS: Final = object()
_TYPES: Final = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True, eq=False)
class FileObject:
    """A Kubernetes object and where it was written. `raw` has apiVersion and kind, a List's item those of its List."""

    raw: Json
    source: str
    line: int

    @property
    def place(self) -> str:
        """`file:line`"""
        return f"{self.source}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestReading:
    """What a file holds. `listed_kinds` are the kinds of typed Lists (PodList): they were looked at, even if empty."""

    objects: tuple[FileObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    listed_kinds: frozenset[str] = frozenset()


def read_manifests(data: bytes | str, source: str) -> ManifestReading:
    """The objects of a file: YAML or JSON, gzipped or not, many documents, Lists (of any kind), JSON lines.

    Whatever cannot be used is a problem with its place; the rest is read. Never raises on odd content.
    """
    content = _decoded(data, source)
    if isinstance(content, Problem):
        return ManifestReading(problems=(content,))
    documents = _documents(content, source)
    sorter = _Sorter(source, content)
    objects = tuple(found for document in documents.documents for found in sorter.objects(document))
    return ManifestReading(
        objects=objects,
        problems=tuple(sorted((*documents.problems, *sorter.problems), key=lambda problem: problem.line)),
        listed_kinds=frozenset(sorter.listed_kinds),
    )


def _decoded(data: bytes | str, source: str) -> str | Problem:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    if data.startswith(_GZIP_MAGIC):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(MAX_UNPACKED + 1)
        except (OSError, EOFError, zlib.error) as fault:
            return Problem(message=f"this is not a complete gzip file: {fault}", source=source)
        if len(data) > MAX_UNPACKED:
            return Problem(message=f"this unpacks to more than {MAX_UNPACKED} bytes", source=source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        return Problem(message=f"this is not UTF-8 text: byte 0x{data[fault.start]:02x}", source=source, line=line)


def _documents(content: str, source: str) -> Documents:
    if content.lstrip()[:1] not in ("{", "["):
        return read_yaml(content, source)
    as_json = read_json(content, source)
    if not as_json.problems:
        return as_json
    # YAML's flow style begins like JSON.
    as_yaml = read_yaml(content, source)
    return as_json if as_yaml.problems else as_yaml


class _Sorter:
    """Takes documents apart into objects; collects what is none."""

    def __init__(self, source: str, content: str) -> None:
        self._source = source
        self._content = content
        self.problems: list[Problem] = []
        self.listed_kinds: set[str] = set()

    def objects(self, document: Document) -> Iterator[FileObject]:
        """The objects of a document, in their order."""
        value = document.value
        waiting = [(item, document.line_of(item)) for item in (reversed(value) if isinstance(value, list) else (value,))]
        while waiting:
            found, line = waiting.pop()
            if not isinstance(found, dict):
                self._report(f"a Kubernetes object is a mapping with apiVersion and kind, this is {_type_of(found)}", line)
                continue
            kind, api_version = text(found.get("kind")), text(found.get("apiVersion"))
            if not kind or not api_version:
                self._report(f"this object has no {'kind' if api_version else 'apiVersion'}", line)
            elif kind.endswith("List") and isinstance(found.get("items", _NO_ITEMS), list | None):
                self._note(kind)
                items = [(item, document.line_of(item)) for item in found["items"] or ()]
                waiting.extend(reversed([(_typed(item, kind, api_version), line) for item, line in items]))
            else:
                yield FileObject(found, self._source, line)

    def _note(self, list_kind: str) -> None:
        if list_kind != "List":
            self.listed_kinds.add(list_kind.removesuffix("List"))

    def _report(self, message: str, line: int) -> None:
        excerpt = excerpt_of(self._content, line)
        self.problems.append(Problem(message=message, source=self._source, line=line, excerpt=excerpt))


def _typed(item: Any, list_kind: str, api_version: str) -> Any:
    """Items of a typed List carry no kind of their own when they come straight from the API."""
    kind = list_kind.removesuffix("List")
    if not kind or not isinstance(item, dict) or "kind" in item:
        return item
    return {"apiVersion": api_version, "kind": kind, **item}


def _type_of(value: object) -> str:
    return _TYPES.get(type(value), "nothing (null)")
