"""How long ClaimRules may take on one object, counted in steps."""

from __future__ import annotations

import pytest

from tests.build import NVIDIA, claim, device_class, device_slice, exactly, fleet_of, gpu
from tests.injecting import view_of
from webhook.cel import CelError
from webhook.model.claim import Claim
from webhook.policyfile import parse_policies
from webhook.rulekit.claim_rules.cases import Case, Values, cases, keeps
from webhook.rulekit.policies import ClaimRule
from webhook.rulekit.view import View
from webhook.rules.claim_rule import check

LOOP = "[1,2,3,4,5,6,7,8,9]"
SLOW = f"{LOOP}.all(a, {LOOP}.all(b, {LOOP}.all(c, {LOOP}.all(d, a + b + c + d > alternative.count - 100))))"
BEYOND = "ClaimRules take more than 3,000,000 steps on this object"


def policy_of(require: str) -> ClaimRule:
    text = f"""
apiVersion: fallgate.dev/v1alpha1
kind: ClaimRule
metadata: {{name: slow}}
spec:
  forEach: alternative
  require: "{require}"
  message: "'no'"
"""
    (rule,) = parse_policies([("rule.yaml", text.encode())]).claim_rules
    return rule


def view(requests: int) -> View:
    asked = [exactly(f"r{i}", NVIDIA) for i in range(requests)]
    fleet = fleet_of(device_class(), device_slice("n", gpu("a", "Tesla T4")))
    return view_of(claim("c", *asked), fleet, parse_policies([]))


def outcomes(seen: View, policy: ClaimRule) -> list[bool | tuple[str, CelError]]:
    assert isinstance(seen.subject, Claim)
    whole = Case(meta=seen.meta, spec=seen.subject.spec, claim=seen.subject, pod=None)
    return [keeps(policy, Values(seen, case)) for case in cases(whole, policy)]


def test_all_cases_of_a_review_share_their_steps() -> None:
    seen, policy = view(200), policy_of(SLOW)
    found = outcomes(seen, policy)
    judged = found.count(True)
    assert found == [True] * judged + [("require", CelError(BEYOND))] * (200 - judged)
    (steps,) = {policy.require.tried(Values(seen, case), 500_000)[1] for case in cases_of(seen, policy)[:3]}
    assert judged == 3_000_000 // steps
    # Another rule of the same review has none left either; another review has them all.
    assert outcomes(seen, policy_of("alternative.count > 0")) == [("require", CelError(BEYOND))] * 200
    assert outcomes(view(3), policy) == [True] * 3


def cases_of(seen: View, policy: ClaimRule) -> list[Case]:
    assert isinstance(seen.subject, Claim)
    return list(cases(Case(meta=seen.meta, spec=seen.subject.spec, claim=seen.subject, pod=None), policy))


def test_what_is_not_judged_has_not_been_shown_to_keep_the_rule() -> None:
    *_, last = check(view(200), policy_of(SLOW))
    assert (last.reason, last.severity) == ("claim-rule-error", "deny")
    assert last.detail == f"whether it is kept cannot be told, `require` fails: {BEYOND}"


def test_listing_shapes_takes_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.rulekit.claim_rules.cases.MOST_STEPS", 60)
    seen = view(4)
    # Two shapes of 32 steps each, and what the expression takes itself; a rule that reads no shapes is judged to the end.
    assert outcomes(seen, policy_of("shapes.size() == 1")) == [True, True, *[("require", CelError(BEYOND))] * 2]
    assert outcomes(view(4), policy_of("alternative.count == 1")) == [True] * 4
