"""Builders for tests of device ownership: policies, and the view of a review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.build import NVIDIA, Raw
from tests.harness import NOW, review_of
from webhook.fleet.fleet import Fleet
from webhook.model.labels import LabelExpression, LabelSelector
from webhook.rulekit.policies import EMPTY, DeviceOwnership, Header, OwnerOfNodes
from webhook.rulekit.subject import read_subject
from webhook.rulekit.view import View

PLUGIN = "nvidia.com/gpu"


def owner(side: Any, labels: Mapping[str, str] | None = None, *expressions: LabelExpression) -> OwnerOfNodes:
    """One entry of owners."""
    return OwnerOfNodes(node_selector=LabelSelector(match_labels=labels or {}, match_expressions=expressions), owner=side)


def ownership(
    *owners: OwnerOfNodes,
    driver: str = NVIDIA,
    resources: tuple[str, ...] = (PLUGIN, "nvidia.com/mig-*", "nvidia.com/gpu.shared"),
    default: Any = "undecided",
    action: Any = "steer",
    name: str = "nvidia-gpus",
) -> DeviceOwnership:
    """A DeviceOwnership policy."""
    header = Header(kind="DeviceOwnership", name=name, digest="1a2b3c4")
    return DeviceOwnership(
        header=header, driver=driver, extended_resources=resources, owners=owners, default=default, action=action
    )


def view_of(body: Raw, fleet: Fleet, **review: Any) -> View:
    """What a rule sees of a CREATE of `body`."""
    asked = review_of(body, **review)
    subject = read_subject(asked.group, asked.kind, body)
    assert subject is not None
    return View(review=asked, subject=subject, fleet=fleet, policies=EMPTY, now=NOW)


def names(fleet: Fleet, nodes: int) -> str:
    """The names of a node set, with blanks between."""
    return " ".join(node.name for node in fleet.nodes.members(nodes))
