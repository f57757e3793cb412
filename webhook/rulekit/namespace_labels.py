"""Fallgate's labels on namespaces: which of them mean nothing, and what may have been meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Final

from webhook.model.finding import MODES
from webhook.rulekit.modes import MODE_LABEL
from webhook.rulekit.policies import Match, PolicySet, RulePolicy
from webhook.rulekit.view import TIER_LABEL

PREFIX: Final = "fallgate.dev/"
#: What Fallgate reads and writes as annotations.
ANNOTATIONS: Final = frozenset(
    PREFIX + name for name in ("compatible-shapes", "compatible-when", "fallback", "injected", "steered", "uniform")
)
_MODES_IN_WORDS: Final = "enforce, warn, audit or off"


@dataclass(frozen=True, slots=True)
class LabelProblem:
    """A label that counts for nothing: why, and what to write. `of_tier`: no policy names its tier. `near`: one is alike."""

    key: str
    why: str
    remedy: str
    of_tier: bool = False
    near: bool = False


def label_problems(
    labels: Mapping[str, str], policies: PolicySet, rules: Mapping[str, Collection[str]]
) -> Iterator[LabelProblem]:
    """The labels of a namespace that begin as Fallgate's do and count for nothing. `rules` are all rules with their reasons."""
    for key, value in labels.items():
        if key == TIER_LABEL:
            yield from _tier(value, policies)
        elif key == MODE_LABEL:
            yield from _mode(key, value)
        elif key.startswith(MODE_LABEL + "."):
            yield from _mode_of_rule(key, value, rules)
        elif key.startswith(PREFIX) and key not in _selected_keys(policies):
            yield _unknown(key, value, rules)


def named_tiers(policies: PolicySet) -> tuple[str, ...]:
    """Every tier that some policy names, sorted."""
    found = {policies.default_tier}
    found.update(chain.from_iterable(policy.tiers for policy in policies.tier_fallback))
    for match in _matches(policies):
        found.update(match.tiers)
        selector = match.namespace_selector
        if selector is not None:
            found.add(selector.match_labels.get(TIER_LABEL, ""))
            found.update(chain.from_iterable(item.values for item in selector.match_expressions if item.key == TIER_LABEL))
    return tuple(sorted(found - {""}))


def _tier(value: str, policies: PolicySet) -> Iterator[LabelProblem]:
    tiers = named_tiers(policies)
    if not value or not tiers or value in tiers or _in_cel(value, policies):
        return
    near = _nearest(value, tiers)
    remedy = f"write {TIER_LABEL}: {near}" if near else f"known tiers: {', '.join(tiers)}"
    yield LabelProblem(TIER_LABEL, f'no policy names the tier "{value}"', remedy, of_tier=True, near=bool(near))


def _in_cel(value: str, policies: PolicySet) -> bool:
    """Whether the organisation's own rules speak of the value: they can ask for `tier` too."""
    texts = chain.from_iterable((rule.require, rule.when) for rule in policies.claim_rules)
    return any(f"{quote}{value}{quote}" in text.text for text in texts if text is not None for quote in "\"'")


def _mode(key: str, value: str) -> Iterator[LabelProblem]:
    if value in MODES:
        return
    near = _nearest(value, MODES)
    remedy = f"write {key}: {near}" if near else f"write {_MODES_IN_WORDS}"
    yield LabelProblem(key, f'"{value}" is no mode ({_MODES_IN_WORDS}): the label counts for nothing', remedy, near=bool(near))


def _mode_of_rule(key: str, value: str, rules: Mapping[str, Collection[str]]) -> Iterator[LabelProblem]:
    name = key.removeprefix(MODE_LABEL + ".")
    if name in rules:
        yield from _mode(key, value)
        return
    rule = next((rule for rule, reasons in rules.items() if name in reasons), "")
    if rule:
        why = f"{name} is a reason of the rule {rule}, and modes are for whole rules: the label counts for nothing"
        yield LabelProblem(key, why, f"write {MODE_LABEL}.{rule}: {value}", near=True)
        return
    near = _nearest(name, rules)
    remedy = (
        f"write {MODE_LABEL}.{near}: {value}"
        if near
        else "remove it, or write the id of a rule, as messages begin with it: [device-ownership]"
    )
    yield LabelProblem(key, f'there is no rule "{name}": the label counts for nothing', remedy, near=bool(near))


def _unknown(key: str, value: str, rules: Collection[str]) -> LabelProblem:
    if key in ANNOTATIONS:
        return LabelProblem(
            key, f"{key} is an annotation: as a label it counts for nothing", "write it under annotations", near=True
        )
    names = [name.removeprefix(PREFIX) for name in (TIER_LABEL, MODE_LABEL, *(f"{MODE_LABEL}.{rule}" for rule in rules))]
    near = _nearest(key.removeprefix(PREFIX), names)
    remedy = (
        f"write {PREFIX}{near}: {value}"
        if near
        else f"remove it; the labels are {TIER_LABEL}, {MODE_LABEL} and {MODE_LABEL}.<rule-id>"
    )
    return LabelProblem(key, f"Fallgate reads no label {key}", remedy, near=bool(near))


def _selected_keys(policies: PolicySet) -> set[str]:
    """Labels that policies choose namespaces by, beside Fallgate's own."""
    selectors = [match.namespace_selector for match in _matches(policies) if match.namespace_selector is not None]
    return {
        key for selector in selectors for key in (*selector.match_labels, *(item.key for item in selector.match_expressions))
    }


def _matches(policies: PolicySet) -> Iterator[Match]:
    kinds: tuple[Sequence[RulePolicy], ...] = (
        policies.fallback_compatibility,
        policies.tier_fallback,
        policies.device_ownership,
        policies.checks,
        policies.claim_rules,
    )
    return (policy.header.match for policy in chain.from_iterable(kinds))


def _nearest(text: str, known: Collection[str]) -> str:
    return next(iter(get_close_matches(text.lower(), known, n=1, cutoff=0.7)), "")
