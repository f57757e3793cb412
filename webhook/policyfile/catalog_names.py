"""The names that ShapeCatalogs give, taken from their documents: a mistake elsewhere in a model takes no name away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from webhook.policyfile.documents import Document
from webhook.policyfile.source import Place
from webhook.policyfile.yaml_nodes import Mapping, Node, Scalar, find
from webhook.policyfile.yaml_nodes import Sequence as SequenceNode
from webhook.rulekit.shapes.globs import could_share_a_name

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class CatalogName:
    """A model's name or alias, where it is written, and whether the model names a device class."""

    name: str
    place: Place
    in_class: bool

    def fits(self, pattern: str) -> bool:
        """Whether `pattern`, a name or glob, can mean the model, or one of its family."""
        return could_share_a_name(pattern, _PLACEHOLDER.sub("*", self.name))


def catalog_names(documents: Iterable[Document]) -> Iterator[CatalogName]:
    """All names and aliases, in file order."""
    for document in documents:
        models = find(document.node, "spec", "models")
        if document.kind == "ShapeCatalog" and isinstance(models, SequenceNode):
            yield from (name for model in models.items if isinstance(model, Mapping) for name in _names_of(model))


def _names_of(model: Mapping) -> Iterator[CatalogName]:
    aliases = model.get("aliases")
    listed: Sequence[Node] = aliases.items if isinstance(aliases, SequenceNode) else ()
    for node in (model.get("name"), *listed):
        if isinstance(node, Scalar) and isinstance(node.value, str):
            yield CatalogName(node.text, node.place, model.get("deviceClassName") is not None)
