"""Digests over what policies say, independent of comments, layout, quotes and the order of keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from webhook.policyfile.yaml_nodes import Mapping, find, plain

#: Hex digits that findings show behind a policy's name, and that name a whole set.
POLICY_DIGITS, SET_DIGITS = 7, 12


def document_digest(document: Mapping) -> str:
    """All hex digits over a document's kind, name and spec; labels and annotations do not count."""
    content = {
        "apiVersion": plain(find(document, "apiVersion")),
        "kind": plain(find(document, "kind")),
        "name": plain(find(document, "metadata", "name")),
        "spec": plain(find(document, "spec")),
    }
    return _sha256(content)


def set_digest(documents: Iterable[tuple[str, str, str]]) -> str:
    """The digest of a set, given kind, name and digest of each document in file order.

    Order counts among ShapeCatalogs only, where the first model that fits wins.
    """
    listed = list(documents)
    catalogs = [item for item in listed if item[0] == "ShapeCatalog"]
    others = sorted(item for item in listed if item[0] != "ShapeCatalog")
    return _sha256([*catalogs, *others])[:SET_DIGITS]


def _sha256(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
