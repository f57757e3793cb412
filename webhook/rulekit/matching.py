"""Whether a policy is for a review: the `match` block every rule policy has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from webhook.model.claim import Alternative, ClaimSpec
from webhook.model.labels import matches_any
from webhook.rulekit.policies import Match
from webhook.rulekit.view import View


def applies(match: Match, view: View, beside: Sequence[Alternative] = ()) -> bool:
    """Whether everything `match` asks for holds for the object under review and its namespace.

    `beside` are alternatives that the object does not have, or not yet: as if it asked for them too.
    """
    return namespace_fits(match, view) and asks_fit(match, view, beside)


def namespace_fits(match: Match, view: View) -> bool:
    """Whether what `match` asks of the namespace holds."""
    name = view.namespace_name
    if match.namespaces and not matches_any(name, match.namespaces):
        return False
    if match.exclude_namespaces and matches_any(name, match.exclude_namespaces):
        return False
    if match.tiers and view.tier not in match.tiers:
        return False
    return match.namespace_selector is None or match.namespace_selector.matches(view.namespace.labels)


def asks_fit(match: Match, view: View, beside: Sequence[Alternative] = ()) -> bool:
    """Whether what `match` asks of device classes and drivers holds for at least one ask of the object."""
    if not match.device_classes and not match.drivers:
        return True
    return any(_alternative_fits(match, view, alternative) for alternative in chain(_alternatives(view), beside))


def _alternative_fits(match: Match, view: View, alternative: Alternative) -> bool:
    if match.device_classes and not matches_any(alternative.device_class, match.device_classes):
        return False
    if not match.drivers:
        return True
    drivers = view.fleet.inventory.drivers_of_class(alternative.device_class)
    return any(matches_any(driver, match.drivers) for driver in drivers)


def _alternatives(view: View) -> Iterator[Alternative]:
    for spec in specs(view):
        for request in spec.requests:
            yield from request.alternatives


def specs(view: View) -> Iterator[ClaimSpec]:
    """The claim specs an object asks for: its own, or those its pod's claims lead to."""
    if view.claim_spec is not None:
        yield view.claim_spec
    for source in view.pod_claims:
        if source.spec is not None:
            yield source.spec
