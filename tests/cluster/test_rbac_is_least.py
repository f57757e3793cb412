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
        "nodes": "[-]fleet failed",
        "namespaces": "[-]fleet failed",
        "pods": "[!]fleet-pods degraded",
        "resourcequotas": "[!]fleet-quotas degraded",
        "devicetaintrules": "[!]fleet-taint-rules degraded",
        "localqueues": "[!]fleet-queues degraded",
        "deployments": "[!]fleet-owners degraded",
        "jobs": "[!]fleet-owners degraded",
        "jobsets": "[!]fleet-owners degraded",
        "leaderworkersets": "[!]fleet-owners degraded",
        "pytorchjobs": "[!]fleet-owners degraded",
        "rayclusters": "[!]fleet-owners degraded",
        "mutatingwebhookconfigurations": "[!]certificate-writer degraded",
    },
    "role": {
        "configmaps": "[!]cap degraded",
        "secrets": "[-]certificate failed",
        "leases": "[!]certificate-writer degraded",
    },
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


def test_nothing_is_refused_to_it(site: Site) -> None:
    before = sum(1 for _ in site.plane.audited())  # an API server that has just started refuses for a moment what it allows
    site.start(alone=True)
    mine = [event for event in list(site.plane.audited())[before:] if event["user"].get("username") == USER]
    assert {event["verb"] for event in mine} >= {"list", "watch", "get"}
    assert [event["requestURI"] for event in mine if event.get("responseStatus", {}).get("code") == 403] == []
    assert "degraded" not in site.fallgate.conditions()


def test_every_rule_is_tried(site: Site) -> None:
    assert [(role, rule["resources"][0]) for role in RULES for rule in rules_of(site, role)] == PAIRS


@pytest.mark.parametrize(("role", "first"), PAIRS)
def test_a_rule_that_is_taken_away_is_missed(site: Site, role: str, first: str) -> None:
    with without(site, role, first):
        replica = site.installation.start(aside=True)
        try:
            both = (replica, site.fallgate)  # one of them writes certificates, the other waits for its turn
            eventually(
                f"somebody without the right to {first} says so",
                lambda: any(RULES[role][first] in one.conditions() for one in both),
            )
        finally:
            replica.process.kill()
    eventually("all is well again", lambda: "degraded" not in site.fallgate.conditions(), within=60)
