"""Whether two policies can be for one object, and two asks for one request. When in doubt: yes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.model.labels import LabelSelector, matches_any
from webhook.rulekit.compatibility.declarations import Declaration, Entry, Part, parse_declaration
from webhook.rulekit.policies import CatalogModel, Match, TierAsk, TierFallback
from webhook.rulekit.shapes.globs import could_share_a_name, is_glob


def clashing_asks(one: TierFallback, other: TierFallback, models: Sequence[CatalogModel]) -> Iterator[tuple[int, int]]:
    """The asks (by index) of two TierFallbacks that one request can be for, in one namespace."""
    if not set(one.tiers) & set(other.tiers) or not namespaces_meet(one.header.match, other.header.match):
        return
    for i, mine in enumerate(one.asks):
        for j, theirs in enumerate(other.asks):
            if asks_meet(mine, theirs, models):
                yield i, j


def namespaces_meet(one: Match, other: Match) -> bool:
    """Whether a namespace can satisfy both."""
    return _names_meet(one, other) and _selectors_meet(one.namespace_selector, other.namespace_selector)


def _names_meet(one: Match, other: Match) -> bool:
    for mine, theirs in ((one, other), (other, one)):
        if mine.namespaces and all(name in theirs.exclude_namespaces for name in mine.namespaces):
            return False
        if mine.namespaces and not any(map(is_glob, mine.namespaces)):
            return any(_accepts(mine, name) and _accepts(theirs, name) for name in mine.namespaces)
    return globs_meet(one.namespaces, other.namespaces)


def _accepts(match: Match, name: str) -> bool:
    wanted = not match.namespaces or matches_any(name, match.namespaces)
    return wanted and not matches_any(name, match.exclude_namespaces)


def globs_meet(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a name can fit a glob of each; an empty list fits every name."""
    return not one or not other or any(could_share_a_name(mine, theirs) for mine in one for theirs in other)


def _selectors_meet(one: LabelSelector | None, other: LabelSelector | None) -> bool:
    """False only when a label would have to have two values, or to be there and not to be there."""
    if one is None or other is None:
        return True
    wanted: dict[str, set[str]] = {}
    for selector in (one, other):
        for key, values in _allowed(selector):
            wanted[key] = wanted[key] & values if key in wanted else values
    present = set(wanted) | {key for selector in (one, other) for key in _keys(selector, "Exists")}
    absent = {key for selector in (one, other) for key in _keys(selector, "DoesNotExist")}
    refused = [(key, values) for selector in (one, other) for key, values in _refused(selector)]
    for key, values in refused:
        if key in wanted:
            wanted[key] = wanted[key] - values
    return not present & absent and all(wanted.values())


def _allowed(selector: LabelSelector) -> Iterator[tuple[str, set[str]]]:
    for key, value in selector.match_labels.items():
        yield key, {value}
    for expression in selector.match_expressions:
        if expression.operator == "In":
            yield expression.key, set(expression.values)


def _refused(selector: LabelSelector) -> Iterator[tuple[str, set[str]]]:
    for expression in selector.match_expressions:
        if expression.operator == "NotIn":
            yield expression.key, set(expression.values)


def _keys(selector: LabelSelector, operator: str) -> Iterator[str]:
    return (expression.key for expression in selector.match_expressions if expression.operator == operator)


def asks_meet(one: TierAsk, other: TierAsk, models: Sequence[CatalogModel]) -> bool:
    """Whether a plain ask can be one of both."""
    if not globs_meet(one.device_classes, other.device_classes):
        return False
    if not one.shapes or not other.shapes:
        return True
    return any(_entries_meet(mine, theirs, models) for mine in _entries(one) for theirs in _entries(other))


def _entries(ask: TierAsk) -> Iterator[Entry]:
    for text in ask.shapes:
        declaration = parse_declaration(text)
        if isinstance(declaration, Declaration):
            yield from declaration.entries


def _entries_meet(one: Entry, other: Entry, models: Sequence[CatalogModel]) -> bool:
    """Whether one shape can be covered by both: as many devices, and of models that both name."""
    low = max(_total_low(one), _total_low(other))
    high = min(_total_high(one), _total_high(other))
    if low > high:
        return False
    return all(
        any(_patterns_meet(part, counterpart, models) for counterpart in theirs.parts)
        for mine, theirs in ((one, other), (other, one))
        for part in mine.parts
    )


def _total_low(entry: Entry) -> float:
    return sum(part.low for part in entry.parts)


def _total_high(entry: Entry) -> float:
    return sum(float("inf") if part.high is None else part.high for part in entry.parts)


def _patterns_meet(one: Part, other: Part, models: Sequence[CatalogModel]) -> bool:
    """Whether both can mean one model, be it by its name or by an alias."""
    if could_share_a_name(one.pattern, other.pattern):
        return True
    return any(
        all(any(could_share_a_name(part.pattern, name) for name in (model.name, *model.aliases)) for part in (one, other))
        for model in models
        if "{" not in model.name
    )
