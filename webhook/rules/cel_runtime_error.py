"""A selector that raises an error on a device it is asked about.

Reads:    the selectors of every alternative and of its class, against every known device
Allows:   selectors that match or do not match; errors on devices that a class selector has ruled out before
Because:  an error is not "no match": the scheduler gives up on the pod as soon as it looks at the erring device, also when
          another alternative or another node would do (kubernetes issue 135184)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.fleet.matching import DeviceError
from webhook.model.claim import Alternative, ClaimSpec
from webhook.model.finding import Finding
from webhook.model.pointer import field_path
from webhook.rulekit.certainty import error_is_certain
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selector_hints import hint
from webhook.rulekit.view import View

REASON = "cel-runtime-error"

_CERTAIN = "no node gets past it, so no pod with this claim is ever scheduled"
_POSSIBLE = "other nodes may do, but the scheduler gives up on the pod as soon as it looks at such a device"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """One finding per alternative whose selectors err on a known device: it may deny when no node gets past an error."""
    spec = view.claim_spec
    if spec is None:
        return
    for alternative, errors in _erring(view, spec):
        certain = error_is_certain(view.fleet, spec, view.feasible)
        error = errors[0]
        yield Finding(
            rule=RULE.id,
            reason=REASON,
            severity="deny" if certain else "warn",
            headline=f'{view.kind} "{view.meta.display_name}" cannot be scheduled: a selector raises an error',
            path=_place(alternative, error),
            detail=f"{error.message}, on {_devices(errors)}; {_CERTAIN if certain else _POSSIBLE}",
            remedy=hint(error),
        )


def _erring(view: View, spec: ClaimSpec) -> Iterator[tuple[Alternative, tuple[DeviceError, ...]]]:
    for request in spec.requests:
        for alternative in request.alternatives:
            texts = tuple(selector.expression for selector in alternative.selectors)
            found = view.fleet.inventory.match(alternative.device_class, texts)
            errors = tuple(error for pool in found.pools for error in pool.errors)
            if errors:
                yield alternative, errors


def _place(alternative: Alternative, error: DeviceError) -> str:
    """The selector that errs, or the class when it is one of the class's own."""
    for selector in alternative.selectors:
        if selector.expression == error.expression:
            return field_path(selector.pointer)
    return field_path(f"{alternative.pointer}/deviceClassName")


def _devices(errors: tuple[DeviceError, ...]) -> str:
    device = errors[0].device
    first = f"device {device.name} of pool {device.pool}"
    more = len(errors) - 1
    return first if not more else f"{first} and {more} other{'' if more == 1 else 's'}"


RULE = Rule(
    id="cel-runtime-error",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate"}),
    reasons=(Reason(id=REASON, severity="deny", summary="a selector raises a CEL error on a device"),),
    check=check,
)
