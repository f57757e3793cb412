"""The chart's roles are sufficient and least: nothing is refused to Fallgate, and it misses every rule that is taken away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cluster.installation import NAMESPACE
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually

USER = "system:serviceaccount:fallgate-system:fallgate"

#: First resource of each rule -> what /readyz?verbose says when the rule is not there.
RULES = {
    "clusterrole": {
        "resourceslices": "[-]fleet failed",
        "deviceclasses": "[-]fleet failed",
        "namespaces": "[-]fleet failed",
        "nodes": "[-]fleet failed",
        "pods": "[!]fleet-pods degraded",
        "resourcequotas": "[!]fleet-quotas degraded",
        "devicetaintrules": "[!]fleet-taint-rules degraded",
        "deployments": "[!]fleet-owners degraded",
        "jobs": "[!]fleet-owners degraded",
        "mutatingwebhookconfigurations": "certificate",
    },
    "role": {"configmaps": "cap", "secrets": "[-]certificate failed", "leases": "certificate"},
}
PAIRS = [(role, first) for role, rules in RULES.items() for first in rules]


def rules_of(site: Site, role: str) -> list[Any]:
    """The rules of one of the two roles, as they are in the cluster."""
    where = ("-n", NAMESPACE) if role == "role" else ()
    found: list[Any] = site.plane.kubectl().get(role, "fallgate", *where)["rules"]
    return found


def rule(site: Site, role: str, rules: list[Any]) -> None:
    """Give the role these rules."""
    where = ("-n", NAMESPACE) if role == "role" else ()
    change = json.dumps([{"op": "replace", "path": "/rules", "value": rules}])
    site.plane.kubectl()("patch", role, "fallgate", *where, "--type=json", "-p", change).fine()


@contextmanager
def without(site: Site, role: str, first: str) -> Iterator[None]:
    """While it lasts the rule is not there."""
    rules = rules_of(site, role)
    rest = [rule for rule in rules if rule["resources"][0] != first]
    assert len(rest) == len(rules) - 1
    rule(site, role, rest)
    try:
        yield
    finally:
        rule(site, role, rules)


def test_every_rule_is_tried(site: Site) -> None:
    assert [(role, rule["resources"][0]) for role in RULES for rule in rules_of(site, role)] == PAIRS


@pytest.mark.parametrize(("role", "first"), PAIRS)
def test_a_rule_that_is_taken_away_is_missed(site: Site, role: str, first: str) -> None:
    with without(site, role, first):
        replica = site.installation.start(aside=True)
        try:
            eventually(
                f"a replica without the right to {first} says so", lambda: RULES[role][first] in replica.conditions(), within=20
            )
        finally:
            replica.process.kill()


def test_nothing_was_refused_in_the_whole_session(site: Site) -> None:
    assert "degraded" not in site.fallgate.conditions()
