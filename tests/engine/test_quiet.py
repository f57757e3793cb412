"""A rule that had nothing to say about a pod is not asked about its likes: never about others, never after a finding."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.fuzz import everything, seeds
from tests.harness import review_of
from webhook.engine import decide
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.model.finding import Finding
from webhook.model.pod_reading import read_pod
from webhook.rulekit.likeness import pod_likeness
from webhook.rulekit.policies import Checks, Header, PolicySet
from webhook.rulekit.rule import Mutation, Rule
from webhook.rulekit.view import View

NOW = datetime(2027, 1, 1, tzinfo=UTC)
POLICIES = PolicySet(checks=(Checks(header=Header(kind="Checks", name="p", digest="1234567")),))

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "n", "uid": "1", "labels": {"app": "x"}},
    "spec": {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}], "containers": [{"name": "c"}]},
}


def changed(pointer: str, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(POD)
    here: Any = body
    *steps, last = pointer.split("/")[1:]
    for step in steps:
        here = here.setdefault(step, {})
    here[last] = value
    return body


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/metadata/name", "b"),
        ("/metadata/generateName", "b-"),
        ("/metadata/uid", "2"),
        ("/metadata/creationTimestamp", "2027-01-01T00:00:00Z"),
        ("/status", {"phase": "Running"}),
        ("/spec/containers", [{"name": "c"}, {"name": "d", "env": []}]),
        ("/spec/volumes", [{"name": "kube-api-access-x7v2k"}]),
    ],
)
def test_pods_that_differ_so_are_alike(pointer: str, value: Any) -> None:
    assert pod_likeness(read_pod(changed(pointer, value))) == pod_likeness(read_pod(POD))


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/metadata/labels", {"app": "y"}),
        ("/metadata/annotations", {"fallgate.dev/uniform": "true"}),
        ("/metadata/ownerReferences", [{"kind": "Job", "uid": "7", "controller": True}]),
        ("/spec/nodeName", "node"),
        ("/spec/nodeSelector", {"a": "b"}),
        ("/spec/schedulerName", "other"),
        ("/spec/schedulingGroup", {"podGroupName": "g"}),
        ("/spec/tolerations", [{"operator": "Exists"}]),
        (
            "/spec/affinity",
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        ),
        ("/spec/resourceClaims", [{"name": "g", "resourceClaimTemplateName": "u"}]),
        ("/spec/resourceClaims", [{"name": "g", "resourceClaimName": "t"}]),
        ("/spec/containers", [{"name": "c", "resources": {"claims": [{"name": "g"}]}}]),
        ("/spec/containers", [{"name": "c", "resources": {"limits": {"example.com/gpu": 1}}}]),
        ("/spec/initContainers", [{"name": "c", "resources": {"limits": {"example.com/gpu": 1}}}]),
    ],
)
def test_pods_that_differ_so_are_not(pointer: str, value: Any) -> None:
    assert pod_likeness(read_pod(changed(pointer, value))) != pod_likeness(read_pod(POD))


class Asked:
    """A rule that counts how often it is asked, and says what it is told to say."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings
        self.times = 0

    def check(self, _view: View, _policy: object) -> Iterator[Finding]:
        self.times += 1
        yield from self.findings

    def mutate(self, _view: View, _policy: object) -> Mutation:
        self.times += 1
        return Mutation(findings=self.findings)


FINDING = Finding(rule="some-rule", reason="r", severity="warn", detail="d")


def fleet() -> Fleet:
    return build_fleet([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}])


def ask(
    use_rules: Callable[..., None], rule: Rule, bodies: list[Any], world: Fleet, phase: Any = "validate"
) -> list[tuple[str, ...]]:
    use_rules(rule)
    return [decide(review_of(body), world, POLICIES, NOW, phase=phase).warnings for body in bodies]


@pytest.fixture(autouse=True)
def _no_plan_remembered() -> None:
    POLICIES.memo.clear()


def test_the_likes_of_a_quiet_pod_are_not_judged_again(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> None:
    asked = Asked()
    rule = a_rule("some-rule", check=asked.check, alike_for_pods=True)
    world = fleet()
    ask(use_rules, rule, [POD, changed("/metadata/name", "b"), changed("/spec/nodeName", "x"), POD], world)
    assert asked.times == 2
    ask(use_rules, rule, [POD], fleet())
    assert asked.times == 3


def test_what_was_found_is_found_again(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> None:
    asked = Asked(FINDING)
    rule = a_rule("some-rule", check=asked.check, alike_for_pods=True)
    assert ask(use_rules, rule, [POD, POD], fleet()) == [("[some-rule] d",), ("[some-rule] d",)]
    assert asked.times == 2


def test_a_rule_that_does_not_say_so_is_always_asked(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> None:
    asked = Asked()
    ask(use_rules, a_rule("some-rule", check=asked.check), [POD, POD], fleet())
    assert asked.times == 2


def test_what_missed_something_is_asked_again(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> None:
    asked = Asked()
    rule = a_rule("some-rule", check=asked.check, alike_for_pods=True)
    ask(use_rules, rule, [POD, POD], build_fleet([]))
    assert asked.times == 2


def test_a_mutation_with_nothing_to_do_is_its_own_silence(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> None:
    check, change = Asked(FINDING), Asked()
    rule = a_rule("some-rule", check=check.check, mutate=change.mutate, alike_for_pods=True)
    world = fleet()
    ask(use_rules, rule, [POD, POD], world, phase="mutate")
    assert (check.times, change.times) == (0, 1)
    ask(use_rules, rule, [POD, POD], world, phase="validate")
    assert (check.times, change.times) == (2, 1)


def test_a_mutation_that_does_not_say_so_is_always_asked(use_rules: Callable[..., None], a_rule: Callable[..., Rule]) -> None:
    change = Asked()
    ask(use_rules, a_rule("some-rule", mutate=change.mutate), [POD, POD], fleet(), phase="mutate")
    assert change.times == 2


@pytest.mark.parametrize("phase", ["mutate", "validate"])
def test_a_crash_is_no_silence(use_rules: Callable[..., None], a_rule: Callable[..., Rule], phase: Any) -> None:
    def crashes(_view: View, _policy: object) -> Any:
        raise ValueError("x")

    use_rules(a_rule("some-rule", check=crashes, mutate=crashes, alike_for_pods=True))
    world = fleet()
    answers = [decide(review_of(POD), world, POLICIES, NOW, phase=phase) for _ in range(2)]
    assert [bool(answer.internal_error) for answer in answers] == [True, True]


def test_remembering_changes_no_answer() -> None:
    world, policies = everything()
    pods = [item["request"]["object"] for item in seeds() if item["request"]["object"].get("kind") == "Pod"]
    assert len(pods) > 10
    for body in pods:
        for phase in ("mutate", "validate"):
            review = review_of(body)
            first, second = (decide(review, world, policies, NOW, phase=phase) for _ in range(2))
            fresh = decide(review, replace(world, as_of=world.as_of), policies, NOW, phase=phase)
            assert first == second == fresh
