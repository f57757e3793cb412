"""Taints on devices, from slices and from DeviceTaintRules, and which requests they keep off.

Sources: k8s.io/dynamic-resource-allocation resourceclaim/devicetoleration.go, resourceslice/tracker.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.fleet.fleet import Fleet
from webhook.model.claim import Alternative, Toleration
from webhook.model.cluster import TaintRule
from webhook.model.device import Device, DeviceTaint

#: Effects that keep a request off a device; all others, None among them, say nothing.
_HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def kept_off(fleet: Fleet, device: Device, alternative: Alternative) -> bool:
    """Whether a taint of the device keeps an alternative off that does not tolerate it."""
    if not device.taints and not fleet.taint_rules:
        return False
    return any(
        taint.effect in _HARD_EFFECTS and not any(_tolerates(toleration, taint) for toleration in alternative.tolerations)
        for taint in taints_of(fleet, device)
    )


def taints_of(fleet: Fleet, device: Device) -> Iterator[DeviceTaint]:
    """The taints of a device that count on this server."""
    if fleet.server.enabled("DRADeviceTaints"):
        yield from device.taints
        if fleet.taint_rules and fleet.server.enabled("DRADeviceTaintRules"):
            yield from (rule.taint for rule in fleet.taint_rules if _selects(rule, device))


def _selects(rule: TaintRule, device: Device) -> bool:
    return (
        rule.selects
        and rule.driver in ("", device.driver)
        and rule.pool in ("", device.pool)
        and rule.device in ("", device.name)
    )


def _tolerates(toleration: Toleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)
