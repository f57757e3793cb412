"""Whole sets: what becomes of every key, order, atomicity, digests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from webhook.cel import Expression
from webhook.errors import PolicyErrors
from webhook.model.claim import Toleration
from webhook.model.device import Attribute
from webhook.model.labels import LabelExpression, LabelSelector
from webhook.policyfile import parse_policies, parse_policies_with_warnings
from webhook.rulekit.policies import (
    EMPTY,
    DeviceOwnership,
    Existing,
    Match,
    OwnerOfNodes,
    PolicySet,
    SkipWhen,
    TierAlternative,
)

CASES = Path(__file__).parent.parent / "cases" / "policies"
RULE_CAP = """\
apiVersion: fallgate.dev/v1alpha1
kind: ModeCap
metadata: {name: NAME}
spec: {mode: warn}
"""


def load(here: Path, name: str) -> PolicySet:
    return parse_policies([(name, (here / "valid" / name).read_bytes())])


@pytest.fixture(scope="module")
def every_key(here: Path) -> PolicySet:
    return load(here, "every-key.yaml")


@pytest.fixture(scope="module")
def all_kinds(here: Path) -> PolicySet:
    return load(here, "all-kinds.yaml")


def cap(name: str) -> bytes:
    return RULE_CAP.replace("NAME", name).encode()


def test_defaults_are_those_of_the_dataclasses() -> None:
    text = b"""
apiVersion: fallgate.dev/v1alpha1
kind: DeviceOwnership
metadata: {name: short}
spec: {driver: gpu.example.com, extendedResources: [example.com/gpu]}
"""
    [policy] = parse_policies([("p.yaml", text)]).device_ownership
    header = replace(policy.header, digest="", source="")
    assert policy.header.source == "p.yaml:2"
    assert replace(policy, header=header) == DeviceOwnership(
        header=replace(header, mode="enforce", overridable="raise", match=Match()),
        driver="gpu.example.com",
        extended_resources=("example.com/gpu",),
    )


def test_a_catalog(every_key: PolicySet) -> None:
    family, _, bare = every_key.catalog
    assert (family.name, family.aliases) == ("card-{model}", ("old-card-{model}", "cards"))
    assert (family.driver, family.device_class) == ("gpu.example.com", "gpu.example.com")
    assert family.selector is not None
    assert family.selector.text == "true"
    assert (bare.name, bare.device_class, bare.selector, bare.examples) == ("bare", "", None, ())


def test_the_examples_of_a_model_are_devices(every_key: PolicySet) -> None:
    [device] = every_key.catalog[0].examples
    assert device.attributes == {
        "gpu.example.com/model": Attribute("string", "Big One"),
        "gpu.example.com/index": Attribute("int", 0),
        "gpu.example.com/fabric": Attribute("bool", True),
        "gpu.example.com/driverVersion": Attribute("version", "1.2.3"),
        "gpu.example.com/uuids": Attribute("strings", ("a", "b")),
        "gpu.example.com/numbers": Attribute("ints", (1, -2)),
        "gpu.example.com/flags": Attribute("bools", (True, False)),
        "gpu.example.com/versions": Attribute("versions", ("1.0.0",)),
    }
    assert device.capacity == {"gpu.example.com/memory": "80Gi", "gpu.example.com/cores": "132"}
    assert device.sharable


def test_a_compatibility_policy(every_key: PolicySet) -> None:
    [policy] = every_key.fallback_compatibility
    assert (policy.header.mode, policy.header.overridable) == ("audit", "raise")
    assert policy.header.match == Match(
        namespace_selector=LabelSelector(
            match_labels={"example.com/a": "b"},
            match_expressions=(
                LabelExpression(key="example.com/c", operator="In", values=("d", "")),
                LabelExpression(key="example.com/e", operator="DoesNotExist"),
            ),
        ),
        namespaces=("team-*", "[ab]?"),
        exclude_namespaces=("team-x",),
        tiers=("research", ""),
        device_classes=("gpu.*",),
        drivers=("*.example.com",),
    )
    assert (policy.requests, policy.undeclared, policy.workloads, policy.on_uncertain) == ("all", "deny", "deny", "note")
    assert policy.existing == Existing(
        created_before=datetime(2027, 1, 15, 10, tzinfo=UTC),
        mode="off",
        until=datetime(2027, 4, 1, 23, 59, 59, 999999, tzinfo=UTC),
    )


def test_a_date_means_the_beginning_or_the_end_of_its_day(all_kinds: PolicySet) -> None:
    [policy] = all_kinds.fallback_compatibility
    assert policy.existing is not None
    assert policy.existing.created_before == datetime(2027, 1, 15, tzinfo=UTC)
    assert policy.existing.until == datetime(2027, 4, 1, 23, 59, 59, 999999, tzinfo=UTC)
    assert all_kinds.exemptions[0].expires == datetime(2027, 6, 30, 23, 59, 59, 999999, tzinfo=UTC)


def test_a_tier_list(every_key: PolicySet) -> None:
    [policy] = every_key.tier_fallback
    assert policy.tiers == ("dev",)
    assert every_key.default_tier == "dev"
    assert policy.targets == frozenset({"templates"})
    assert policy.skip_when == SkipWhen(labels=("example.com/queue",), local_queues=False, scheduler_names=("gang-scheduler",))
    [ask] = policy.asks
    assert ask.shapes == ("*x card-*", "1-4x plain + ?gpu.example.com/Odd One")
    assert (ask.device_classes, ask.author, ask.allocation_mode_all) == (("*",), "replace", True)


def test_the_alternatives_of_a_tier_list(every_key: PolicySet) -> None:
    assert every_key.tier_fallback[0].asks[0].alternatives == (
        TierAlternative(
            name="by-model",
            model="card-big-one",
            count_factor=Fraction(1, 3),
            tolerations=(
                Toleration(key="example.com/a", operator="Equal", value="b", effect="NoSchedule"),
                Toleration(operator="Exists"),
            ),
        ),
        TierAlternative(
            name="spelt-out",
            device_class="gpu.example.com",
            selectors=('device.driver == "gpu.example.com"',),
            count=2,
            capacity={"memory": "10Gi", "gpu.example.com/cores": "4"},
        ),
        TierAlternative(name="every-one", model="plain", allocation_mode="All"),
        TierAlternative(name="half", model="card-{model}", count_factor=Fraction(1, 2)),
    )


def test_several_tiers_and_their_default(all_kinds: PolicySet) -> None:
    assert all_kinds.default_tier == ""
    assert all_kinds.tier_fallback[0].tiers == ("research",)
    assert all_kinds.tier_fallback[0].targets == frozenset({"generatedClaims", "claims"})
    assert all_kinds.tier_fallback[0].skip_when == SkipWhen()


def test_owners(every_key: PolicySet, all_kinds: PolicySet) -> None:
    [policy] = every_key.device_ownership
    assert policy.owners == (OwnerOfNodes(node_selector=LabelSelector(), owner="split"),)
    assert (policy.default, policy.action, policy.header.overridable) == ("dra", "deny", "both")
    assert [owner.owner for owner in all_kinds.device_ownership[0].owners] == ["dra", "device-plugin", "split"]


def test_checks_keep_the_words_of_yaml_1_2(every_key: PolicySet, all_kinds: PolicySet) -> None:
    [policy] = every_key.checks
    assert policy.rules == {
        "claim-rule": "off",
        "claim-rule-error": "note",
        "forged-extended-claim": "warn",
        "admin-access-label": "deny",
    }
    assert policy.revision == (0, 10)
    assert policy.settings == {"admin-access-label": {"anything": [1, {"goes": None}]}}
    assert all_kinds.checks[0].rules == {"zero-match": "note", "unguarded-selector": "off"}


def test_a_claim_rule_is_compiled(every_key: PolicySet) -> None:
    [rule] = every_key.claim_rules
    assert (rule.for_each, rule.severity) == ("request", "note")
    assert isinstance(rule.message, Expression)
    assert rule.when is not None
    assert rule.when.evaluate({}) is True
    assert rule.require.text == "request.alternatives.all(a, a.count < 8) && shapes.all(s, s.count < 8)"


def test_an_exemption_knows_its_policy(every_key: PolicySet) -> None:
    [exemption] = every_key.exemptions
    assert (exemption.policy, exemption.reason, exemption.owner, exemption.effect) == ("everything", "yes", "platform", "warn")
    assert exemption.namespaces == ("gpu-*",)
    assert exemption.users == ("system:serviceaccount:gpu-operator:*",)
    assert exemption.groups == ("system:masters",)
    assert exemption.pods == LabelSelector(match_labels={"app": "validator"})
    assert (exemption.rules, exemption.policies) == (("claim-rule",), ("everything",))
    assert exemption.expires == datetime(2027, 6, 30, tzinfo=UTC)


def test_caps(every_key: PolicySet, all_kinds: PolicySet) -> None:
    assert [(one.name, one.mode, one.rule, one.until) for one in every_key.mode_caps] == [("everything", "audit", "", None)]
    [one] = all_kinds.mode_caps
    assert (one.rule, one.until) == ("device-ownership", datetime(2027, 3, 1, 23, 59, 59, 999999, tzinfo=UTC))


def test_policies_come_in_the_order_of_the_files() -> None:
    policies = parse_policies([("b.yaml", cap("z") + b"---\n" + cap("y")), ("a.yaml", cap("x"))])
    assert [one.name for one in policies.mode_caps] == ["z", "y", "x"]


def test_nothing_is_an_empty_set() -> None:
    loaded = parse_policies([("empty.yaml", b""), ("comment.yaml", b"# nothing\n---\n---\n")])
    assert replace(loaded, digest="").catalog == EMPTY.catalog
    assert parse_policies([]).digest == loaded.digest


def test_one_mistake_keeps_the_whole_set_out_and_hides_no_other() -> None:
    files = [("good.yaml", cap("good")), ("bad.yaml", b"a: b: c"), ("worse.yaml", cap("x").replace(b"warn", b"warm"))]
    with pytest.raises(PolicyErrors) as caught:
        parse_policies(files)
    assert [(problem.source, problem.line, problem.column) for problem in caught.value.problems] == [
        ("bad.yaml", 1, 5),
        ("worse.yaml", 4, 14),
    ]


def test_names_are_unique_over_all_files() -> None:
    with pytest.raises(PolicyErrors) as caught:
        parse_policies([("a.yaml", cap("same")), ("b.yaml", cap("same"))])
    [problem] = caught.value.problems
    assert (problem.source, problem.line, problem.column) == ("b.yaml", 3, 18)
    assert problem.message == 'a second ModeCap is called "same"'
    assert problem.hint == "the first is at a.yaml:3; give one of them another name"


def test_a_model_is_not_missed_while_a_file_is_unreadable() -> None:
    """The catalog may be in it: one mistake is reported, not one for every use of its models."""
    user = b"""
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: dev}
spec: {tier: dev, asks: [{match: {deviceClasses: [x]}, alternatives: [{name: a, model: big}]}]}
"""
    with pytest.raises(PolicyErrors) as caught:
        parse_policies([("catalog.yaml", b"a: b: c"), ("user.yaml", user)])
    assert [problem.source for problem in caught.value.problems] == ["catalog.yaml"]
    with pytest.raises(PolicyErrors) as caught:
        parse_policies([("user.yaml", user)])
    [problem] = caught.value.problems
    assert (problem.message, problem.hint) == (
        'no ShapeCatalog has a model "big"',
        "there is no ShapeCatalog in these files",
    )


def test_a_model_with_a_mistake_still_has_its_name() -> None:
    text = b"""
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: c}
spec: {models: [{name: big, driver: 1, deviceClassName: x}]}
---
apiVersion: fallgate.dev/v1alpha1
kind: TierFallback
metadata: {name: dev}
spec: {tier: dev, asks: [{match: {deviceClasses: [x]}, alternatives: [{name: a, model: big}]}]}
"""
    with pytest.raises(PolicyErrors) as caught:
        parse_policies([("p.yaml", text)])
    assert [problem.line for problem in caught.value.problems] == [5]


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_policies_of_the_cases_load(path: Path) -> None:
    policies, problems = parse_policies_with_warnings([(path.name, path.read_bytes())])
    assert policies.digest
    known = ("naming it has no effect", "too complex, exceeds cost limit: no claim can have it")
    assert all(problem.message.endswith(known) for problem in problems)


def test_digests_ignore_everything_but_content() -> None:
    compact = b"""\
apiVersion: fallgate.dev/v1alpha1
kind: Checks
metadata: {name: c}
spec: {mode: warn, rules: {claim-rule: off, admin-access-label: note}}
"""
    spread = b"""\
# a comment
kind: Checks
spec:
  rules: {"admin-access-label": 'note',   claim-rule: "off"}  # another
  mode: >-
    warn
metadata:
  labels: {team: a}
  name: "c"
apiVersion: fallgate.dev/v1alpha1
"""
    one, other = parse_policies([("a.yaml", compact)]), parse_policies([("elsewhere.yaml", b"---\n" + spread)])
    assert one.digest == other.digest
    assert len(one.digest) == 12
    assert one.checks[0].header.digest == other.checks[0].header.digest
    assert one.checks[0].header.label == f"c@{one.checks[0].header.digest}"
    assert len(one.checks[0].header.digest) == 7
    changed = parse_policies([("a.yaml", compact.replace(b"note", b"deny"))])
    assert changed.digest != one.digest
    assert changed.checks[0].header.digest != one.checks[0].header.digest


def test_digests_do_not_change_from_release_to_release() -> None:
    """Findings and annotations name them: a change would look like a changed policy."""
    policies = parse_policies([("cap.yaml", cap("quiet"))])
    assert policies.digest == "dbf6ac5c698c"


def test_the_order_of_files_counts_for_catalogs_only() -> None:
    catalog = b"""
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: NAME}
spec: {models: [{name: NAME, driver: gpu.example.com}]}
"""
    a, b = catalog.replace(b"NAME", b"a"), catalog.replace(b"NAME", b"b")
    assert parse_policies([("1", a), ("2", b)]).digest != parse_policies([("1", b), ("2", a)]).digest
    assert (
        parse_policies([("1", cap("a")), ("2", cap("b"))]).digest == parse_policies([("1", cap("b")), ("2", cap("a"))]).digest
    )


def test_an_expression_longer_than_the_api_allows() -> None:
    text = b"""
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: c}
spec: {models: [{name: big, driver: gpu.example.com, selector: 'LONG'}]}
"""
    with pytest.raises(PolicyErrors) as caught:
        parse_policies([("p.yaml", text.replace(b"LONG", b"true && ".ljust(10 * 1024, b" ") + b"true"))])
    [problem] = caught.value.problems
    assert problem.message == "spec.models[0].selector has 10,244 bytes; 10,240 are the limit of the Kubernetes API"
