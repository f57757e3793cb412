"""Which tiers policies name, and which labels of namespaces count for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import Raw
from tests.injecting import document, policies, tier
from webhook.model.labels import LabelExpression, LabelSelector
from webhook.rulekit.namespace_labels import label_problems, named_tiers
from webhook.rulekit.policies import EMPTY, Checks, DeviceOwnership, Header, Match, PolicySet

TIER = "fallgate.dev/tier"
RULES = {"zero-match": {"zero-match", "no-slices-for-driver"}, "claim-rule": {"claim-rule"}}
MATCH = {"tiers": ["a"]}


def checks(**match: Any) -> PolicySet:
    header = Header(kind="Checks", name="c", digest="1234567", match=Match(**match))
    return PolicySet(checks=(Checks(header=header),))


@pytest.mark.parametrize(
    ("policy_set", "tiers"),
    [
        (EMPTY, ()),
        (PolicySet(default_tier="dev"), ("dev",)),
        (policies(tier({"name": "x", "deviceClassName": "x"}, tiers=["b", "", "a"])), ("a", "b")),
        (checks(tiers=("b", "a")), ("a", "b")),
        (checks(namespace_selector=LabelSelector(match_labels={TIER: "a", "x": "y"})), ("a",)),
        (
            checks(
                namespace_selector=LabelSelector(
                    match_expressions=(
                        LabelExpression(key=TIER, operator="In", values=("b", "c")),
                        LabelExpression(key="x", operator="In", values=("d",)),
                    )
                )
            ),
            ("b", "c"),
        ),
        (policies(document("ClaimRule", "r", forEach="claim", require="true", message='"m"', match=MATCH)), ("a",)),
        (policies(document("FallbackCompatibility", "f", match=MATCH), catalog=False), ("a",)),
        (
            PolicySet(
                device_ownership=(
                    DeviceOwnership(
                        header=Header(kind="DeviceOwnership", name="d", digest="1", match=Match(tiers=("a",))),
                        driver="x",
                        extended_resources=(),
                    ),
                )
            ),
            ("a",),
        ),
    ],
)
def test_tiers_that_policies_name(policy_set: PolicySet, tiers: tuple[str, ...]) -> None:
    assert named_tiers(policy_set) == tiers


def found(labels: dict[str, str], policy_set: PolicySet = EMPTY) -> list[tuple[str, str]]:
    return [(problem.key, problem.remedy) for problem in label_problems(labels, policy_set, RULES)]


def in_cel(**fields: Any) -> Raw:
    return document("ClaimRule", "r", forEach="claim", match=MATCH, message='"m"', **fields)


def test_a_tier_is_compared_with_all_that_name_one() -> None:
    assert found({TIER: "dev"}) == []
    assert found({TIER: "dev"}, checks(tiers=("development", "prod"))) == [(TIER, "known tiers: development, prod")]
    assert found({TIER: "prd"}, checks(tiers=("development", "prod"))) == [(TIER, f"write {TIER}: prod")]
    assert found({TIER: "dev"}, policies(in_cel(require='tier == "dev"'))) == []
    assert found({TIER: "dev"}, policies(in_cel(require="true", when="tier != 'dev'"))) == []
    assert found({TIER: "dev"}, policies(in_cel(require='tier == "devel"'))) == [(TIER, "known tiers: a")]


def test_a_label_that_a_policy_selects_by_is_its_own() -> None:
    key = "fallgate.dev/team"
    assert [name for name, _ in found({key: "x"})] == [key]
    assert found({key: "x"}, checks(namespace_selector=LabelSelector(match_labels={key: "y"}))) == []
    by_expression = LabelSelector(match_expressions=(LabelExpression(key=key, operator="Exists"),))
    assert found({key: "x"}, checks(namespace_selector=by_expression)) == []


def test_labels_of_others_and_right_ones_are_none_of_ours() -> None:
    right = {"fallgate.dev/mode": "off", "fallgate.dev/mode.zero-match": "audit", "mode": "x", "example.com/fallgate.dev": "x"}
    assert found(right) == []


def test_each_label_is_named() -> None:
    wrong = {"fallgate.dev/mode": "x", "fallgate.dev/mode.zero-match": "x", "fallgate.dev/mode.no-slices-for-driver": "off"}
    assert found(wrong) == [
        ("fallgate.dev/mode", "write enforce, warn, audit or off"),
        ("fallgate.dev/mode.zero-match", "write enforce, warn, audit or off"),
        ("fallgate.dev/mode.no-slices-for-driver", "write fallgate.dev/mode.zero-match: off"),
    ]
