"""The variables of a ClaimRule: every documented field can be read, and has the value it should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from webhook.cel import CelError, Expression, VariableType, compile_expression
from webhook.cel.types import BOOL, INT, STRING
from webhook.model.claim_reading import read_claim
from webhook.model.meta import Meta
from webhook.model.pod_reading import read_pod
from webhook.rulekit.claim_rules.variables import (
    OBJECT_TYPES,
    VARIABLES,
    ForEach,
    alternative_value,
    claim_value,
    namespace_value,
    pod_value,
    request_value,
    shapes_value,
    variables,
)
from webhook.rulekit.shapes.shape import shape_of

CLAIM = read_claim(
    {
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "c", "namespace": "n", "labels": {"l": "1"}, "annotations": {"a": "2"}},
        "spec": {
            "devices": {
                "requests": [
                    {
                        "name": "gpu",
                        "firstAvailable": [
                            {
                                "name": "two",
                                "deviceClassName": "gpu.example.com",
                                "count": 2,
                                "selectors": [{"cel": {"expression": "true"}}],
                                "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute"}],
                                "capacity": {"requests": {"memory": "1Gi"}},
                            },
                            {"name": "all", "deviceClassName": "gpu.example.com", "allocationMode": "All"},
                        ],
                    }
                ],
                "constraints": [{"requests": ["gpu"], "matchAttribute": "example.com/a"}],
            }
        },
    }
)
POD = read_pod(
    {
        "metadata": {"name": "p", "labels": {"app": "x"}},
        "spec": {"schedulerName": "s", "nodeName": "node", "nodeSelector": {"a": "b"}},
    }
)
REQUEST = CLAIM.spec.requests[0]
VALUES: Mapping[str, object] = {
    "claim": claim_value("ResourceClaim", CLAIM.meta, CLAIM.spec),
    "request": request_value(REQUEST),
    "alternative": alternative_value(REQUEST.alternatives[0]),
    "shapes": shapes_value([shape_of({"big": 2}), shape_of({"all": 0}), shape_of({"big": 2})]),
    "namespaceObject": namespace_value(Meta(name="n", labels={"tier": "dev"})),
    "tier": "dev",
    "pod": pod_value(POD),
}


def said(text: str, values: Mapping[str, object] = VALUES, for_each: ForEach = "alternative") -> object:
    expression = compile_expression(f"string({text})", variables=variables(for_each), result="string")
    assert isinstance(expression, Expression), expression
    return expression.evaluate(values)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("claim.kind", "ResourceClaim"),
        ("claim.metadata.name + claim.metadata.namespace", "cn"),
        ('claim.metadata.labels["l"] + claim.metadata.annotations["a"]', "12"),
        ("claim.requests[0].name", "gpu"),
        ("claim.constraints[0].requests[0]", "gpu"),
        ("claim.constraints[0].matchAttribute", "example.com/a"),
        ("claim.constraints[0].distinctAttribute", ""),
        ("request.prioritized", "true"),
        ("request.alternatives[1].allocationMode", "All"),
        ("request.alternatives[1].count", "0"),
        ("alternative.name", "two"),
        ("alternative.deviceClassName", "gpu.example.com"),
        ("alternative.count", "2"),
        ("alternative.adminAccess", "false"),
        ("alternative.selectors[0].cel.expression", "true"),
        ("alternative.tolerations[0].key + alternative.tolerations[0].operator", "kExists"),
        ("alternative.tolerations[0].value + alternative.tolerations[0].effect", "NoExecute"),
        ('alternative.capacity.requests["memory"]', "1Gi"),
        ("shapes.size()", "2"),
        ("shapes[0].name + ' ' + string(shapes[0].count)", "*x all 0"),
        ("shapes[1].name + ' ' + string(shapes[1].count) + shapes[1].models[0]", "2x big 2big"),
        ('namespaceObject.metadata.labels["tier"] + namespaceObject.metadata.name', "devn"),
        ("tier", "dev"),
        ("pod.known", "true"),
        ('pod.metadata.labels["app"]', "x"),
        ('pod.spec.schedulerName + pod.spec.nodeName + pod.spec.nodeSelector["a"]', "snodeb"),
    ],
)
def test_values(text: str, value: str) -> None:
    assert said(text) == value


def test_a_pod_that_is_not_known_is_empty() -> None:
    values = {**VALUES, "pod": pod_value(None)}
    assert said("pod.known", values) == "false"
    assert said("pod.metadata.name + pod.spec.schedulerName", values) == ""


def leaves(name: str, type_: VariableType) -> Iterator[str]:
    """Expressions that read every field of an object."""
    if type_.fields:
        for field, nested in type_.fields.items():
            yield from leaves(f"{name}.{field}", nested)
    elif type_ in (STRING, INT, BOOL):
        yield name
    else:
        yield f"{name}.size()"


@pytest.mark.parametrize("text", [text for variable in VARIABLES for text in leaves(variable.name, variable.type)])
def test_every_field_has_a_value_of_its_type(text: str) -> None:
    assert not isinstance(said(text), CelError)


def test_members_of_lists_have_all_fields_too() -> None:
    members: Mapping[str, Any] = {
        "Request": "claim.requests[0]",
        "Alternative": "claim.requests[0].alternatives[1]",
        "Shape": "shapes[0]",
        "Constraint": "claim.constraints[0]",
        "DeviceToleration": "alternative.tolerations[0]",
        "DeviceSelector": "alternative.selectors[0]",
    }
    by_name = {one.name: one for one in OBJECT_TYPES}
    for name, text in members.items():
        for leaf in leaves(text, by_name[name].type):
            assert not isinstance(said(leaf), CelError), leaf


@pytest.mark.parametrize(
    ("for_each", "names"),
    [
        ("claim", {"claim", "shapes", "namespaceObject", "tier", "pod"}),
        ("request", {"claim", "shapes", "namespaceObject", "tier", "pod", "request"}),
        ("alternative", {"claim", "shapes", "namespaceObject", "tier", "pod", "request", "alternative"}),
    ],
)
def test_what_is_judged_decides_what_is_there(for_each: ForEach, names: set[str]) -> None:
    assert set(variables(for_each)) == names
