"""The words for shapes that are not declared, and the shortest declaration that would cover them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webhook.rulekit.declared import SHAPES_ANNOTATION, Declared, Level
from webhook.rulekit.shape import EVERY, Shape

#: Shapes that are spelt out in one line, and entries in one suggestion; what is beyond is counted.
MOST_SHAPES, MOST_ENTRIES = 8, 32

_SEPARATORS = re.compile(r"[,+*\[\n\r\t]")


def undeclared_words(who: str, shapes: Sequence[Shape], declared: Declared, own: Level) -> str:
    """`"a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)`, or `may give 2x a100-40gb, which is not ...`.

    `who` is what goes in front, a name or a verb. `own` is the level at which the object under review declares: what was
    declared elsewhere is said with its place.
    """
    said = f"{'is' if len(shapes) == 1 else 'are'} not declared ({declared_words(declared, own)})"
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


def shortest_declaration(wanted: Iterable[Wanted], level: Level) -> str:
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
        texts.update(dict.fromkeys(f"{scope}{text}" for text in entries_for(dict.fromkeys(shapes))))
    parts = list(texts)
    return ", ".join(parts[:MOST_ENTRIES]) + (f", and {len(parts) - MOST_ENTRIES} more" if len(parts) > MOST_ENTRIES else "")


def as_annotation(declaration: str) -> str:
    """The annotation, quoted so that it can be pasted into YAML."""
    return f"{SHAPES_ANNOTATION}: {json.dumps(declaration, ensure_ascii=False)}"


def entries_for(shapes: Iterable[Shape]) -> tuple[str, ...]:
    """The fewest entries that cover these shapes and no others: consecutive counts of one model become a range, and `*x`
    stands for all of them."""
    counts: dict[str, list[int]] = {}
    texts: list[str] = []
    mixed: list[str] = []
    for shape in shapes:
        if len(shape.parts) == 1:
            counts.setdefault(shape.models[0], []).append(shape.parts[0][1])
        else:
            mixed.append(" + ".join(_entry(model, count, count) for model, count in shape.parts))
    for model, found in counts.items():
        ranges = [(EVERY, EVERY)] if EVERY in found else _ranges(sorted(found))
        texts.extend(_entry(model, low, high) for low, high in ranges)
    return (*texts, *mixed)


def _ranges(counts: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for count in counts:
        if ranges and ranges[-1][1] + 1 == count:
            ranges[-1] = (ranges[-1][0], count)
        else:
            ranges.append((count, count))
    return ranges


def _entry(model: str, low: int, high: int) -> str:
    # A product name may hold what separates entries: a `?` there stands for any character.
    name = _SEPARATORS.sub("?", model)
    if low == EVERY:
        return f"*x {name}"
    if low == high == 1:
        return name
    return f"{low}x {name}" if low == high else f"{low}-{high}x {name}"
