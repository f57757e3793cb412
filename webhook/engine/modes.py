"""Which mode a policy has in a namespace, and the most that a mode lets a finding do. `effects` applies it."""

from __future__ import annotations

from datetime import datetime

from webhook.engine.settings import EngineSettings
from webhook.model.finding import SEVERITIES, Mode, Severity
from webhook.rulekit.modes import STRICTNESS, wished_mode
from webhook.rulekit.policies import Header, ModeCap, PolicySet
from webhook.rulekit.view import View

_WEIGHT: dict[str, int] = {severity: i for i, severity in enumerate(SEVERITIES)}
_MOST: dict[Mode, Severity] = {"enforce": "deny", "warn": "warn", "audit": "note"}


def effective_mode(header: Header, rule: str, view: View, settings: EngineSettings) -> Mode:
    """The policy's mode, changed by the namespace as far as the policy lets it, then capped."""
    mode = wished_mode(header, rule, view)
    for cap in caps(view.policies, rule, view.now, settings):
        mode = min(mode, cap, key=STRICTNESS.__getitem__)
    return mode


def caps(policies: PolicySet, rule: str, now: datetime, settings: EngineSettings) -> tuple[Mode, ...]:
    """Every cap on a rule's mode that holds at `now`."""
    own = () if settings.cap is None else (settings.cap,)
    return own + tuple(cap.mode for cap in caps_holding(policies, now) if cap.rule in ("", rule))


def caps_holding(policies: PolicySet, now: datetime) -> tuple[ModeCap, ...]:
    """The policies' caps that have not ended at `now`."""
    return tuple(cap for cap in policies.mode_caps if cap.until is None or now <= cap.until)


def capped(severity: Severity, mode: Mode) -> Severity | None:
    """What a finding of `severity` comes to under `mode`; None means that nothing is said at all."""
    if mode == "off":
        return None
    return min(severity, _MOST[mode], key=_WEIGHT.__getitem__)


def stricter(one: Severity, other: Severity) -> bool:
    """Whether `one` weighs more than `other`."""
    return _WEIGHT[one] > _WEIGHT[other]
