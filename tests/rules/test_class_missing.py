"""class-missing: what is known of classes at all, and what is looked up once more."""

from __future__ import annotations

from tests.build import NVIDIA, claim, device_class, exactly
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
