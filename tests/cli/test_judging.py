"""Judging the objects of one input together."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.build import claim, exactly, fleet_of, owned_by, pod, template
from webhook.cli.asking import Asked, Manner, ask_all
from webhook.cli.judging import Bench, applied, judge_all, wished
from webhook.folder.manifests import FileObject
from webhook.policyfile import parse_policies

NOW = datetime(2027, 1, 1, tzinfo=UTC)
NO_POLICIES = parse_policies([])


def asked(*bodies: Any, **manner: Any) -> list[Asked]:
    return ask_all([FileObject(body, "in.yaml", i) for i, body in enumerate(bodies, 1)], Manner(**manner))[0]


def test_verdicts_come_in_the_order_of_the_input() -> None:
    items = asked(
        claim("generated", exactly(), annotations={"resource.kubernetes.io/pod-claim-name": "gpu"}),
        pod("trainer"),
        template("one"),
    )
    verdicts = judge_all(items, Bench(fleet=fleet_of(), policies=NO_POLICIES, now=NOW))
    assert [verdict.asked for verdict in verdicts] == items
    assert [verdict.word for verdict in verdicts] == ["allow"] * 3


def test_templates_are_judged_first_and_generated_claims_last() -> None:
    seen: list[str] = []

    def watch(items: Any) -> Any:
        for item in items:
            seen.append(item.name)
            yield item

    items = asked(
        claim("generated", annotations={"resource.kubernetes.io/pod-claim-name": "gpu"}),
        pod("trainer"),
        claim("by-hand"),
        template("one"),
    )
    judge_all(items, Bench(fleet=fleet_of(), policies=NO_POLICIES, now=NOW), progress=watch)
    assert seen == ["by-hand", "one", "trainer", "generated"]


@pytest.mark.parametrize(
    ("review", "remark"),
    [
        ({}, ""),
        ({"operation": "UPDATE"}, "nothing that rules read has changed"),
        ({"namespace": "kube-system"}, "namespace kube-system is excluded"),
    ],
)
def test_a_remark_says_why_no_rule_was_asked(review: dict[str, Any], remark: str) -> None:
    body = claim("one", exactly(), namespace="")
    (verdict,) = judge_all(asked(body, **review), Bench(fleet=fleet_of(), policies=NO_POLICIES, now=NOW))
    assert verdict.remark == remark


def test_changes_held_back_show_what_would_be_stored_unless_they_do_not_fit_together() -> None:
    body = {"a": 1}
    assert wished(body, ()) is body
    assert wished(body, [{"op": "replace", "path": "/a", "value": 2}]) == {"a": 2}
    assert wished(body, [{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}]) is body


def test_a_new_pod_that_names_its_node_holds_nothing_there() -> None:
    (item,) = asked(pod("new", extended={"nvidia.com/gpu": "1"}, nodeName="node-1"))
    assert "nodeName" not in applied(item, item.review.object)["spec"]


def test_a_pod_that_has_been_in_a_cluster_holds_what_it_holds() -> None:
    (item,) = asked(pod("old", extended={"nvidia.com/gpu": "1"}, nodeName="node-1", status={"phase": "Running"}))
    assert applied(item, item.review.object)["spec"]["nodeName"] == "node-1"


def test_an_object_without_a_namespace_is_seen_in_the_default_one() -> None:
    (item,) = asked(template("one", namespace=""), namespace="team-x")
    assert applied(item, item.review.object)["metadata"] == {"name": "one", "namespace": "team-x"}
    assert item.review.object["metadata"] == {"name": "one"}


def test_a_generated_claim_sees_its_pod_in_the_same_input() -> None:
    owner = pod("trainer", templates={"gpu": "one"}, meta={"uid": "u-1"})
    generated = claim(
        "trainer-gpu-x",
        exactly(),
        annotations={"resource.kubernetes.io/pod-claim-name": "gpu"},
        ownerReferences=owned_by("Pod", "trainer", "u-1"),
    )
    policies = parse_policies(
        [("p.yaml", b"apiVersion: fallgate.dev/v1alpha1\nkind: Checks\nmetadata: {name: c}\nspec: {mode: enforce}\n")]
    )
    verdicts = judge_all(asked(generated, owner), Bench(fleet=fleet_of(), policies=policies, now=NOW))
    wanted = [ref.kind for verdict in verdicts for ref in verdict.decision.wanted]
    assert "Pod" not in wanted
