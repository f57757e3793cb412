"""Whether `fallgate.dev/injected` on an object tells the truth: users can write annotations too.

What is checked does not depend on the cluster of this minute: between the mutating and the validating call, and between two
mutating ones, quotas are used up and nodes come and go. So alternatives may be left out, but none may be there that the
recorded policy would not have added to what the record says the author asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from webhook.model.claim import Request
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.tolerant import Json, at, mapping, sequence, text
from webhook.rulekit.injection.candidates import Candidate, candidates, entry
from webhook.rulekit.injection.provenance import InjectedRequest
from webhook.rulekit.injection.requests_writing import LIST, spec_pointer
from webhook.rulekit.injection.sameness import same_alternative
from webhook.rulekit.injection.undo import undone
from webhook.rulekit.policies import PolicySet, TierFallback


def injection_is_authentic(raw: Json, policies: PolicySet) -> bool:
    """Whether every list that the annotation of `raw` (a claim or template of any API version) records is one that the
    recorded policy, as it is now, makes of what the author is said to have asked for. False without an annotation."""
    return _is_believed(raw, policies, stored=False)


def stored_injection_is_believed(raw: Json, policies: PolicySet) -> bool:
    """The same for an object that was created earlier: a policy that has been changed or removed since explains nothing any
    more, and must not turn yesterday's injections into lists of their authors. Then the author's own alternative has to be
    what the record says was asked; who writes such a record later gains nothing that a declaration would not give."""
    return _is_believed(raw, policies, stored=True)


def _is_believed(raw: Json, policies: PolicySet, *, stored: bool) -> bool:
    found = undone(raw)
    if found is None:
        return False
    authored, recorded = found
    asked = {request.name: request for request in _requests(authored)}
    lists = {text(mapping(item).get("name")): item for item in sequence(at(raw, spec_pointer(raw) + "/devices/requests"))}
    for item in recorded.requests:
        listed = sequence(mapping(lists[item.name]).get(LIST))
        policy = next((policy for policy in policies.tier_fallback if policy.header.label == item.policy), None)
        if policy is None and stored:
            believed = _has_what_was_asked(listed, item)
        else:
            believed = policy is not None and _is_explained(item, asked[item.name], listed, policy, policies)
        if not believed:
            return False
    return True


def _requests(raw: Json) -> Iterable[Request]:
    read = read_claim_template if raw.get("kind") == "ResourceClaimTemplate" else read_claim
    return read(raw).spec.requests


def _has_what_was_asked(listed: Sequence[Any], recorded: InjectedRequest) -> bool:
    if recorded.author is None:
        return True
    own = {**recorded.exactly, "name": recorded.author}
    return any(same_alternative(mapping(item), {key: own[key] for key in own if key != "adminAccess"}) for item in listed)


def _is_explained(
    recorded: InjectedRequest, asked: Request, listed: Sequence[Any], policy: TierFallback, policies: PolicySet
) -> bool:
    lists = (candidates(ask, own, policies) for own in asked.alternatives for ask in policy.asks)
    return any(_could_be_of(listed, recorded, possible) for possible in lists)


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
