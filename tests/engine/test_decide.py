"""decide: rules, severities, modes, crashes and staleness come together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.harness import review_of
from webhook.engine import EngineSettings, admit, decide, plan
from webhook.fleet.build import build_fleet
from webhook.model.finding import Decision, Finding, Severity
from webhook.model.json_patch import apply_patch
from webhook.model.meta import ObjectRef
from webhook.model.workload_kinds import WorkloadKind
from webhook.rulekit.policies import Checks, Header, Match, ModeCap, PolicySet
from webhook.rulekit.rule import Mutation, Rule
from webhook.rulekit.view import View

NOW = datetime(2027, 1, 1, tzinfo=UTC)
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}, "spec": {}}

INJECTED = "fallgate.dev/injected"

MakeRule = Callable[..., Rule]
UseRules = Callable[..., None]


def finding(severity: Severity = "deny", **fields: Any) -> Finding:
    return Finding(
        **{"rule": "some-rule", "reason": "some-reason", "severity": severity, "detail": "d", "path": "spec", **fields}
    )


def checks(mode: Any = "enforce", name: str = "p", **fields: Any) -> Checks:
    match = fields.pop("match", Match())
    return Checks(header=Header(kind="Checks", name=name, digest="1234567", mode=mode, match=match), **fields)


def answer(*policies: Checks, body: Any = None, **options: Any) -> Decision:
    fleet = build_fleet([], as_of=options.pop("as_of", None))
    return decide(review_of(body or POD), fleet, PolicySet(digest="abc", checks=policies), NOW, **options)


def test_without_policies_everything_is_allowed(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding()))
    assert answer().allowed
    assert answer().findings == ()


def test_a_denial_carries_its_text_and_its_policy(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding(headline="no")))
    decision = answer(checks())
    assert (decision.allowed, decision.code) == (False, 403)
    assert decision.message == "no\n  spec d\n  [some-rule, policy p@1234567]"
    assert decision.audit_annotations == {"findings": "deny some-rule/some-reason spec (enforce): d", "policies": "abc"}


@pytest.mark.parametrize(
    ("mode", "allowed", "warnings", "effects"),
    [
        ("enforce", False, 0, ["deny"]),
        ("warn", True, 1, ["warn"]),
        ("audit", True, 0, ["note"]),
        ("off", True, 0, []),
    ],
)
def test_modes(use_rules: UseRules, a_rule: MakeRule, mode: str, allowed: bool, warnings: int, effects: list[str]) -> None:
    use_rules(a_rule("some-rule", finding()))
    decision = answer(checks(mode))
    assert decision.allowed is allowed
    assert len(decision.warnings) == warnings
    assert [item.effect for item in decision.findings] == effects


def test_the_strictest_of_several_policies_wins_and_is_named(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding()))
    decision = answer(checks("warn", "mild"), checks("enforce", "hard"), checks("audit", "soft"))
    assert [(item.effect, item.finding.policy) for item in decision.findings] == [("deny", "hard@1234567")]


@pytest.mark.parametrize(
    ("rules", "effects"),
    [
        ({}, ["deny"]),
        ({"some-rule": "off"}, []),
        ({"some-reason": "off"}, []),
        ({"some-rule": "note"}, ["note"]),
        ({"some-rule": "note", "some-reason": "warn"}, ["warn"]),
        ({"other-rule": "off"}, ["deny"]),
    ],
)
def test_a_checks_policy_changes_severities(
    use_rules: UseRules, a_rule: MakeRule, rules: dict[str, Any], effects: list[str]
) -> None:
    use_rules(a_rule("some-rule", finding()))
    assert [item.effect for item in answer(checks(rules=rules)).findings] == effects


def test_findings_are_ordered_by_rule_and_path(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(
        a_rule("z-rule", finding(rule="z-rule")),
        a_rule("a-rule", finding(rule="a-rule", path="spec.b"), finding(rule="a-rule", path="spec.a")),
    )
    found = [(item.finding.rule, item.finding.path) for item in answer(checks()).findings]
    assert found == [("a-rule", "spec.a"), ("a-rule", "spec.b"), ("z-rule", "spec")]


def test_what_is_newer_than_the_pinned_revision_is_only_noted(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding(), since=(0, 5)))
    assert [item.effect for item in answer(checks(revision=(0, 4))).findings] == ["note"]
    assert [item.effect for item in answer(checks(revision=(0, 5))).findings] == ["deny"]


def test_stale_facts_never_deny(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding()))
    old, fresh = NOW - timedelta(minutes=6), NOW - timedelta(minutes=5)
    assert [item.effect for item in answer(checks(), as_of=old).findings] == ["warn"]
    assert [item.effect for item in answer(checks(), as_of=fresh).findings] == ["deny"]
    use_rules(a_rule("some-rule", finding(), reads_fleet=False))
    assert [item.effect for item in answer(checks(), as_of=old).findings] == ["deny"]


def crash(_view: View, _policy: object) -> Iterator[Finding]:
    yield finding("warn")
    raise ZeroDivisionError("by zero")


def test_a_crash_is_answered_by_the_stance_and_hides_nothing(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", check=crash), a_rule("z-rule", finding("warn", rule="z-rule")))
    apology = "Fallgate could not judge this object because of a fault of its own; its log has the details"
    decision = answer(checks())
    assert decision.allowed
    line = crash.__code__.co_firstlineno + 2
    assert decision.internal_error == (
        f"rule some-rule (policy p@1234567) failed: ZeroDivisionError: by zero (test_decide.py:{line} in crash)"
    )
    assert "warn z-rule/some-reason" in decision.audit_annotations["findings"]
    assert decision.warnings[-1] == apology
    assert [item.finding.rule for item in decision.findings] == ["some-rule", "z-rule"]
    refused = answer(checks(), settings=EngineSettings(stance="deny"))
    assert (refused.allowed, refused.code) == (False, 500)
    assert refused.message == apology


def test_a_crash_beside_a_denial_stays_a_denial(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", check=crash), a_rule("z-rule", finding(rule="z-rule")))
    decision = answer(checks())
    assert (decision.allowed, decision.code) == (False, 403)
    assert "[z-rule, policy p@1234567]" in decision.message


def label(_view: View, _policy: object) -> Mutation:
    return Mutation(
        ops=({"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},),
        findings=(finding("note", detail="labelled"),),
    )


def is_labelled(view: View, _policy: object) -> Iterator[Finding]:
    if view.meta.labels.get("x") != "y":
        yield finding(detail="no label")


def both(mode: str) -> tuple[Decision, Any]:
    fleet = build_fleet([])
    admission = admit(review_of(POD), fleet, PolicySet(checks=(checks(mode),)), NOW)
    return admission.decision, admission.object


def test_a_mutation_in_force_is_returned_and_judged(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", check=is_labelled, mutate=label))
    decision, body = both("enforce")
    assert decision.allowed
    assert body["metadata"]["labels"] == {"x": "y"}
    assert decision.patch == ({"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},)
    assert [(item.finding.detail, item.effect) for item in decision.findings] == [("labelled", "note")]
    assert POD["metadata"] == {"name": "p", "namespace": "a"}


@pytest.mark.parametrize(
    ("mode", "said"), [("warn", [("not done in warn mode: labelled", "warn")]), ("audit", [("labelled", "note")])]
)
def test_a_mutation_not_in_force_is_said_and_the_rest_judged_as_if_done(
    use_rules: UseRules, a_rule: MakeRule, mode: str, said: list[tuple[str, str]]
) -> None:
    use_rules(a_rule("some-rule", check=is_labelled, mutate=label))
    decision, body = both(mode)
    assert decision.patch == ()
    assert body == POD
    assert decision.would_patch == ({"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},)
    assert [(item.finding.detail, item.effect) for item in decision.findings] == said
    assert "would-patch" in decision.audit_annotations


def test_a_mutation_that_crashes_changes_nothing(use_rules: UseRules, a_rule: MakeRule) -> None:
    def broken(_view: View, _policy: object) -> Mutation:
        raise KeyError("x")

    use_rules(a_rule("some-rule", mutate=broken))
    decision = answer(checks(), phase="mutate")
    assert decision.allowed
    assert decision.patch == ()
    assert decision.internal_error.startswith("rule some-rule (policy p@1234567) failed: KeyError: 'x' (test_decide.py:")


def test_a_denied_object_is_not_patched(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding(), mutate=label, phases=frozenset({"mutate"})))
    decision = answer(checks(), phase="mutate")
    assert not decision.allowed
    assert decision.patch == ()


def test_rules_run_in_their_phase_only(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding(), phases=frozenset({"mutate"})))
    assert answer(checks(), phase="validate").allowed
    assert not answer(checks(), phase="mutate").allowed


def test_a_policy_that_does_not_match_is_silent(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding(), mutate=label))
    elsewhere = checks(match=Match(namespaces=("b",)))
    assert answer(elsewhere).findings == ()
    assert answer(elsewhere, phase="mutate").findings == ()
    assert answer(elsewhere, phase="mutate").patch == ()


def test_kinds_that_no_rule_reads_pass(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding()))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "a"}}
    assert answer(checks(), body=secret) == Decision(allowed=True)


def test_no_object_however_odd_raises(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", check=is_labelled))
    for odd in ({"metadata": 5}, {"metadata": {"labels": []}}, {"metadata": {}, "spec": "x"}):
        body = {"apiVersion": "v1", "kind": "Pod", **odd}
        decision = answer(checks(), body=body)
        assert decision.internal_error == ""


def test_every_pod_template_of_a_controller_is_judged(use_rules: UseRules, a_rule: MakeRule) -> None:
    def where(view: View, _policy: object) -> Iterator[Finding]:
        if view.pod is not None:
            yield finding("note", path=view.pod.pointer)

    use_rules(a_rule("some-rule", check=where))
    template = {"metadata": {}, "spec": {}}
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Gang",
        "metadata": {"name": "g", "namespace": "a"},
        "spec": {"roles": {"a": {"template": template}, "b": {"template": template}}},
    }
    kind = WorkloadKind(group="example.com", kind="Gang", template="/spec/roles/*/template")
    policies = PolicySet(checks=(checks(),), workload_kinds=(kind,))
    decision = decide(review_of(body), build_fleet([]), policies, NOW)
    assert [item.finding.path for item in decision.findings] == ["/spec/roles/a/template", "/spec/roles/b/template"]
    assert decide(review_of(body), build_fleet([]), PolicySet(checks=(checks(),)), NOW).findings == ()


def test_what_users_wrote_cannot_act_on_a_terminal(use_rules: UseRules, a_rule: MakeRule) -> None:
    odd = "\x1b[2J"
    use_rules(a_rule("some-rule", finding(detail=odd, headline=odd, path=odd, place=odd, via=(odd,), remedy=f"a\n{odd}")))
    decision = answer(checks())
    shown = "\\x1b[2J"
    assert decision.message.splitlines()[:3] == [shown, f"  {shown}", f"    {shown} {shown}"]
    assert "\x1b" not in repr([decision.message, decision.audit_annotations, decision.findings]).replace("\\\\x1b", "")


def test_what_was_missed_is_in_the_decision(use_rules: UseRules, a_rule: MakeRule) -> None:
    def looks(view: View, _policy: object) -> Iterator[Finding]:
        view.want(ObjectRef(kind="ResourceClaimTemplate", namespace="a", name="t"))
        yield from ()

    use_rules(a_rule("some-rule", check=looks))
    wanted = answer(checks()).wanted
    assert [str(ref) for ref in wanted] == ["Namespace a", "ResourceClaimTemplate a/t"]


@pytest.mark.parametrize(("phase", "patched"), [("mutate", True), ("validate", False)])
def test_an_injection_that_a_user_claims_is_taken_off(use_rules: UseRules, a_rule: MakeRule, phase: Any, patched: bool) -> None:
    use_rules(a_rule("some-rule", mutate=label))
    forged = '{"requests":[]}'
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "a", "annotations": {"fallgate.dev/injected": forged}},
        "spec": {"devices": {"requests": []}},
    }
    decision = answer(checks("audit"), body=body, phase=phase)
    assert [op["op"] for op in decision.patch] == (["remove"] if patched else [])
    assert answer(body=body, phase=phase).patch == decision.patch
    said = "the annotation fallgate.dev/injected: nothing was injected into this object"
    assert decision.audit_annotations.get("taken-off") == (said if patched else None)


def test_an_allowed_review_has_code_200_and_no_digest_of_nothing(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding("note")))
    decision = answer(checks())
    assert decision.code == 200
    unnamed = decide(review_of(POD), build_fleet([]), PolicySet(checks=(checks(),)), NOW)
    assert set(decision.audit_annotations) == {"findings", "policies"}
    assert set(unnamed.audit_annotations) == {"findings"}


def test_a_plan_is_worked_out_anew_when_caps_or_settings_change(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding()))
    cap = ModeCap(name="c", mode="audit", until=NOW)
    policies, world = PolicySet(checks=(checks(),), mode_caps=(cap,)), build_fleet([])

    def effects(now: datetime, settings: EngineSettings) -> list[str]:
        return [item.effect for item in decide(review_of(POD), world, policies, now, settings=settings).findings]

    plain, capped = EngineSettings(), EngineSettings(cap="warn")
    later = NOW + timedelta(seconds=1)
    assert effects(NOW, plain) == ["note"]
    assert effects(later, plain) == ["deny"]
    assert effects(later, capped) == ["warn"]
    assert effects(later, plain) == ["deny"]
    assert effects(NOW, plain) == ["note"]


def test_both_calls_together_say_each_thing_once(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(
        a_rule("a-rule", finding("warn", rule="a-rule"), phases=frozenset({"mutate", "validate"})),
        a_rule("b-rule", finding("note", rule="b-rule")),
    )
    decision = admit(review_of(POD), build_fleet([]), PolicySet(checks=(checks(),)), NOW).decision
    assert [item.finding.rule for item in decision.findings] == ["a-rule", "b-rule"]
    assert decision.warnings == ("[a-rule] spec: d",)
    assert decision.audit_annotations["findings"].splitlines() == [
        "warn a-rule/some-reason spec (enforce): d",
        "note b-rule/some-reason spec (enforce): d",
    ]
    use_rules()
    quiet = admit(review_of(POD), build_fleet([]), PolicySet(checks=(checks(),)), NOW).decision
    assert quiet.audit_annotations == {}


def test_an_injected_object_that_is_applied_again_stays_as_it_is_stored() -> None:
    ask = {"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1}
    authored = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "a"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": ask}]}},
    }
    listed = [{"name": "requested", **ask}, {"name": "other", **ask, "deviceClassName": "y"}]
    spec = {"devices": {"requests": [{"name": "gpu", "firstAvailable": listed}]}}
    entry = {"name": "gpu", "policy": "p@1234567", "exactly": ask, "author": "requested", "added": ["other"]}
    record = json.dumps({"requests": [entry]})
    stored = {**authored, "spec": spec, "metadata": {"name": "c", "namespace": "a", "annotations": {INJECTED: record}}}
    world = build_fleet([])

    def asked(phase: Any, new: Any = authored, operation: str = "UPDATE") -> Decision:
        return decide(review_of(new, operation=operation, old=stored), world, PolicySet(), NOW, phase=phase)

    restored = asked("mutate")
    assert apply_patch(authored, restored.patch)["spec"] == spec
    assert restored.audit_annotations == {"restored": "the stored spec of an injected object"}
    assert asked("validate").patch == ()
    other = {**authored, "spec": {"devices": {"requests": []}}}
    assert asked("mutate", other).patch == ()
    assert asked("mutate", operation="CREATE").patch == ()


def test_a_quiet_rule_does_not_end_the_review(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(
        a_rule("a-rule", alike_for_pods=True, mutate=lambda _view, _policy: Mutation()),
        a_rule("b-rule", finding("warn", rule="b-rule"), alike_for_pods=True, mutate=label),
    )
    world = build_fleet([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}])
    policies = PolicySet(checks=(checks(),))
    for _ in range(2):
        assert len(decide(review_of(POD), world, policies, NOW).warnings) == 1
        assert len(decide(review_of(POD), world, policies, NOW, phase="mutate").patch) == 1


def test_a_mutation_for_others_does_not_end_the_review(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", check=is_labelled, mutate=label))
    elsewhere = checks("audit", "elsewhere", match=Match(device_classes=("x",)))
    fleet = build_fleet([])
    policies = PolicySet(checks=(elsewhere, checks("audit", "here")))
    decision = decide(review_of(POD), fleet, policies, NOW)
    assert [item.finding.detail for item in decision.findings] == []
    assert len(decide(review_of(POD), fleet, policies, NOW, phase="mutate").would_patch) == 1


def test_a_namespace_that_changes_its_labels_gets_another_plan(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(a_rule("some-rule", finding()))
    policies = PolicySet(checks=(checks(),))

    def effects(labels: dict[str, str] | None) -> list[str]:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}}
        world = build_fleet([space] if labels is not None else [])
        return [item.effect for item in decide(review_of(POD), world, policies, NOW).findings]

    assert effects({}) == ["deny"]
    assert effects({"fallgate.dev/mode": "warn"}) == ["warn"]
    assert effects(None) == ["deny"]
    assert effects(None) == ["deny"]
    assert effects({"fallgate.dev/mode": "audit"}) == ["note"]


def test_a_long_audit_annotation_is_cut(use_rules: UseRules, a_rule: MakeRule) -> None:
    def noted(length: int) -> str:
        use_rules(a_rule("some-rule", finding("note", detail="d" * length)))
        return decide(review_of(POD), build_fleet([]), PolicySet(checks=(checks(),)), NOW).audit_annotations["findings"]

    head = len("note some-rule/some-reason spec (enforce): ")
    assert len(noted(4096 - head)) == 4096
    assert noted(4096 - head).endswith("ddd")
    assert len(noted(4097 - head)) == 4096
    assert noted(4097 - head).endswith("...")


@pytest.mark.parametrize(("mode", "returned", "held"), [("enforce", 1, 0), ("audit", 0, 1), ("warn", 0, 1)])
def test_a_change_without_a_word_is_a_change(
    use_rules: UseRules, a_rule: MakeRule, mode: str, returned: int, held: int
) -> None:
    use_rules(a_rule("some-rule", mutate=lambda view, policy: Mutation(ops=label(view, policy).ops)))
    decision = answer(checks(mode), phase="mutate")
    assert (len(decision.patch), len(decision.would_patch)) == (returned, held)


@pytest.mark.parametrize("phase", ["mutate", "validate"])
def test_a_policy_for_other_devices_checks_nothing(use_rules: UseRules, a_rule: MakeRule, phase: Any) -> None:
    use_rules(a_rule("some-rule", finding(), phases=frozenset({"mutate", "validate"})))
    assert answer(checks(match=Match(device_classes=("x",))), phase=phase).findings == ()
    assert len(answer(checks(), phase=phase).findings) == 1


def test_plans_are_remembered_and_their_number_is_bounded(
    use_rules: UseRules, a_rule: MakeRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rules(a_rule("some-rule"))
    monkeypatch.setattr(plan, "_KEPT", 2)
    policies = PolicySet(checks=(checks(),))
    sizes = []
    for space in ("a", "b", "a", "c"):
        decide(review_of({**POD, "metadata": {"name": "p", "namespace": space}}), build_fleet([]), policies, NOW)
        sizes.append(len(policies.memo))
    assert sizes == [1, 2, 2, 1]


def test_a_rule_is_asked_about_its_own_kinds_only(use_rules: UseRules, a_rule: MakeRule) -> None:
    use_rules(replace(a_rule("some-rule", finding()), subjects=frozenset({"ResourceClaim"})))
    assert answer(checks()).findings == ()
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "a"}}
    assert len(answer(checks(), body=claim).findings) == 1
