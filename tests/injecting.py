"""Asking for injections in tests: tier policies as their files would have them, and the rule on one object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from tests.build import Raw, namespace
from tests.harness import review_of
from webhook.fleet.build import with_objects
from webhook.fleet.fleet import Fleet
from webhook.model.claim import Claim, ClaimTemplate
from webhook.policyfile import parse_policies
from webhook.rulekit.injection.occasion import Occasion, occasion_under_review
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

NOW = datetime(2027, 1, 1, tzinfo=UTC)
#: Two models of one driver and a family of slices.
CATALOG: Raw = {
    "apiVersion": "fallgate.dev/v1alpha1",
    "kind": "ShapeCatalog",
    "metadata": {"name": "catalog"},
    "spec": {
        "models": [
            {
                "name": "h100-80gb",
                "driver": "gpu.nvidia.com",
                "deviceClassName": "gpu.nvidia.com",
                "selector": 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"',
            },
            {
                "name": "a100-40gb",
                "aliases": ["a100"],
                "driver": "gpu.nvidia.com",
                "deviceClassName": "gpu.nvidia.com",
                "selector": 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100-SXM4-40GB"',
            },
            {
                "name": "a100-mig-{profile}",
                "driver": "gpu.nvidia.com",
                "deviceClassName": "mig.nvidia.com",
                "selector": 'device.attributes["gpu.nvidia.com"].type == "mig"',
            },
            {"name": "classless", "driver": "gpu.nvidia.com", "selector": 'device.driver == "gpu.nvidia.com"'},
        ]
    },
}


def document(kind: str, name: str, **spec: Any) -> Raw:
    """A policy document."""
    return {"apiVersion": "fallgate.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def tier(*alternatives: Raw, name: str = "default", tiers: Any = "dev", author: str = "first", **spec: Any) -> Raw:
    """A TierFallback with one ask, for every class unless `match` says otherwise."""
    match = spec.pop("match", {"deviceClasses": ["*"]})
    asks = spec.pop("asks", [{"match": match, "author": author, "alternatives": list(alternatives)}])
    return document("TierFallback", name, tier=tiers, asks=asks, **spec)


def policies(*documents: Raw, catalog: bool = True) -> PolicySet:
    """The policy set of these documents, with the catalog above."""
    every = [*([CATALOG] if catalog else []), *documents]
    return parse_policies([("policies.yaml", yaml.safe_dump_all(every).encode())])


def view_of(body: Raw, fleet: Fleet, policy_set: PolicySet, **review: Any) -> View:
    """The view of a review of `body`."""
    asked = review_of(body, **review)
    subject = read_subject(asked.group, asked.kind, body)
    assert subject is not None
    return View(review=asked, subject=subject, fleet=fleet, policies=policy_set, now=NOW)


def occasion_of(body: Raw, fleet: Fleet, policy_set: PolicySet) -> Occasion:
    """The occasion of the first TierFallback for a claim or template."""
    view = view_of(body, fleet, policy_set)
    assert isinstance(view.subject, Claim | ClaimTemplate)
    return occasion_under_review(view, policy_set.tier_fallback[0], view.subject, view.subject.spec)


def in_tier(fleet: Fleet, *objects: Raw, labels: Mapping[str, str] | None = None) -> Fleet:
    """`fleet` with `objects`, and with namespace team-a in tier dev."""
    return with_objects(fleet, [namespace(labels={"fallgate.dev/tier": "dev", **(labels or {})}), *objects], namespace="team-a")
