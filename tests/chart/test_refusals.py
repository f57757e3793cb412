"""Values that contradict each other are refused before anything reaches the cluster, with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helms import CHART, RELEASE, Helm, Refused

URL = {"url": "https://fallgate.example.com"}

CONTRADICTIONS: dict[str, tuple[Mapping[str, Any], str, str]] = {
    case["case"]: (case["values"], case.get("release", RELEASE), case["refusal"])
    for case in yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text())
}


def test_every_refusal_of_the_chart_has_a_case() -> None:
    said = (CHART / "templates" / "_refusals.tpl").read_text()
    # Some sentences are for more than one case: two modes, two kinds of file name, two of release names, four places of labels,
    # two uses of a ConfigMap.
    assert said.count("{{- fail ") + 2 + 1 + 3 + 1 == len(CONTRADICTIONS)


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_contradiction_says_what_to_write(helm: Helm, case: str) -> None:
    values, release, message = CONTRADICTIONS[case]
    with pytest.raises(Refused) as refused:
        helm.template(values, release=release)
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
    "no cap": {"capConfigMap": "", "policies": {"configMaps": ["mine"]}},
    "labels of one's own": {"labels": {"team": "platform"}, "deployment": {"podLabels": {"example.com/name": "mine"}}},
    "policies from a ConfigMap alone": {"policies": {"packs": [], "configMaps": ["mine"]}},
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_is_no_contradiction_renders(any_helm: Helm, case: str) -> None:
    assert "kind: ValidatingWebhookConfiguration\n" in any_helm.template(ALLOWED[case])


def test_a_release_with_a_dot_may_have_a_name_without(any_helm: Helm) -> None:
    rendered = any_helm.template({"fullnameOverride": "fallgate"}, release="my.release")
    assert "app.kubernetes.io/instance: my.release\n" in rendered


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
