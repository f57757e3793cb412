"""What to do about a double booking, ready to be pasted. Snippets are YAML in flow style, so that one line stays valid YAML."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from webhook.fleet.fleet import Fleet
from webhook.fleet.nodes import NodeSet
from webhook.rulekit.ownership.steering import Steering
from webhook.rulekit.ownership.text import MOST_NAMED, first_of, names_of
from webhook.rulekit.policies import DeviceOwnership, NodeOwner

#: The label proposed for nodes when the policy names none.
PROPOSED_LABEL: Final = "device-owner"

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
# What YAML 1.1 reads as something else than text.
_NOT_TEXT = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_SIDE: dict[NodeOwner, str] = {"dra": "DRA", "device-plugin": "the device plugin"}


def flow(value: Any) -> str:
    """`value` as YAML in flow style, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    return json.dumps(value)


def _fields(value: dict[str, Any]) -> str:
    """The fields of an object, to be written into one that is there already."""
    return flow(value)[1:-1]


def addition(steering: Steering) -> str:
    """What node selector terms get."""
    return f"each node selector term gets {_fields(steering.requirements())}"


def affinity_advice(steering: Steering, whose: str, *, has_terms: bool) -> str:
    """The node affinity to write into `whose` spec; `has_terms` when node affinity is required there already."""
    term = steering.requirements()
    if has_terms:
        return f"add to every term of {whose} required node affinity:\n  {_fields(term)}"
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return f"add to {whose} spec:\n  {_fields({'affinity': {'nodeAffinity': required}})}"


def ownership_advice(fleet: Fleet, policy: DeviceOwnership, nodes: NodeSet, side: NodeOwner) -> str:
    """How an administrator gives `nodes` to `side`: by the label that the policy names for it, else by one to be named."""
    label = _label_of(policy, side)
    head = (
        f"no feasible node is safe: an administrator has to give {names_of(fleet, nodes)} to {_SIDE[side]}, "
        "once the other side's pods are gone:"
    )
    if label:
        return f"{head}\n  {_labelling(fleet, nodes, label)}"
    entry = {"nodeSelector": {"matchLabels": {PROPOSED_LABEL: side}}, "owner": side}
    return (
        f"{head}\n  {_labelling(fleet, nodes, f'{PROPOSED_LABEL}={side}')}\n"
        f"and name the label in DeviceOwnership {policy.header.name}:\n  owners: {flow([entry])}"
    )


def labels_advice(policy: DeviceOwnership, count: int, most: int) -> str:
    """What to do when more nodes conflict than an affinity may name."""
    entries = [{"nodeSelector": {"matchLabels": {PROPOSED_LABEL: side}}, "owner": side} for side in _SIDE]
    return (
        f"{count} nodes conflict, and a node affinity may name {most}: an administrator has to label the nodes by their owner "
        f"and name the labels in DeviceOwnership {policy.header.name}:\n  owners: {flow(entries)}"
    )


def limit_advice(resource: str, count: int) -> str:
    """How to ask the device plugin instead of DRA."""
    return (
        "no feasible node is safe: ask as these nodes serve it, with a limit of the container instead of the claim:\n"
        f"  {_fields({'resources': {'limits': {resource: count}}})}"
    )


def claim_advice(device_class: str, count: int) -> str:
    """How to ask DRA instead of the device plugin."""
    request = {"name": "devices", "exactly": {"deviceClassName": device_class, "count": count}}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "devices"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }
    return (
        "no feasible node is safe: ask as these nodes serve it, with a claim instead of the limit; a template:\n"
        f"  {flow(template)}\n"
        "in the pod's spec and in the container:\n"
        f"  {_fields({'resourceClaims': [{'name': 'devices', 'resourceClaimTemplateName': 'devices'}]})}\n"
        f"  {_fields({'resources': {'claims': [{'name': 'devices'}]}})}"
    )


def _labelling(fleet: Fleet, nodes: NodeSet, label: str) -> str:
    more = nodes.bit_count() - MOST_NAMED
    names = " ".join(node.name for node in first_of(fleet, nodes))
    return f"kubectl label node {names} {label}" + (f"  # and {more} more" if more > 0 else "")


def _label_of(policy: DeviceOwnership, side: NodeOwner) -> str:
    """`key=value` of the first owner entry for `side` that is a matter of labels alone; "" without one."""
    for entry in policy.owners:
        if entry.owner == side and not entry.node_selector.match_expressions:
            return " ".join(f"{key}={value}" for key, value in entry.node_selector.match_labels.items())
    return ""
