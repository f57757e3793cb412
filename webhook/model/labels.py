"""Kubernetes label selectors (metav1.LabelSelector) and name globs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

LabelOperator = Literal["In", "NotIn", "Exists", "DoesNotExist"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelExpression:
    """One entry of matchExpressions."""

    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """As apimachinery's labels.Requirement: NotIn and DoesNotExist hold for an absent key."""
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSelector:
    """All of matchLabels and matchExpressions must hold; an empty selector matches everything."""

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelExpression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels` satisfy the selector."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            expression.matches(labels) for expression in self.match_expressions
        )


def matches_any(name: str, globs: Iterable[str]) -> bool:
    """Whether `name` fits one of the shell-style globs (`nvidia.com/mig-*`); case counts."""
    return any(fnmatchcase(name, glob) for glob in globs)
