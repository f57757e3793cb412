"""Documents for machines: JSON, one object a line, and YAML, one document each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import yaml

from webhook.folder.scalars import resolve

DocumentFormat = Literal["json", "yaml"]


def as_json_line(document: object) -> str:
    """`document` on a single line, keys in their own order, non-ASCII characters as they are."""
    return json.dumps(document, ensure_ascii=False, separators=(", ", ": "), default=_plain)


def as_yaml(document: object) -> str:
    """`document` as block YAML as people write it: keys in their own order, texts of several lines as literal blocks."""
    text: str = yaml.dump(
        plain(document), Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=4096
    )
    return text


def as_documents(documents: Iterable[object], form: DocumentFormat) -> str:
    """All documents: JSON lines, or YAML documents each begun by `---`."""
    if form == "json":
        return "".join(as_json_line(document) + "\n" for document in documents)
    return "".join("---\n" + as_yaml(document) for document in documents)


def plain(value: object) -> Any:
    """`value` with every mapping a dict and every sequence a list, so that any serialiser takes it."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def _plain(value: object) -> Any:
    if isinstance(value, Mapping | Sequence):
        return plain(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


class _Dumper(yaml.SafeDumper):
    """Repeats a value where it occurs again, instead of writing an anchor."""

    def ignore_aliases(self, data: object) -> bool:
        """Never write anchors."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    # kubectl takes more for numbers and booleans than PyYAML does: `1e3`, `y`.
    if style is None and resolve(text) != text:
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
