"""The CEL variables of a ClaimRule: their types, what their fields mean, and their values for one review.

Fields are spelt as in resource.k8s.io/v1, whatever API version the author used. What an object does not have is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webhook.cel import VariableType
from webhook.cel.cost.sizes import Declared
from webhook.cel.types import BOOL, INT, STRING, list_of, map_of, object_of
from webhook.model.claim import Alternative, ClaimSpec, Constraint, Request
from webhook.model.meta import Meta
from webhook.model.pod import Pod
from webhook.rulekit.cel_sizes import declared
from webhook.rulekit.shapes.shape import Shape

ForEach = Literal["claim", "request", "alternative"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or a field of one: its name, CEL type and meaning."""

    name: str
    type: VariableType
    doc: str


@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object type of the variables."""

    name: str
    fields: tuple[Variable, ...]

    @property
    def type(self) -> VariableType:
        """The type as CEL's checker knows it."""
        return object_of(self.name, {field.name: field.type for field in self.fields})


_STRINGS, _STRING_MAP = list_of(STRING), map_of(STRING)

METADATA = ObjectType(
    "Metadata",
    (
        Variable("name", STRING, "The name; empty while the API server has not made one."),
        Variable("namespace", STRING, "The namespace."),
        Variable("labels", _STRING_MAP, "The labels."),
        Variable("annotations", _STRING_MAP, "The annotations."),
    ),
)
CEL_SELECTOR = ObjectType("CELSelector", (Variable("expression", STRING, "The expression's text."),))
SELECTOR = ObjectType("DeviceSelector", (Variable("cel", CEL_SELECTOR.type, "The CEL selector."),))
TOLERATION = ObjectType(
    "DeviceToleration",
    (
        Variable("key", STRING, "The taint's key; empty: every key."),
        Variable("operator", STRING, "`Equal` or `Exists`."),
        Variable("value", STRING, "The taint's value."),
        Variable("effect", STRING, "The taint's effect; empty: all effects."),
    ),
)
CAPACITY = ObjectType("CapacityRequirements", (Variable("requests", _STRING_MAP, "Capacity name -> quantity, as text."),))
ALTERNATIVE = ObjectType(
    "Alternative",
    (
        Variable("name", STRING, "The name in `firstAvailable`; empty for a plain ask."),
        Variable("deviceClassName", STRING, "The device class."),
        Variable("allocationMode", STRING, "`ExactCount` or `All`."),
        Variable("count", INT, "How many devices; 0 with `All`."),
        Variable("adminAccess", BOOL, "Whether administrator access is asked for."),
        Variable("selectors", list_of(SELECTOR.type), "The selectors."),
        Variable("tolerations", list_of(TOLERATION.type), "The device tolerations."),
        Variable("capacity", CAPACITY.type, "Capacity needed of each device."),
    ),
)
REQUEST = ObjectType(
    "Request",
    (
        Variable("name", STRING, "The request's name."),
        Variable("prioritized", BOOL, "Whether it is a `firstAvailable` list."),
        Variable("alternatives", list_of(ALTERNATIVE.type), "Its alternatives in order; one for a plain ask."),
    ),
)
CONSTRAINT = ObjectType(
    "Constraint",
    (
        Variable("requests", _STRINGS, "The requests it is for; empty: all."),
        Variable("matchAttribute", STRING, "The attribute that must be equal."),
        Variable("distinctAttribute", STRING, "The attribute that must differ."),
    ),
)
CLAIM = ObjectType(
    "Claim",
    (
        Variable("kind", STRING, "`ResourceClaim` or `ResourceClaimTemplate`."),
        Variable("metadata", METADATA.type, "The metadata."),
        Variable("requests", list_of(REQUEST.type), "The requests."),
        Variable("constraints", list_of(CONSTRAINT.type), "The constraints."),
    ),
)
SHAPE = ObjectType(
    "Shape",
    (
        Variable("name", STRING, "As in declarations: `2x a100-40gb`."),
        Variable("count", INT, "How many devices; 0 for all devices of a node."),
        Variable("models", _STRINGS, "The models in it, sorted."),
    ),
)
NAMESPACE = ObjectType("Namespace", (Variable("metadata", METADATA.type, "The metadata."),))
POD_SPEC = ObjectType(
    "PodSpec",
    (
        Variable("schedulerName", STRING, "The scheduler."),
        Variable("nodeName", STRING, "The node, where it is set already."),
        Variable("nodeSelector", _STRING_MAP, "The node selector."),
    ),
)
POD = ObjectType(
    "Pod",
    (
        Variable("known", BOOL, "Whether there is a pod: false for a template or claim that is judged by itself."),
        Variable("metadata", METADATA.type, "The metadata."),
        Variable("spec", POD_SPEC.type, "Parts of the spec."),
    ),
)

#: All object types, the outer ones first.
OBJECT_TYPES = (
    CLAIM,
    REQUEST,
    ALTERNATIVE,
    SHAPE,
    POD,
    POD_SPEC,
    NAMESPACE,
    METADATA,
    SELECTOR,
    CEL_SELECTOR,
    TOLERATION,
    CAPACITY,
    CONSTRAINT,
)

_ALWAYS = (
    Variable("claim", CLAIM.type, "The claim or template."),
    Variable(
        "shapes", list_of(SHAPE.type), "What may be given for it, as far as is known: by the alternative, request or claim."
    ),
    # `namespace` is a reserved word of CEL; this is what ValidatingAdmissionPolicies call it.
    Variable("namespaceObject", NAMESPACE.type, "The namespace."),
    Variable("tier", STRING, "The namespace's tier; empty without one."),
    Variable("pod", POD.type, "The pod, or pod template, that the claim is for."),
)
_REQUEST_VARIABLE = Variable("request", REQUEST.type, "The request. Not with `forEach: claim`.")
_ALTERNATIVE_VARIABLE = Variable("alternative", ALTERNATIVE.type, "The alternative. Only with `forEach: alternative`.")

_BY_SCOPE: Mapping[ForEach, tuple[Variable, ...]] = {
    "claim": _ALWAYS,
    "request": (*_ALWAYS, _REQUEST_VARIABLE),
    "alternative": (*_ALWAYS, _REQUEST_VARIABLE, _ALTERNATIVE_VARIABLE),
}

#: Every variable, for the reference.
VARIABLES = _BY_SCOPE["alternative"]


_METADATA_BOUNDS = {"metadata.labels[]": 63, "metadata.annotations[]": 256 * 1024}
_ALTERNATIVE_BOUNDS = {
    "selectors[].cel.expression": 10 * 1024,
    "tolerations": 16,
    "capacity.requests": 32,
    "capacity.requests[]": 64,
}
_ALTERNATIVES = {f"alternatives[].{place}": most for place, most in _ALTERNATIVE_BOUNDS.items()} | {"alternatives": 8}
#: The parts whose size is another than that of their like (see cel_sizes).
_BOUNDS: Mapping[str, int] = {
    **{
        f"{variable}.{place}": most
        for variable in ("claim", "namespaceObject", "pod")
        for place, most in _METADATA_BOUNDS.items()
    },
    **{f"claim.requests[].{place}": most for place, most in _ALTERNATIVES.items()},
    **{f"request.{place}": most for place, most in _ALTERNATIVES.items()},
    **{f"alternative.{place}": most for place, most in _ALTERNATIVE_BOUNDS.items()},
    "shapes": 4096,
}
_SIZES: Mapping[str, Declared] = {
    variable.name: declared(variable.name, variable.type, _BOUNDS) for variable in _BY_SCOPE["alternative"]
}


def sizes(for_each: ForEach) -> Mapping[str, Declared]:
    """How large those variables can be."""
    return {variable.name: _SIZES[variable.name] for variable in _BY_SCOPE[for_each]}


def variables(for_each: ForEach) -> Mapping[str, VariableType]:
    """The variables that an expression of a ClaimRule with this `forEach` may use."""
    return {variable.name: variable.type for variable in _BY_SCOPE[for_each]}


def claim_value(kind: str, meta: Meta, spec: ClaimSpec) -> Mapping[str, Any]:
    """The value of `claim`."""
    return {
        "kind": kind,
        "metadata": metadata_value(meta),
        "requests": [request_value(request) for request in spec.requests],
        "constraints": [_constraint_value(constraint) for constraint in spec.constraints],
    }


def request_value(request: Request) -> Mapping[str, Any]:
    """The value of `request`."""
    return {
        "name": request.name,
        "prioritized": request.prioritized,
        "alternatives": [alternative_value(alternative) for alternative in request.alternatives],
    }


def alternative_value(alternative: Alternative) -> Mapping[str, Any]:
    """The value of `alternative`."""
    return {
        "name": alternative.name,
        "deviceClassName": alternative.device_class,
        "allocationMode": alternative.allocation_mode,
        "count": alternative.count,
        "adminAccess": alternative.admin_access,
        "selectors": [{"cel": {"expression": selector.expression}} for selector in alternative.written],
        "tolerations": [
            {"key": item.key, "operator": item.operator, "value": item.value, "effect": item.effect}
            for item in alternative.tolerations
        ],
        "capacity": {"requests": dict(alternative.capacity)},
    }


def shapes_value(shapes: Iterable[Shape]) -> list[Mapping[str, Any]]:
    """The value of `shapes`: each shape once, in their order."""
    return [{"name": str(shape), "count": shape.count, "models": list(shape.models)} for shape in sorted(dict.fromkeys(shapes))]


def namespace_value(meta: Meta) -> Mapping[str, Any]:
    """The value of `namespaceObject`."""
    return {"metadata": metadata_value(meta)}


def pod_value(pod: Pod | None) -> Mapping[str, Any]:
    """The value of `pod`; one that is not known has empty fields."""
    known = pod or Pod(meta=Meta())
    return {
        "known": pod is not None,
        "metadata": metadata_value(known.meta),
        "spec": {
            "schedulerName": known.scheduler_name,
            "nodeName": known.node_name,
            "nodeSelector": dict(known.node_selector),
        },
    }


def metadata_value(meta: Meta) -> Mapping[str, Any]:
    """The value of a `metadata` field."""
    return {
        "name": meta.name,
        "namespace": meta.namespace,
        "labels": dict(meta.labels),
        "annotations": dict(meta.annotations),
    }


def _constraint_value(constraint: Constraint) -> Mapping[str, Any]:
    return {
        "requests": list(constraint.requests),
        "matchAttribute": constraint.match_attribute,
        "distinctAttribute": constraint.distinct_attribute,
    }
