"""Values that contradict each other are refused before anything reaches the cluster, with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helms import CHART, Helm, Refused

URL = {"url": "https://fallgate.example.com"}

CONTRADICTIONS: dict[str, tuple[Mapping[str, Any], str]] = {
    case["case"]: (case["values"], case["refusal"])
    for case in yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text())
}


def test_every_refusal_of_the_chart_has_a_case() -> None:
    said = (CHART / "templates" / "_refusals.tpl").read_text()
    # One sentence is for two modes, one for two kinds of file name.
    assert said.count("{{- fail ") + 2 == len(CONTRADICTIONS)


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_contradiction_says_what_to_write(helm: Helm, case: str) -> None:
    values, message = CONTRADICTIONS[case]
    with pytest.raises(Refused) as refused:
        helm.template(values)
    assert str(refused.value) == message


ALLOWED: dict[str, Mapping[str, Any]] = {
    "one replica that lets pass": {
        "mode": "enforce",
        "deployment": {"replicas": 1},
        "webhook": {"failurePolicy": {"enforced": "Ignore"}},
    },
    "one replica that audits": {"deployment": {"replicas": 1}},
    "one replica nearby, the others outside": {
        "mode": "enforce",
        "deployment": {"replicas": 1, "enabled": False},
        "webhook": URL,
    },
    "a certificate that everybody trusts": {"certificates": {"mode": "secret", "secretName": "mine"}, "webhook": URL},
    "policies from a ConfigMap alone": {"policies": {"packs": [], "configMaps": ["mine"]}},
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_is_no_contradiction_renders(any_helm: Helm, case: str) -> None:
    assert "kind: ValidatingWebhookConfiguration\n" in any_helm.template(ALLOWED[case])


MISTAKES: dict[str, tuple[Mapping[str, Any], str]] = {
    "a key that is not there": (
        {"deployment": {"replicaCount": 3}},
        "- at '/deployment': additional properties 'replicaCount' not allowed",
    ),
    "a key at the top": ({"replicas": 3}, "- at '': additional properties 'replicas' not allowed"),
    "a mode that is none": ({"mode": "block"}, "- at '/mode': value must be one of 'audit', 'warn', 'enforce'"),
    "no replicas": ({"deployment": {"replicas": 0}}, "- at '/deployment/replicas': minimum: got 0, want 1"),
    "http": (
        {"webhook": {"url": "http://fallgate.example.com"}},
        "- at '/webhook/url': 'http://fallgate.example.com' does not match pattern '^(https://[^/?#@\\\\s]+(/[^?#\\\\s]*)?)?$'",
    ),
    "a cap that caps nothing": (
        {"caps": [{"mode": "enforce"}]},
        "- at '/caps/0/mode': value must be one of 'audit', 'warn'",
    ),
    "nothing instead of a mode, which would not be audit": ({"mode": None}, "- at '': missing property 'mode'"),
    "nothing instead of everything": ({"policies": None}, "- at '': missing property 'policies'"),
    "a name that a Service cannot have": (
        {"fullnameOverride": "a.b"},
        "- at '/fullnameOverride': 'a.b' does not match pattern '^([a-z]([-a-z0-9]*[a-z0-9])?)?$'",
    ),
    "CEL in a user name": (
        {"schedulerUsers": ['"] || true || ["']},
        "- at '/schedulerUsers/0': '\"] || true || [\"' does not match pattern '^[^,\\\\s\\\\\"\\\\\\\\]+$'",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_found_by_the_schema(helm: Helm, case: str) -> None:
    values, message = MISTAKES[case]
    with pytest.raises(Refused) as refused:
        helm.template(values)
    assert (
        str(refused.value)
        == f"values don't meet the specifications of the schema(s) in the following chart(s):\nfallgate:\n{message}"
    )
