"""Node selector terms and tolerations, read as kube-scheduler reads them.

Sources: k8s.io/component-helpers scheduling/corev1/nodeaffinity (terms are ORed, an empty term matches nothing, a term that
does not parse matches nothing), k8s.io/apimachinery pkg/labels (what a requirement means), k8s.io/api core/v1 toleration.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from webhook.model.cluster import NodeTaint
from webhook.model.pod import NodeToleration
from webhook.model.tolerant import Json, mapping, sequence, string_tuple, text

#: Effects that keep a pod off a node.
HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
#: Taints that controllers put on and take off again: cordons, conditions, nodes that are not initialised yet. They pass by.
PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")

_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DECIMAL = re.compile(r"[+-]?[0-9]+")
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Requirement:
    """One entry of matchExpressions or matchFields."""

    key: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A node selector term: all of its requirements must hold. One that matches nothing is not made."""

    expressions: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]


def read_terms(raw: Iterable[object]) -> tuple[Term, ...]:
    """The terms that can match a node: empty ones and those that the scheduler cannot parse are left out."""
    return tuple(term for term in (_read_term(mapping(item)) for item in raw) if term is not None)


def read_node_selector(raw: Mapping[str, object]) -> tuple[Term, ...]:
    """The terms of a NodeSelector, as slices and devices have one."""
    return read_terms(sequence(raw.get("nodeSelectorTerms")))


def _read_term(raw: Json) -> Term | None:
    expressions = _read_requirements(raw.get("matchExpressions"))
    fields = _read_requirements(raw.get("matchFields"))
    if not expressions and not fields:
        return None
    if not all(map(_valid_expression, expressions)) or not all(map(_valid_field, fields)):
        return None
    return Term(expressions, fields)


def _read_requirements(raw: object) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(text(item.get("key")), text(item.get("operator")), string_tuple(item.get("values")))
        for item in map(mapping, sequence(raw))
    )


def _valid_expression(requirement: Requirement) -> bool:
    if not _valid_key(requirement.key) or not all(map(_valid_value, requirement.values)):
        return False
    match requirement.operator:
        case "In" | "NotIn":
            return bool(requirement.values)
        case "Exists" | "DoesNotExist":
            return not requirement.values
        case "Gt" | "Lt":
            return len(requirement.values) == 1 and read_integer(requirement.values[0]) is not None
        case _:
            return False


def _valid_field(requirement: Requirement) -> bool:
    return requirement.operator in ("In", "NotIn") and len(requirement.values) == 1


def _valid_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= 253 and _LABEL_PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= 63 and _LABEL_NAME.fullmatch(name) is not None


def _valid_value(value: str) -> bool:
    return not value or (len(value) <= 63 and _LABEL_NAME.fullmatch(value) is not None)


def read_integer(written: str) -> int | None:
    """A decimal 64-bit integer, as Go's strconv.ParseInt(written, 10, 64) takes it; None for anything else."""
    if len(written) > 64 or not _DECIMAL.fullmatch(written):
        return None
    number = int(written)
    return number if -_INT64 <= number < _INT64 else None


def keeps_pods_off(taint: NodeTaint) -> bool:
    """Whether an administrator's taint keeps pods off that do not tolerate it."""
    return taint.effect in HARD_EFFECTS and not taint.key.startswith(PASSING_TAINTS)


def tolerated(taint: NodeTaint, tolerations: Iterable[NodeToleration]) -> bool:
    """Whether one of the tolerations tolerates the taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: NodeToleration, taint: NodeTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt":
            return _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: NodeToleration, taint: NodeTaint) -> bool:
    limit, value = read_integer(toleration.value), read_integer(taint.value)
    if limit is None or value is None:
        return False
    return value < limit if toleration.operator == "Lt" else value > limit
