"""Alternatives that would break a ClaimRule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, Raw, claim, device_class, exactly, fleet_of, namespace, owned_by, pod
from tests.injecting import document, in_tier, occasion_of, policies, tier
from webhook.rulekit.injection.plan import plan, wanted_lists

AMD = "gpu.amd.com"
PAIR = {"name": "pair", "deviceClassName": NVIDIA, "count": 2}
CARD = {"name": "card", "deviceClassName": AMD, "count": 1}
FLEET = in_tier(fleet_of(device_class(NVIDIA), device_class(AMD)))


def rule(require: str, message: str = '"no"', for_each: str = "alternative", **spec: Any) -> Raw:
    return document("ClaimRule", "rule", forEach=for_each, require=require, message=message, **spec)


FEW = rule("alternative.count <= 1", '"one at most, asked " + string(alternative.count)')


def why(body: Raw, *documents: Raw, objects: tuple[Raw, ...] = ()) -> list[tuple[str, str]]:
    occasion = occasion_of(body, in_tier(FLEET, *objects), policies(*documents))
    return [(item.candidate.name, item.why) for item in plan(occasion, wanted_lists(occasion)).left_out]


def test_a_rule_of_alternatives() -> None:
    text = "ClaimRule rule would not be kept: one at most, asked 2"
    assert why(claim("c"), tier(PAIR, CARD), FEW) == [("pair", text)]
    assert why(claim("c"), tier(CARD), FEW) == []
    # the author's own ask does not keep it either
    assert why(claim("c", exactly(count=3)), tier(PAIR), FEW) == []
    # another request does not
    two = claim("c", exactly(), exactly("b", AMD, count=3))
    assert why(two, tier(PAIR, match={"deviceClasses": [NVIDIA]}), FEW) == [("pair", text)]


def test_a_rule_of_requests() -> None:
    text = "ClaimRule rule would not be kept: no"
    no_lists = rule("!request.prioritized", for_each="request")
    assert why(claim("c"), tier(PAIR, CARD), no_lists) == [("pair", text), ("card", text)]
    assert why(claim("c"), tier(PAIR, CARD, author="replace"), no_lists) == [("pair", text), ("card", text)]
    short = rule("request.alternatives.size() <= 2", for_each="request")
    assert why(claim("c"), tier(PAIR, CARD), short) == [("card", text)]


def test_a_rule_of_claims() -> None:
    text = "ClaimRule rule would not be kept: no"
    whole = rule(
        "claim.requests.all(r, r.alternatives.all(a, a.count <= 1)) && claim.kind == 'ResourceClaim'", for_each="claim"
    )
    assert why(claim("c"), tier(PAIR, CARD), whole) == [("pair", text)]
    assert why(claim("c", exactly(), exactly("b", count=5)), tier(PAIR), whole) == []


def test_an_expression_that_fails() -> None:
    broken = rule('alternative.selectors[alternative.count - 1].cel.expression != ""', when="alternative.count == 2")
    found = why(claim("c"), tier(PAIR, CARD), broken)
    assert [(name, text.partition(": ")[2].partition(":")[0]) for name, text in found] == [("pair", "its `require` fails")]


def test_what_a_rule_reads() -> None:
    owned: Raw = {"annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"}, "ownerReferences": owned_by("Pod", "p", "u")}
    known = pod("p", templates={"gpu": "t"}, meta={"uid": "u", "labels": {"may": "two"}})
    by_pod = rule('alternative.count <= 1 || ("may" in pod.metadata.labels && claim.metadata.name == "c")')
    assert why(claim("c", **owned), tier(PAIR), by_pod, objects=(known,)) == []
    assert len(why(claim("d", **owned), tier(PAIR), by_pod, objects=(known,))) == 1


@pytest.mark.parametrize(
    ("spec", "labels", "expected"),
    [
        ({}, {}, ["pair"]),
        ({"mode": "audit"}, {}, ["pair"]),
        ({}, {"fallgate.dev/mode.claim-rule": "off"}, []),
        ({"match": {"namespaces": ["other"]}}, {}, []),
        ({"match": {"deviceClasses": [NVIDIA]}}, {}, ["pair"]),
        ({"match": {"deviceClasses": [AMD]}}, {}, []),
        ({"when": "alternative.deviceClassName != 'gpu.nvidia.com'"}, {}, []),
    ],
)
def test_where_the_rule_is_not_for_the_claim(spec: Raw, labels: dict[str, str], expected: list[str]) -> None:
    labelled = namespace(labels={"fallgate.dev/tier": "dev", **labels})
    found = why(claim("c"), tier(PAIR), rule("alternative.count <= 1", **spec), objects=(labelled,))
    assert [name for name, _ in found] == expected


def test_a_rule_that_only_an_alternative_brings() -> None:
    of_amd = rule("alternative.count <= 1", match={"deviceClasses": [AMD]})
    assert why(claim("c"), tier(CARD), of_amd) == []
    # the author's two cards were nobody's business before
    assert [name for name, _ in why(claim("c", exactly(count=2)), tier(CARD), of_amd)] == ["card"]


def test_every_rule_counts() -> None:
    second = document(
        "ClaimRule", "second", forEach="alternative", require="alternative.deviceClassName != 'gpu.amd.com'", message='"x"'
    )
    assert [name for name, _ in why(claim("c"), tier(PAIR, CARD), FEW, second)] == ["pair", "card"]
