"""Which mode applies to a finding, and what the finding then comes to. The only place where modes are applied."""

from __future__ import annotations

from datetime import datetime

from webhook.engine.settings import EngineSettings
from webhook.model.finding import MODES, SEVERITIES, Mode, Severity
from webhook.rulekit.policies import Header, ModeCap, Overridable, PolicySet
from webhook.rulekit.view import View

MODE_LABEL = "fallgate.dev/mode"

_STRICTNESS: dict[str, int] = {mode: i for i, mode in enumerate(MODES)}
_WEIGHT: dict[str, int] = {severity: i for i, severity in enumerate(SEVERITIES)}
_MOST: dict[Mode, Severity] = {"enforce": "deny", "warn": "warn", "audit": "note"}


def effective_mode(header: Header, rule: str, view: View, settings: EngineSettings) -> Mode:
    """The policy's mode, changed by the namespace as far as the policy lets it, then capped."""
    mode = overridden(header.mode, header.overridable, namespace_mode(view, rule))
    for cap in caps(view.policies, rule, view.now, settings):
        mode = min(mode, cap, key=_STRICTNESS.__getitem__)
    return mode


def namespace_mode(view: View, rule: str) -> Mode | None:
    """What the namespace's labels wish: `fallgate.dev/mode.<rule-id>`, else `fallgate.dev/mode`; None for any other value."""
    labels = view.namespace.labels
    for key in (f"{MODE_LABEL}.{rule}", MODE_LABEL):
        wish = labels.get(key)
        for mode in MODES:
            if wish == mode:
                return mode
    return None


def overridden(own: Mode, overridable: Overridable, wish: Mode | None) -> Mode:
    """The policy's `own` mode after a namespace's `wish`."""
    if wish is None:
        return own
    stricter = _STRICTNESS[wish] > _STRICTNESS[own]
    allowed = overridable == "both" or overridable == ("raise" if stricter else "lower")
    return wish if allowed else own


def caps(policies: PolicySet, rule: str, now: datetime, settings: EngineSettings) -> tuple[Mode, ...]:
    """Every cap on a rule's mode that holds at `now`."""
    own = () if settings.cap is None else (settings.cap,)
    return own + tuple(cap.mode for cap in policies.mode_caps if cap.rule in ("", rule) and _holds(cap, now))


def _holds(cap: ModeCap, now: datetime) -> bool:
    return cap.until is None or now <= cap.until


def capped(severity: Severity, mode: Mode) -> Severity | None:
    """What a finding of `severity` comes to under `mode`; None means that nothing is said at all."""
    if mode == "off":
        return None
    return min(severity, _MOST[mode], key=_WEIGHT.__getitem__)


def stricter(one: Severity, other: Severity) -> bool:
    """Whether `one` weighs more than `other`."""
    return _WEIGHT[one] > _WEIGHT[other]
