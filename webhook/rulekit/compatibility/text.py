"""The words for shapes that are not declared, and the shortest declaration that would cover them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION, Declared, Level
from webhook.rulekit.compatibility.writing import entries_for
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.shapes.shape import Shape

#: Shapes that are spelt out in one line, and entries in one suggestion; what is beyond is counted.
MOST_SHAPES, MOST_ENTRIES = 8, 32


def undeclared_words(who: str, shapes: Sequence[Shape], declared: Declared, own: Level, untried: str = "") -> str:
    """`"a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)`, or `may give 2x a100-40gb, which is not ...`.

    `who` is what goes in front, a name or a verb. `own` is the level at which the object under review declares: what was
    declared elsewhere is said with its place, and why `compatible-when` has not been asked about everything (`untried`).
    """
    why = "; ".join(filter(None, (declared_words(declared, own), untried)))
    said = f"{'is' if len(shapes) == 1 else 'are'} not declared ({why})"
    return f"{who}{listed(shapes)}{' ' if who.endswith(': ') else ', which '}{said}"


def declared_words(declared: Declared, own: Level) -> str:
    """`declared: h100-80gb`, `declared by Namespace team-a: h100-80gb`, `nothing is declared`."""
    if not declared.present:
        return "nothing is declared"
    by = "" if declared.level == own else f" by {declared.origin}"
    return f"declared{by}: {declared.text}"


def listed(shapes: Sequence[Shape], most: int = MOST_SHAPES) -> str:
    """`2x a100-40gb, 1x t4 and 3 more`."""
    shown = ", ".join(str(shape) for shape in shapes[:most])
    return shown if len(shapes) <= most else f"{shown} and {len(shapes) - most} more"


def in_words(items: Sequence[str], most: int = MOST_SHAPES) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 more`."""
    shown = [*items] if len(items) <= most else [*items[:most], f"{len(items) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a declaration would have to say about one request: what it says, and the shapes that are missing.

    `scope` is how an entry says that it is meant for this request alone: `accelerator/gpu: `.
    """

    declared: Declared
    missing: tuple[Shape, ...]
    scope: str = ""


def shortest_declaration(wanted: Iterable[Wanted], level: Level, catalog: Catalog) -> str:
    """The shortest text that declares all of it at `level`: what is declared, as it was written, and what is missing.

    What was declared further off is repeated, because a nearer declaration takes its place. Where all that is declared about
    a request is said with a scope, what is added is given the same scope; where the owner has scoped what he declares of one
    request, what is added for another is scoped too: it must not loosen the first.
    """
    wanted = tuple(wanted)
    texts: dict[str, None] = {}
    added: dict[str, list[Shape]] = {}
    scoped = any(entry.scope for item in wanted if item.declared.level == level for entry in item.declared.statement.entries)
    for item in wanted:
        entries = item.declared.statement.entries
        near = entries if item.declared.level == level else ()
        own = item.scope if scoped and not near else ""
        texts.update(dict.fromkeys(f"{entry.scope or own}{entry.text}" for entry in entries))
        scope = near[0].scope if near and all(entry.scope for entry in near) else own
        added.setdefault(scope, []).extend(item.missing)
    for scope, shapes in added.items():
        texts.update(dict.fromkeys(f"{scope}{text}" for text in entries_for(shapes, catalog)))
    parts = list(texts)
    return ", ".join(parts[:MOST_ENTRIES]) + (f", and {len(parts) - MOST_ENTRIES} more" if len(parts) > MOST_ENTRIES else "")


def as_annotation(declaration: str) -> str:
    """The annotation, quoted so that it can be pasted into YAML."""
    return f"{SHAPES_ANNOTATION}: {json.dumps(declaration, ensure_ascii=False)}"
