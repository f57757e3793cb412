"""Two device classes that serve one extended resource.

Reads:    the extendedResourceName of a DeviceClass and of those that are there; the extended resources of a pod
Allows:   a class that alone maps a name, also one that a live device plugin serves: the official way to migrate
Because:  the newest class wins for every pod of the cluster, of equally old ones the first by name: installing a chart again
          moves all pods that ask for the name to another driver (kubernetes issue 133693)
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.model.device import DeviceClass
from webhook.model.finding import Finding
from webhook.rulekit.ownership.asks import ResourceAsk, asks_of
from webhook.rulekit.ownership.places import place_of_resource
from webhook.rulekit.ownership.text import some
from webhook.rulekit.policies import Checks
from webhook.rulekit.rule import Reason, Rule
from webhook.rulekit.view import View

REASON = "extended-name-conflict"

_ORDER = "the newest class wins, of equally old ones the first by name"
_REMEDY = "leave extendedResourceName to one of them and take it off the other"


def check(view: View, _policy: Checks) -> Iterator[Finding]:
    """A finding for a class whose name another one has, and for each resource of a pod that several classes serve."""
    if not view.fleet.server.extended_resources:
        return
    if isinstance(view.subject, DeviceClass):
        yield from _of_class(view, view.subject)
    else:
        for ask in asks_of(view).resources:
            yield from _of_resource(view, ask)


def _of_class(view: View, device_class: DeviceClass) -> Iterator[Finding]:
    resource = device_class.extended_resource_name
    others = [item for item in view.fleet.inventory.classes_serving(resource) if item.name != device_class.name]
    if not others:
        return
    wins = view.review.operation == "CREATE" or min(device_class, others[0], key=_rank) is device_class
    winner = "this class takes it over" if wins else f"{others[0].name} keeps it"
    names = some(item.name for item in others)
    yield Finding(
        rule=RULE.id,
        reason=REASON,
        severity="warn",
        headline=f'DeviceClass "{device_class.name}" serves an extended resource that another class serves',
        path="spec.extendedResourceName",
        detail=f"{resource} is served by DeviceClass {names} too; {winner}: {_ORDER}",
        remedy=_REMEDY,
    )


def _rank(device_class: DeviceClass) -> tuple[tuple[int, ...], str]:
    """Sorts the class in force first: the newest (RFC 3339 in UTC sorts as text), then the smallest name."""
    return tuple(-ord(character) for character in device_class.meta.creation_timestamp), device_class.name


def _of_resource(view: View, ask: ResourceAsk) -> Iterator[Finding]:
    serving = view.fleet.inventory.classes_serving(ask.resource)
    if len(serving) < 2 or not ask.served.dra & view.feasible:
        return
    names = some(item.name for item in serving)
    yield Finding(
        rule=RULE.id,
        reason=REASON,
        severity="warn",
        headline=f'{view.kind} "{view.meta.display_name}" asks for an extended resource that several classes serve',
        path=place_of_resource(ask).path,
        detail=f"{ask.resource} is served by DeviceClass {names}; {serving[0].name} has it: {_ORDER}",
        remedy=_REMEDY,
    )


RULE = Rule(
    id=REASON,
    policy_kind="Checks",
    subjects=frozenset({"DeviceClass", "Pod", "Workload"}),
    alike_for_pods=True,
    reasons=(Reason(id=REASON, severity="warn", summary="two device classes serve one extended resource"),),
    check=check,
)
