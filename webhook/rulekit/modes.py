"""The mode a policy wishes for and what a namespace's labels make of it. Caps and settings are applied by the engine."""

from __future__ import annotations

from collections.abc import Mapping

from webhook.model.finding import MODES, Mode
from webhook.rulekit.policies import Header, Overridable
from webhook.rulekit.view import View

MODE_LABEL = "fallgate.dev/mode"

#: Modes by how much they do.
STRICTNESS: Mapping[Mode, int] = {mode: i for i, mode in enumerate(MODES)}


def wished_mode(header: Header, rule: str, view: View) -> Mode:
    """The policy's mode, changed by the namespace as far as the policy lets it. Not capped."""
    return overridden(header.mode, header.overridable, namespace_mode(view, rule))


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
    stricter = STRICTNESS[wish] > STRICTNESS[own]
    allowed = overridable == "both" or overridable == ("raise" if stricter else "lower")
    return wish if allowed else own
