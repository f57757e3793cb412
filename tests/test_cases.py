"""The problem cases give the answer they name, whatever API version says them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.case_files import Case, cases, defaulted, in_version
from tests.harness import NOW, review_of, server
from webhook.engine import Admission, admit
from webhook.fleet.build import build_fleet, with_objects
from webhook.model.finding import Decision
from webhook.model.json_patch import apply_patch
from webhook.policyfile import parse_policies

#: The cases whose rules exist. Of the others it is only asked that nothing fails.
ANSWERED = {"P01", "P03", "P04", "P05", "P16", "P18", "P19", "P20", "P21", "P22", "P23", "P25", "P28", "X07"} | {
    case.id for case in cases() if case.id[0] in "DHKL"
}
VERSIONS = ("v1", "v1beta2", "v1beta1")

_WEIGHT = ("allow", "warn", "mutate", "deny")


def answer_of(decision: Decision) -> str:
    """`deny`, `mutate`, `warn` or `allow`, as the cases name it."""
    if not decision.allowed:
        return "deny"
    if decision.patch:
        return "mutate"
    return "warn" if decision.warnings else "allow"


def answers(case: Case, version: str) -> list[tuple[dict[str, Any], Admission]]:
    """What is answered to each object of a case, said in `version`."""
    asked, about = case.body["request"], case.body.get("cluster", {})
    inputs = [in_version(item, version) for item in case.inputs]
    fleet = build_fleet(case.cluster, server=server(str(about.get("version", "1.36")), about.get("featureGates")))
    policies = parse_policies(case.policy_files)
    found = []
    for body in inputs:
        others = [item for item in inputs if item is not body]
        old = asked.get("oldObject", body if asked["operation"] == "UPDATE" else None)
        review = review_of(body, operation=asked["operation"], old=old, user=asked.get("user", "someone"))
        found.append((body, admit(review, with_objects(fleet, others), policies, NOW)))
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", [case for case in cases() if case.id in ANSWERED], ids=lambda case: case.id)
def test_case(case: Case, version: str) -> None:
    expected = case.body["expect"]
    found = answers(case, version)
    said = [item for _, admission in found for item in admission.decision.findings]
    assert max((answer_of(admission.decision) for _, admission in found), key=_WEIGHT.index) == expected["decision"], said
    assert set(expected["checks"]) <= {item.finding.reason for item in said}
    assert [admission.decision.internal_error for _, admission in found] == [""] * len(found)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", [case for case in cases() if "patch" in case.body["expect"]], ids=lambda case: case.id)
def test_patch_is_the_one_expected(case: Case, version: str) -> None:
    if case.id not in ANSWERED:
        pytest.fail(f"{case.id} has a patch and is not among the answered cases")
    (body, admission), *_ = answers(case, version)
    original = case.inputs[0]
    wanted = in_version(apply_patch(original, case.body["expect"]["patch"]), version)
    assert admission.object == apply_patch(body, admission.decision.patch)
    assert defaulted(dict(admission.object)) == defaulted(wanted)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_no_case_is_a_fault_of_ours(case: Case) -> None:
    for _, admission in answers(case, "v1"):
        assert admission.decision.internal_error == ""
