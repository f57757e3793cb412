"""Whether `fallgate.dev/injected` on an object tells the truth: users can write annotations too.

What is checked does not depend on the cluster of this minute: between the mutating and the validating call, and between two
mutating ones, quotas are used up and nodes come and go. So alternatives may be left out, but none may be there that the
recorded policy would not have added to what the record says the author asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from webhook.model.claim import Alternative, Request
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.tolerant import Json, at, mapping, sequence, text
from webhook.rulekit.injection_candidates import Candidate, candidates, entry
from webhook.rulekit.injection_sameness import same_alternative
from webhook.rulekit.injection_undo import undo
from webhook.rulekit.policies import PolicySet, TierFallback
from webhook.rulekit.provenance import InjectedRequest, read_provenance
from webhook.rulekit.requests_writing import LIST, spec_pointer


def injection_is_authentic(raw: Json, policies: PolicySet) -> bool:
    """Whether every list that the annotation of `raw` (a claim or template of any API version) records is one that the
    recorded policy, as it is now, makes of what the author is said to have asked for. False without an annotation."""
    recorded = read_provenance(mapping(at(raw, "/metadata/annotations")))
    authored = undo(raw)
    if recorded is None or authored is raw:
        return False
    asked = {request.name: request for request in _requests(authored)}
    lists = {text(mapping(item).get("name")): item for item in sequence(at(raw, spec_pointer(raw) + "/devices/requests"))}
    return all(_is_explained(item, asked.get(item.name), lists[item.name], policies) for item in recorded.requests)


def _requests(raw: Json) -> Iterable[Request]:
    read = read_claim_template if raw.get("kind") == "ResourceClaimTemplate" else read_claim
    return read(raw).spec.requests


def _is_explained(recorded: InjectedRequest, asked: Request | None, request: Any, policies: PolicySet) -> bool:
    policy = next((item for item in policies.tier_fallback if item.header.label == recorded.policy), None)
    if policy is None or asked is None or asked.form not in ("exactly", "flat"):
        return False
    listed = sequence(mapping(request).get(LIST))
    return any(_could_be_of(listed, recorded, possible) for possible in _lists(policy, asked.alternatives[0], policies))


def _lists(policy: TierFallback, own: Alternative, policies: PolicySet) -> Iterable[Sequence[Candidate]]:
    return (candidates(ask, own, policies) for ask in policy.asks)


def _could_be_of(listed: Sequence[Any], recorded: InjectedRequest, possible: Sequence[Candidate]) -> bool:
    """Whether `listed` is `possible` with some entries of the tier left out."""
    author = next((item.name for item in possible if item.author), None)
    if author != recorded.author:
        return False
    left = iter(possible)
    return all(any(_is_entry(item, candidate, recorded) for candidate in left) for item in listed)


def _is_entry(item: Any, candidate: Candidate, recorded: InjectedRequest) -> bool:
    if candidate.problem:
        return False
    # a server whose gates are off drops these between the mutating and the validating call
    dropped = {key for key in ("tolerations", "capacity") if key not in mapping(item)}
    expected = {key: value for key, value in entry(candidate, recorded.exactly).items() if key not in dropped}
    return same_alternative(mapping(item), expected)
