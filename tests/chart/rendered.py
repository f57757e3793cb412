"""The golden files as objects: what the chart renders, also where there is no helm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.chart.helms import Json, objects
from tests.chart.regenerate import GOLDEN, value_sets

NAMES = tuple(value_sets())
MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"


@dataclass(frozen=True, slots=True)
class Rendered:
    """What one set of values comes to."""

    name: str
    values: Mapping[str, Any]
    objects: tuple[Json, ...]

    def __str__(self) -> str:
        return self.name

    def all(self, kind: str) -> list[Json]:
        """The objects of a kind."""
        return [item for item in self.objects if item["kind"] == kind]

    def one(self, kind: str) -> Json:
        """The only object of a kind."""
        (found,) = self.all(kind)
        return found

    @property
    def hooks(self) -> list[tuple[str, Json]]:
        """Every entry of the two webhook configurations, each with its configuration's kind."""
        return [(kind, hook) for kind in (MUTATING, VALIDATING) for hook in self.one(kind)["webhooks"]]

    def hooks_on(self, resource: str) -> list[Json]:
        """The entries that are asked about a resource."""
        return [hook for _, hook in self.hooks if any(resource in rule["resources"] for rule in hook["rules"])]

    @property
    def arguments(self) -> dict[str, str]:
        """The options of the program, by name."""
        words = self.one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
        assert words[0] == "serve"
        return {word.removeprefix("--").partition("=")[0]: word.partition("=")[2] for word in words[1:]}


@cache
def rendered(name: str) -> Rendered:
    """A golden file."""
    return Rendered(name, value_sets()[name], objects((GOLDEN / f"{name}.yaml").read_text()))


def every() -> tuple[Rendered, ...]:
    """All golden files."""
    return tuple(rendered(name) for name in NAMES)


def selects(hook: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether an entry is for a namespace with these labels."""
    return all(_fits(term, labels) for term in hook.get("namespaceSelector", {}).get("matchExpressions", []))


def _fits(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    is_one = labels.get(term["key"]) in term["values"]
    assert term["operator"] in ("In", "NotIn")
    return is_one if term["operator"] == "In" else not is_one
