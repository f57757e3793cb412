"""Which declaration is in force: the nearest that says anything about the request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.build import NAMESPACE, Raw, catalog, claim, fleet_of, namespace, owned_by, pod, product, template
from tests.harness import review_of
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.pod_reading import read_pod
from webhook.rulekit.compatibility.declared import (
    NOTHING,
    SHAPES_ANNOTATION,
    UNDECLARED,
    WHEN_ANNOTATION,
    Declared,
    declared_for,
    faults_of,
    statement_of,
    unknown_models,
)
from webhook.rulekit.shapes.catalog import Catalog
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def shapes(text: str) -> Raw:
    return {"annotations": {SHAPES_ANNOTATION: text}}


def when(text: str) -> Raw:
    return {"annotations": {WHEN_ANNOTATION: text}}


def view_of(body: Raw, *objects: Raw) -> View:
    group = body["apiVersion"].rpartition("/")[0]
    subject = read_subject(group, body["kind"], body)
    assert subject is not None
    return View(review=review_of(body), subject=subject, fleet=fleet_of(*objects), policies=catalog(), now=NOW)


def for_template(body: Raw, *objects: Raw, of_pod: Raw | None = None, pod_claim: str = "", request: str = "gpu") -> Declared:
    return declared_for(
        view_of(body, *objects),
        pod=read_pod(of_pod) if of_pod is not None else None,
        pod_claim=pod_claim,
        source=read_claim_template(body),
        request=request,
    )


def test_nothing_is_declared() -> None:
    assert for_template(template("t")) is UNDECLARED
    assert (UNDECLARED.present, UNDECLARED.text, UNDECLARED.statement) == (False, "", NOTHING)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ("pod template namespace", ("pod", "Pod trainer", "p")),
        ("template namespace", ("claim", "ResourceClaimTemplate t", "t")),
        ("namespace", ("namespace", "Namespace team-a", "n")),
    ],
)
def test_the_nearest_wins(levels: str, expected: tuple[str, str, str]) -> None:
    found = for_template(
        template("t", **(shapes("t") if "template" in levels else {})),
        namespace(**(shapes("n") if "namespace" in levels else {})),
        of_pod=pod("trainer", meta=shapes("p") if "pod" in levels else {}),
        pod_claim="accelerator",
    )
    assert (found.level, found.origin, found.text) == expected
    assert found.present


def test_without_a_pod_the_template_speaks() -> None:
    assert for_template(template("t", **shapes("t")), namespace(**shapes("n"))).origin == "ResourceClaimTemplate t"


def test_a_templates_spec_metadata_wins_over_its_own() -> None:
    assert for_template(template("t", claim_metadata=shapes("inner"))).text == "inner"
    assert for_template(template("t", claim_metadata=shapes("inner"), **shapes("outer"))).text == "inner"
    both = for_template(template("t", claim_metadata=when("true"), **shapes("outer")))
    assert both.text == "outer or when true"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h100", "h100"),
        ("gpu: h100", "h100"),
        ("nic: h100", "n"),
        ("accelerator/gpu: h100, nic: x", "h100"),
        ("other/gpu: h100", "n"),
        ("accelerator/nic: h100", "n"),
        ("t4, gpu: h100, nic: x", "t4, h100"),
    ],
)
def test_a_declaration_that_says_nothing_about_the_request_is_not_the_nearest(text: str, expected: str) -> None:
    found = for_template(
        template("t"), namespace(**shapes("n")), of_pod=pod("trainer", meta=shapes(text)), pod_claim="accelerator"
    )
    assert found.text == expected


def test_what_is_meant_for_one_pod_claim_says_nothing_where_no_pod_is_known() -> None:
    body = template("t", **shapes("accelerator/gpu: h100"))
    assert for_template(body) is UNDECLARED
    assert for_template(body, of_pod=pod("p"), pod_claim="accelerator").text == "h100"


def test_compatible_when_speaks_of_every_request() -> None:
    found = for_template(
        template("t", **shapes("t")),
        of_pod=pod("p", meta={"annotations": {SHAPES_ANNOTATION: "nic: x", WHEN_ANNOTATION: "shape.count <= 2"}}),
    )
    assert (found.level, found.text) == ("pod", "when shape.count <= 2")
    assert found.statement.entries == ()
    assert found.statement.when is not None


# Generated claims.


def generated(**annotations: str) -> Raw:
    meta: dict[str, Any] = {"annotations": {"resource.kubernetes.io/pod-claim-name": "accelerator", **annotations}}
    return claim("c", **meta, ownerReferences=owned_by("Pod", "p", "u1"))


def for_claim(body: Raw, *objects: Raw, of_pod: Raw | None, pod_claim: str = "accelerator") -> Declared:
    read = read_pod(of_pod) if of_pod is not None else None
    return declared_for(view_of(body, *objects), pod=read, pod_claim=pod_claim, source=read_claim(body), request="gpu")


def test_a_generated_claim_carries_its_templates_spec_metadata() -> None:
    owner = pod("p", templates={"accelerator": "t"})
    found = for_claim(generated(**{SHAPES_ANNOTATION: "c"}), template("t", **shapes("t")), of_pod=owner)
    assert (found.level, found.origin, found.text) == ("claim", "ResourceClaim c", "c")


def test_what_its_template_says_itself_is_looked_up_through_the_pod() -> None:
    objects = (template("t", **shapes("t")), template("other", **shapes("o")))
    assert for_claim(generated(), *objects, of_pod=pod("p", templates={"x": "other", "accelerator": "t"})).text == "t"
    assert for_claim(generated(), *objects, of_pod=None) is UNDECLARED
    assert for_claim(generated(), *objects, of_pod=pod("p", templates={"x": "t"})) is UNDECLARED
    assert for_claim(generated(), of_pod=pod("p", templates={"accelerator": "t"})) is UNDECLARED
    assert for_claim(generated(), *objects, of_pod=pod("p", claims={"accelerator": "t"})) is UNDECLARED


def test_a_pods_own_declaration_wins_over_both() -> None:
    owner = pod("p", templates={"accelerator": "t"}, meta=shapes("p"))
    assert for_claim(generated(), template("t", **shapes("t")), of_pod=owner).text == "p"


# What cannot be read.


def test_a_declaration_that_cannot_be_read_is_in_force_and_covers_nothing() -> None:
    found = for_template(template("t", **shapes("nic: x, 2x")), namespace(**shapes("n")))
    assert found.level == "claim"
    assert found.statement.entries == ()
    (fault,) = found.statement.faults
    assert (fault.annotation, fault.message) == (SHAPES_ANNOTATION, "a model is missing here")
    assert fault.pointed == "nic: x, 2x\n          ^ a model is missing here"


def test_both_annotations_are_read() -> None:
    faults = faults_of({SHAPES_ANNOTATION: "2x", WHEN_ANNOTATION: "shape.count <=\n\tshape.cont"})
    assert [(fault.annotation, fault.pointed.splitlines()[0]) for fault in faults] == [
        (SHAPES_ANNOTATION, "2x"),
        (WHEN_ANNOTATION, "shape.cont"),
    ]
    assert faults[1].pointed.splitlines()[1].index("^") == 5
    assert "cont" in faults[1].message
    assert faults_of({SHAPES_ANNOTATION: "h100", WHEN_ANNOTATION: "shape.count <= 2"}) == ()
    assert faults_of({}) == ()


def test_an_empty_expression_is_a_fault_too() -> None:
    (fault,) = faults_of({WHEN_ANNOTATION: ""})
    assert fault.annotation == WHEN_ANNOTATION
    assert fault.pointed == "there is no expression: write one, such as true"


def test_an_expression_longer_than_kubernetes_takes_is_a_fault() -> None:
    (fault,) = faults_of({WHEN_ANNOTATION: "shape.count == 1 ||\n" * 512 + "true"})
    assert fault.message == "expression too long: 10244 bytes, the limit is 10240"


def test_the_excerpt_says_what_to_write_instead() -> None:
    (fault,) = faults_of({WHEN_ANNOTATION: "shape.count = 1"})
    assert fault.message == "Syntax error: token recognition error at: '='"
    assert fault.pointed == "shape.count = 1\n            ^ write == to compare"


def test_compatible_when_must_be_a_condition() -> None:
    assert faults_of({WHEN_ANNOTATION: "shape.count"})[0].annotation == WHEN_ANNOTATION


def test_the_same_annotations_give_the_same_statement() -> None:
    first = statement_of({SHAPES_ANNOTATION: "h100, nic: x"}, "a", "gpu")
    assert first is not None
    assert statement_of({SHAPES_ANNOTATION: "h100, nic: x", "other": "y"}, "a", "gpu") is first
    assert statement_of({"other": "y"}, "a", "gpu") is None


def test_models_that_no_catalog_knows() -> None:
    names = Catalog((product("h100-80gb", "x"),))
    assert unknown_models({SHAPES_ANNOTATION: "h100-80gb, 2x h200, h*, t*, ?x/*, h200"}, names) == ("h200", "t*")
    assert unknown_models({SHAPES_ANNOTATION: "2x"}, names) == ()
    assert unknown_models({WHEN_ANNOTATION: "true"}, names) == ()


def test_the_namespace_is_the_reviews() -> None:
    elsewhere = namespace("team-b", **shapes("b"))
    assert for_template(template("t", namespace=NAMESPACE), elsewhere) is UNDECLARED


def test_compatible_when_may_not_cost_more_than_a_selector() -> None:
    loops = "shape.devices.all(a, shape.devices.all(b, shape.devices.all(c, shape.devices.all(d, a.model == d.model))))"
    (fault,) = faults_of({WHEN_ANNOTATION: loops})
    assert fault.message == "too complex, exceeds cost limit"
    assert fault.pointed == (
        f"{loops[:100]}...\n"
        "^ it can cost 34,805,955, 1,000,000 are allowed: what stands in a loop counts for each element it can have"
    )
    assert faults_of({WHEN_ANNOTATION: "shape.devices.all(a, shape.devices.all(b, a.model == b.model))"}) == ()
