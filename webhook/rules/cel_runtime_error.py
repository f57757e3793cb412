"""A selector that raises an error on a device it is asked about.

Reads:    the selectors of every alternative and of its class, or of the DeviceClass under review, against every known device
Allows:   selectors that match or do not match; errors on devices that a class selector has ruled out before, and on those of
          nodes that the claim's pod cannot get
Because:  an error is not "no match": the scheduler gives up on the pod as soon as it looks at the erring device, also when
          another alternative or another node would do (kubernetes issue 135184)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from webhook.cel import CompileProblem, Selector
from webhook.fleet.fleet import Fleet
from webhook.fleet.inventory import Inventory
from webhook.fleet.matching import compile_all, compile_for
from webhook.fleet.memo import remembered
from webhook.model.claim import Alternative, ClaimSpec, Request
from webhook.model.device import DeviceClass
from webhook.model.finding import Finding, Severity
from webhook.model.pointer import field_path, join
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.selectors.hints import ACCESSOR, IS_CAPACITY, VERSION_AS_TEXT, Fault, fault_of, hint, version_as_text
from webhook.rulekit.selectors.near_misses import candidates
from webhook.rulekit.selectors.own_domain import with_domain
from webhook.rulekit.selectors.selections import Errors, authored_spec, errors_on, own_selections, texts_of
from webhook.rulekit.selectors.steps import Steps
from webhook.rulekit.shapes.certainty import error_is_certain
from webhook.rulekit.view import View

CERTAIN, PARTIAL = "cel-runtime-error", "cel-runtime-error-partial"

_CERTAIN = "no node gets past it, so no pod with this claim is ever scheduled"
_CERTAIN_CLASS = "no node gets past it, so no claim of this class is ever allocated"
_POSSIBLE = "other nodes may do, but the scheduler gives up on the pod as soon as it looks at such a device"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """Findings per alternative, or class, whose selectors err on a known device: they may deny when no node gets past it."""
    if isinstance(view.subject, DeviceClass):
        yield from _of_class(view, view.subject)
        return
    spec = authored_spec(view)
    if spec is not None:
        steps = Steps()
        yield from _of_claim(view, spec, steps)
        yield from _never_true(view, steps)


def _of_claim(view: View, spec: ClaimSpec, steps: Steps) -> Iterator[Finding]:
    fleet = view.fleet
    known: list[bool] = []

    def is_certain() -> bool:  # the same for all: found out once, and only when something errs
        if not known:
            known.append(error_is_certain(fleet, spec, view.feasible))
        return known[0]

    for alternative in (alternative for request in spec.requests for alternative in request.alternatives):
        place = field_path(join(alternative.pointer, "deviceClassName"))
        broken = _broken_class(fleet, alternative)
        if broken is not None:
            certain = is_certain()
            detail = f"DeviceClass {alternative.device_class} has a selector that does not compile: {broken.message}"
            helps = with_domain(broken.hint, fleet.inventory, fleet.inventory.drivers_of_class(alternative.device_class))
            remedy = f"correct the class: {helps}" if helps else "correct the class"
            yield _finding(view, certain, place, f"{detail}; {_outlook(view, certain)}", remedy)
        errors = errors_on(fleet, fleet.inventory.match(alternative.device_class, texts_of(alternative)), view.feasible)
        if errors is not None:
            certain = is_certain()
            where = f"in DeviceClass {alternative.device_class}: "
            for selector in alternative.selectors:
                if selector.expression == errors.first.expression:
                    place, where = field_path(selector.pointer), ""
            yield from _findings(view, certain, place, errors, steps, where)


def _broken_class(fleet: Fleet, alternative: Alternative) -> CompileProblem | None:
    """What is wrong with a class that does not compile: to the scheduler an error like any other."""
    device_class = fleet.inventory.classes.get(alternative.device_class)
    _, problems = compile_all(device_class.selectors if device_class is not None else (), fleet.server)
    return problems[0] if problems else None


def _of_class(view: View, device_class: DeviceClass) -> Iterator[Finding]:
    """A class is judged by the claim that asks for one device of it, as if it were there already."""
    inventory, _ = view.fleet.inventory.changed({}, {device_class.name: device_class})
    errors = errors_on(view.fleet, inventory.match(device_class.name), view.fleet.nodes.all)
    if errors is None:
        return
    one = Alternative(name="", device_class=device_class.name, pointer="/spec")
    spec = ClaimSpec(pointer="/spec", requests=(Request(name="one", pointer="/spec", form="exactly", alternatives=(one,)),))
    certain = error_is_certain(replace(view.fleet, inventory=inventory), spec, view.fleet.nodes.all)
    at = device_class.selectors.index(errors.first.expression)
    place = field_path(f"/spec/selectors/{at}/cel/expression")
    yield from _findings(view, certain, place, errors, Steps(), "")


def _findings(view: View, certain: bool, path: str, errors: Errors, steps: Steps, where: str) -> Iterator[Finding]:
    """What is raised and, where it can be told, what is wrong; `where` names the class whose selector it is, if it is one's."""
    error, inventory = errors.first, view.fleet.inventory
    fault = fault_of(error, inventory.server, steps)
    detail = f"{error.message}, on {_devices(errors)}; {_outlook(view, certain)}"
    yield _finding(view, certain, path, detail, "" if fault is not None else f"{where}{hint(error, inventory, steps)}")
    if fault is not None:
        yield _diagnosis(view, "deny" if certain else "warn", path, replace(fault, remedy=f"{where}{fault.remedy}"))


def _outlook(view: View, certain: bool) -> str:
    if not certain:
        return _POSSIBLE
    return _CERTAIN_CLASS if isinstance(view.subject, DeviceClass) else _CERTAIN


def _finding(view: View, certain: bool, path: str, detail: str, remedy: str) -> Finding:
    return Finding(
        rule=RULE.id,
        reason=CERTAIN if certain else PARTIAL,
        severity="deny" if certain else "warn",
        headline=_headline(view),
        path=path,
        detail=detail,
        remedy=remedy,
    )


def _diagnosis(view: View, severity: Severity, path: str, fault: Fault) -> Finding:
    return Finding(
        rule=RULE.id,
        reason=fault.reason,
        severity=severity,
        headline=_headline(view),
        path=path,
        detail=fault.detail,
        remedy=fault.remedy,
    )


def _headline(view: View) -> str:
    what = "cannot serve claims" if view.kind == "DeviceClass" else "cannot be scheduled"
    return f'{view.kind} "{view.meta.display_name}" {what}: a selector raises an error'


def _never_true(view: View, steps: Steps) -> Iterator[Finding]:
    """A text on the left of a version is no error, and never equal."""
    inventory = view.fleet.inventory
    for found in own_selections(view):
        if found.matches.count or found.matches.error or found.matches.problems or found.matches.too_costly:
            continue
        for selector in found.alternative.selectors:
            compiled = compile_for(inventory.server, selector.expression)
            if not isinstance(compiled, Selector) or not _reads_a_version(inventory, compiled, found.alternative):
                continue
            devices = candidates(inventory, found.alternative.device_class)
            faults = (version_as_text(compiled, device, steps) for device in devices)
            fault = next((item for item in faults if item is not None), None)
            if fault is not None:
                yield _diagnosis(
                    view, "warn", field_path(selector.pointer), replace(fault, detail=f"{fault.detail}: never equal")
                )


def _reads_a_version(inventory: Inventory, selector: Selector, alternative: Alternative) -> bool:
    """Whether devices of the class have a version where the selector looks: most selectors need not be tried."""

    def versions() -> frozenset[str]:
        devices = candidates(inventory, alternative.device_class)
        return frozenset(name for device in devices for name, held in device.attributes.items() if held.kind == "version")

    known = remembered(inventory.memo, ("versions", alternative.device_class), versions)
    return any(f"{read.domain}/{read.name}" in known for read in selector.references)


def _devices(errors: Errors) -> str:
    device = errors.first.device
    first = f"device {device.name} of pool {device.pool}"
    more = errors.count - 1
    return first if not more else f"{first} and {more} other{'' if more == 1 else 's'}"


RULE = Rule(
    id="cel-runtime-error",
    policy_kind="Checks",
    subjects=frozenset({"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}),
    reasons=(
        Reason(id=CERTAIN, severity="deny", summary="a selector raises a CEL error that no node gets past"),
        Reason(id=PARTIAL, severity="warn", summary="a selector raises a CEL error on some devices"),
        Reason(id=IS_CAPACITY, severity="deny", summary="a selector looks among the attributes for what is a capacity"),
        Reason(id=ACCESSOR, severity="deny", summary="a selector names the type of a value, as a slice does"),
        Reason(id=VERSION_AS_TEXT, severity="deny", summary="a selector compares a version with a text"),
    ),
    check=check,
)
