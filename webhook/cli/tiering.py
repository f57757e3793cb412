"""Tiers in words: what a plain ask gets as fallbacks, what has to be declared, which models there are. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from rich.text import Text

from webhook.cli.checking import matched
from webhook.cli.offers import Offer
from webhook.model.claim import ALL
from webhook.rulekit.compatibility.declared import SHAPES_ANNOTATION
from webhook.rulekit.policies import (
    CatalogModel,
    FallbackCompatibility,
    PolicySet,
    TierAlternative,
    TierAsk,
    TierFallback,
)

_TARGETS: Final = {
    "generatedClaims": "claims that pods get from a template",
    "claims": "claims that people create",
    "templates": "templates",
}
_MODES: Final = {
    "enforce": "fallbacks are added to",
    "warn": "a warning says what would be added to",
    "audit": "only the audit log says what would be added to",
    "off": "nothing is added to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A tier ("" = namespaces without one), its lists, and the policies that ask for declarations there."""

    name: str
    default: bool
    lists: tuple[TierFallback, ...]
    declarations: tuple[FallbackCompatibility, ...]


def tiers_of(policies: PolicySet) -> tuple[Tier, ...]:
    """Every tier that some policy names, by name; namespaces without a tier last when something is said of them."""
    named = {tier for policy in policies.tier_fallback for tier in policy.tiers}
    named |= {tier for policy in policies.fallback_compatibility for tier in policy.header.match.tiers}
    return tuple(
        Tier(
            name=name,
            default=bool(name) and name == policies.default_tier,
            lists=tuple(policy for policy in policies.tier_fallback if name in policy.tiers),
            declarations=tuple(
                policy
                for policy in policies.fallback_compatibility
                if not policy.header.match.tiers or name in policy.header.match.tiers
            ),
        )
        for name in sorted(named, key=lambda name: (not name, name))
    )


def tier_text(tier: Tier) -> Text:
    """A tier as its tenants read it."""
    title = f"tier {tier.name}" if tier.name else "namespaces without a tier"
    text = Text().append(title, "bold")
    if tier.default:
        text.append(" (also of namespaces without the label fallgate.dev/tier)")
    for policy in tier.lists:
        text.append_text(_list_text(policy))
    if not tier.lists:
        text.append("\n  no fallbacks are added here")
    for needed in tier.declarations:
        asks = "every request that several models satisfy" if needed.requests == "all" else "every list of fallbacks"
        text.append(f"\n  {asks} needs a declaration of the shapes that the program runs on:")
        text.append(f"\n    {SHAPES_ANNOTATION}, on the pod, the claim, its template or the namespace")
        text.append(f" ({needed.header.name}, mode {needed.header.mode})", "dim")
    return text


def _list_text(policy: TierFallback) -> Text:
    header = policy.header
    where = ", ".join(words for key, words in _TARGETS.items() if key in policy.targets)
    text = Text(f"\n  {_MODES[header.mode]} {where}")
    text.append(f"  ({header.name}, mode {header.mode})", "dim")
    restriction = matched(header.match)
    if restriction:
        text.append(f"\n  only for {restriction}")
    for ask in policy.asks:
        text.append(f"\n    {ask_words(ask)}")
        for number, line in enumerate(_entries(ask), 1):
            text.append(f"\n      {number}. {line}")
    return text


def ask_words(ask: TierAsk) -> str:
    """`whoever asks for *x h100-* of class gpu.nvidia.com gets, in this order:`"""
    parts = []
    if ask.shapes:
        parts.append(" or ".join(ask.shapes))
    if ask.device_classes:
        parts.append(f"class {' or '.join(ask.device_classes)}")
    return f"whoever asks for {' of '.join(parts) or 'any device'} gets, in this order:"


def _entries(ask: TierAsk) -> Iterator[str]:
    if ask.author == "first":
        yield "what was asked for"
    for alternative in ask.alternatives:
        yield f"{alternative.name}: {alternative_words(alternative)}"
    if ask.author == "last":
        yield "what was asked for"


def alternative_words(alternative: TierAlternative) -> str:
    """`twice as many a100-40gb`, `1 device of class gpu.nvidia.com with selectors`"""
    what = alternative.model or f"class {alternative.device_class}"
    return f"{_amount(alternative)} {what}" + (" with selectors of its own" if alternative.selectors else "")


def _amount(alternative: TierAlternative) -> str:
    factor = alternative.count_factor
    if alternative.allocation_mode == ALL:
        return "all devices of"
    if alternative.count is not None:
        return f"{alternative.count}x"
    if factor is None or factor == 1:
        return "as many"
    return "twice as many" if factor == 2 else f"{_number(factor)} times as many"


def _number(factor: Fraction) -> str:
    return str(factor.numerator) if factor.denominator == 1 else f"{float(factor):g}"


def model_rows(models: Sequence[CatalogModel], offered: Sequence[Offer]) -> list[tuple[str, ...]]:
    """A table of the models people may name: name, aliases, driver, class, and devices when a fleet is known."""
    counts: dict[str, int] = {}
    for offer in offered:
        counts[offer.model] = counts.get(offer.model, 0) + offer.total("devices")
    rows = [("MODEL", "ALSO", "DRIVER", "CLASS") + (("DEVICES",) if offered else ())]
    for model in models:
        family = model.name.partition("{")
        found = sum(number for name, number in counts.items() if _is_of(name, family[0], bool(family[1])))
        row = (model.name, ", ".join(model.aliases) or "-", model.driver, model.device_class or "-")
        rows.append(row + ((str(found or "-"),) if offered else ()))
    return rows


def _is_of(name: str, before: str, family: bool) -> bool:
    return name.startswith(before) if family else name == before


def tier_document(tier: Tier) -> dict[str, Any]:
    """What `tiers -o json` prints of one tier."""
    return {
        "tier": tier.name,
        "default": tier.default,
        "lists": [_list_document(policy) for policy in tier.lists],
        "declarations": [
            {"policy": item.header.name, "mode": item.header.mode, "requests": item.requests} for item in tier.declarations
        ],
    }


def _list_document(policy: TierFallback) -> dict[str, Any]:
    return {
        "policy": policy.header.name,
        "mode": policy.header.mode,
        "targets": sorted(policy.targets),
        "asks": [
            {
                "shapes": list(ask.shapes),
                "deviceClasses": list(ask.device_classes),
                "author": ask.author,
                "alternatives": [
                    {
                        "name": item.name,
                        "model": item.model,
                        "deviceClassName": item.device_class,
                        "words": alternative_words(item),
                    }
                    for item in ask.alternatives
                ],
            }
            for ask in policy.asks
        ],
    }
