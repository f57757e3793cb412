"""The laws of injection, for random claims, policies and clusters, in every API version."""

from __future__ import annotations

import re
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.harness import review_of
from tests.laws.api_server import VERSIONS, converted, defaulted, devices_of, problems
from tests.laws.worlds import claims, fleets, policy_sets
from webhook.engine import decide
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Decision
from webhook.model.json_patch import apply_patch
from webhook.rulekit.injection.provenance import read_provenance
from webhook.rulekit.injection.restore import INJECTED, injection_is_authentic, restore, undo
from webhook.rulekit.policies import PolicySet

NOW = datetime(2027, 1, 1, tzinfo=UTC)
Raw = dict[str, Any]

law = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
versions = st.sampled_from(VERSIONS)
_REQUEST = re.compile(r".*requests\[\d+\]")


def asked(claim: Raw, fleet: Fleet, policies: PolicySet) -> Decision:
    decision = decide(review_of(claim), fleet, policies, NOW, phase="mutate")
    assert decision.internal_error == ""
    return decision


def mutated(claim: Raw, fleet: Fleet, policies: PolicySet) -> Raw:
    done: Raw = apply_patch(claim, asked(claim, fleet, policies).patch)
    return done


def annotations(claim: Raw) -> Raw:
    return claim["metadata"].get("annotations") or {}


def is_injected(claim: Raw) -> bool:
    return INJECTED in annotations(claim)


@law
@given(claims(), versions, fleets, policy_sets)
def test_idempotent(claim: Raw, version: str, fleet: Fleet, policies: PolicySet) -> None:
    once = mutated(converted(claim, version), fleet, policies)
    assert mutated(once, fleet, policies) == once
    # between the calls the API server applies its defaults
    assert mutated(defaulted(once), fleet, policies) == defaulted(once)


@law
@given(claims(), versions, fleets, policy_sets)
def test_reversible(claim: Raw, version: str, fleet: Fleet, policies: PolicySet) -> None:
    written = converted(claim, version)
    before = deepcopy(written)
    assert undo(mutated(written, fleet, policies)) == before
    assert written == before


@law
@given(claims(), versions, fleets, policy_sets)
def test_minimal(claim: Raw, version: str, fleet: Fleet, policies: PolicySet) -> None:
    written = converted(claim, version)
    decision = asked(written, fleet, policies)
    done = apply_patch(written, decision.patch)
    assert all(op["op"] in ("add", "remove", "replace") for op in decision.patch)
    recorded = read_provenance(annotations(done))
    assert (recorded is None) == (done == written)
    if recorded is None:
        assert decision.patch == ()
        return
    touched = {item.name for item in recorded.requests}
    rescoped = {item.index for item in recorded.configs}
    assert [item for item in devices_of(done)["requests"] if item["name"] not in touched] == [
        item for item in devices_of(written)["requests"] if item["name"] not in touched
    ]
    for i, (new, old) in enumerate(zip(devices_of(done).get("config", []), devices_of(written).get("config", []), strict=True)):
        assert new == ({**old, "requests": new["requests"]} if i in rescoped else old)
        assert (i in rescoped) == (new != old)
    assert {key: value for key, value in annotations(done).items() if key != INJECTED} == annotations(written)
    for part in ("requests", "config"):
        devices_of(done).pop(part, None)
        devices_of(written).pop(part, None)
    for body in (done, written):
        body["metadata"].pop("annotations", None)
    assert done == written


@law
@given(claims(), versions, fleets, policy_sets)
def test_what_was_valid_stays_valid(claim: Raw, version: str, fleet: Fleet, policies: PolicySet) -> None:
    written = converted(claim, version)
    assume(problems(written) == [])
    assert problems(mutated(written, fleet, policies)) == []


@law
@given(claims(), versions, versions, fleets, policy_sets, st.booleans())
def test_a_reapplied_manifest_is_a_no_op(
    claim: Raw, created: str, applied: str, fleet: Fleet, policies: PolicySet, keeps_annotation: bool
) -> None:
    stored = defaulted(mutated(defaulted(converted(claim, created)), fleet, policies))
    old = defaulted(converted(stored, applied))
    new = defaulted(converted(claim, applied))
    if keeps_annotation and is_injected(old):
        new["metadata"]["annotations"] = {**annotations(new), INJECTED: annotations(old)[INJECTED]}
    # whatever the policies say now: none at all
    decision = decide(review_of(new, operation="UPDATE", old=old), fleet, PolicySet(), NOW, phase="mutate")
    after = defaulted(apply_patch(new, decision.patch))
    if is_injected(old):
        assert after["spec"] == old["spec"]
        assert annotations(after) == annotations(old)
    else:
        assert decision.patch == ()


@law
@given(claims(), versions, versions, fleets, policy_sets)
def test_restores_across_versions_of_the_two_objects(
    claim: Raw, one: str, other: str, fleet: Fleet, policies: PolicySet
) -> None:
    old = defaulted(mutated(defaulted(converted(claim, one)), fleet, policies))
    assume(is_injected(old))
    ops = restore(review_of(converted(claim, other), operation="UPDATE", old=old))
    assert ops is not None
    after = apply_patch(converted(claim, other), ops)
    assert defaulted(after)["spec"] == defaulted(converted(old, other))["spec"]
    assert annotations(after)[INJECTED] == annotations(old)[INJECTED]


@law
@given(claims(), versions, fleets, policy_sets, st.sampled_from(["labels", "class", "name", "removed"]))
def test_another_spec_is_not_restored(claim: Raw, version: str, fleet: Fleet, policies: PolicySet, change: str) -> None:
    old = defaulted(mutated(converted(claim, version), fleet, policies))
    assume(is_injected(old))
    new = deepcopy(old if change == "labels" else defaulted(converted(claim, version)))
    requests = devices_of(new)["requests"]
    if change == "labels":
        new["metadata"]["labels"] = {"touched": "1"}
    elif change == "class":
        requests[0] = {"name": requests[0]["name"], "exactly": {"deviceClassName": "other.example.com"}}
        new = converted({**new, "apiVersion": "resource.k8s.io/v1"}, version) if version.startswith("v1b") else new
    elif change == "name":
        requests[0]["name"] = "renamed"
    else:
        requests.pop()
    assert restore(review_of(new, operation="UPDATE", old=old)) is None


@law
@given(claims(), versions, versions, fleets, policy_sets)
def test_an_injection_is_known_again(claim: Raw, one: str, other: str, fleet: Fleet, policies: PolicySet) -> None:
    done = mutated(converted(claim, one), fleet, policies)
    assume(is_injected(done))
    assert injection_is_authentic(done, policies)
    assert injection_is_authentic(converted(defaulted(done), other), policies)
    assert not injection_is_authentic(done, PolicySet())


@law
@given(claims(), fleets, policy_sets, st.data())
def test_a_changed_list_is_not_believed(claim: Raw, fleet: Fleet, policies: PolicySet, data: st.DataObject) -> None:
    done = deepcopy(mutated(claim, fleet, policies))
    assume(is_injected(done))
    recorded = read_provenance(annotations(done))
    assert recorded is not None
    name = data.draw(st.sampled_from([item.name for item in recorded.requests]))
    listed = next(item["firstAvailable"] for item in devices_of(done)["requests"] if item["name"] == name)
    entry = data.draw(st.sampled_from(listed))
    field, value = data.draw(
        st.sampled_from(
            [("deviceClassName", "other.example.com"), ("count", 31), ("selectors", [{"cel": {"expression": "true"}}])]
        )
    )
    entry[field] = value
    assert not injection_is_authentic(done, policies)


def found_in(claim: Raw, fleet: Fleet, policies: PolicySet) -> set[tuple[str, str, str]]:
    """Rule, reason and request of everything the validating call finds. Of a double booking it names the first ask only."""
    decision = decide(review_of(claim), fleet, policies, NOW, phase="validate")
    assert decision.internal_error == ""
    findings = (item.finding for item in decision.findings)
    return {
        (item.rule, item.reason, "" if item.rule == "device-ownership" else (_REQUEST.match(item.path) or [""])[0])
        for item in findings
    }


@law
@given(claims(), versions, fleets, policy_sets)
def test_safe(claim: Raw, version: str, fleet: Fleet, policies: PolicySet) -> None:
    written = converted(claim, version)
    assume(problems(written) == [])
    done = mutated(written, fleet, policies)
    assert found_in(done, fleet, policies) <= found_in(written, fleet, policies)
