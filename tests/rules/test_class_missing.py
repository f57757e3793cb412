"""class-missing: what is known of classes at all, and what is looked up once more."""

from __future__ import annotations

from tests.build import NVIDIA, alternative, claim, device_class, exactly, first_available
from tests.harness import ask, reasons
from webhook.model.meta import ObjectRef
from webhook.policyfile import parse_policies

CHECKS = parse_policies(
    [("checks.yaml", b"apiVersion: fallgate.dev/v1alpha1\nkind: Checks\nmetadata: {name: c}\nspec: {mode: enforce}\n")]
)
BODY = claim("c", exactly("gpu", "tpu.example.com"))


def test_nothing_is_missing_where_no_class_is_known() -> None:
    assert reasons(ask(BODY, policies=CHECKS).decision) == []


def test_a_missing_class_is_wanted() -> None:
    decision = ask(BODY, policies=CHECKS, cluster=[device_class(NVIDIA)]).decision
    assert reasons(decision) == ["class-missing"]
    assert ObjectRef(kind="DeviceClass", namespace="", name="tpu.example.com") in decision.wanted


def test_a_class_of_the_same_input_is_there() -> None:
    decision = ask(BODY, policies=CHECKS, cluster=[device_class(NVIDIA), device_class("tpu.example.com")]).decision
    assert decision.wanted == () or all(item.kind != "DeviceClass" for item in decision.wanted)
    assert reasons(decision) == []


def test_a_class_that_is_not_there_does_not_hold_several_models() -> None:
    """What the catalog says of it is right only as long as no class is known."""
    catalog = b"""\
apiVersion: fallgate.dev/v1alpha1
kind: ShapeCatalog
metadata: {name: models}
spec:
  models:
  - name: a
    driver: tpu.example.com
    deviceClassName: tpu.example.com
    selector: device.attributes["tpu.example.com"].model == "a"
    examples: [{attributes: {model: {string: a}}}]
  - name: b
    driver: tpu.example.com
    deviceClassName: tpu.example.com
    selector: device.attributes["tpu.example.com"].model == "b"
    examples: [{attributes: {model: {string: b}}}]
---
apiVersion: fallgate.dev/v1alpha1
kind: Checks
metadata: {name: c}
spec: {mode: enforce}
"""
    policies = parse_policies([("policies.yaml", catalog)])
    body = claim("c", first_available("gpu", alternative("any", "tpu.example.com")))
    assert reasons(ask(body, policies=policies).decision) == ["alternative-unbounded"]
    assert reasons(ask(body, policies=policies, cluster=[device_class(NVIDIA)]).decision) == ["class-missing"]
