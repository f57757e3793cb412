"""The list a policy would make of a plain ask, before anything is left out: a function of the ask and the policies alone.

Because no fact about the cluster goes in, the same candidates come out at any time: that is how an injection is known again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final

from webhook.model.claim import ALL, EXACT_COUNT, Alternative, SelectorText, Toleration
from webhook.rulekit.policies import CatalogModel, PolicySet, TierAlternative, TierAsk
from webhook.rulekit.shapes.catalog import slug

#: What the author's own ask is called in the list, unless an alternative of the tier is the same and has a name for it.
REQUESTED: Final = "requested"
#: Length of a DNS label.
_LONGEST_NAME: Final = 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One entry of the list. `label` says in words what it asks for; `author` marks the author's own ask.

    `tolerations` are those that the policy adds to the author's. `problem` says why the entry cannot be made, "" mostly.
    """

    alternative: Alternative
    label: str
    author: bool = False
    tolerations: tuple[Toleration, ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.alternative.name


def candidates(ask: TierAsk, own: Alternative, policies: PolicySet) -> tuple[Candidate, ...]:
    """The list for the plain ask `own`, in order, with the names the entries get.

    The author's own ask is where the policy puts it, but never behind an entry that asks for the same: that entry then is
    the author's, under the name the policy gave it.
    """
    tier = [_candidate(item, own, policies) for item in ask.alternatives]
    _name_apart(tier)
    mine = _key(own)
    same = next((i for i, item in enumerate(tier) if not item.problem and _key(item.alternative) == mine), None)
    if same is not None:
        twin = replace(tier[same], author=True)
        others = [item for i, item in enumerate(tier) if i != same]
        return (twin, *others) if ask.author == "first" else (*others[:same], twin, *others[same:])
    if ask.author == "replace":
        return tuple(tier)
    name = _free_name(REQUESTED, {item.name for item in tier})
    author = Candidate(alternative=replace(own, name=name), label=_label(own, own.device_class), author=True)
    return (author, *tier) if ask.author == "first" else (*tier, author)


def same_ask(one: Alternative, other: Alternative) -> bool:
    """Whether two alternatives ask for the same, whatever they are called."""
    return _key(one) == _key(other)


def entry(candidate: Candidate, own: Mapping[str, Any]) -> dict[str, Any]:
    """The candidate as an entry of `firstAvailable`. `own` is the author's ask in v1's form, as it was written.

    The author's own fields stay as they are; what the API would default is written out, so that the object does not change
    again when it is stored.
    """
    if candidate.author:
        fields = {key: value for key, value in own.items() if key != "adminAccess" and value is not None}
    else:
        fields = _fields(candidate, own)
    fields["allocationMode"] = fields.get("allocationMode") or EXACT_COUNT
    if fields["allocationMode"] == EXACT_COUNT:
        fields["count"] = fields.get("count") or 1
    return {"name": candidate.name, **fields}


def _fields(candidate: Candidate, own: Mapping[str, Any]) -> dict[str, Any]:
    item = candidate.alternative
    inherited = own.get("tolerations")
    tolerations = [*(inherited if isinstance(inherited, list) else []), *map(_toleration, candidate.tolerations)]
    fields: dict[str, Any] = {
        "deviceClassName": item.device_class,
        "selectors": [{"cel": {"expression": selector.expression}} for selector in item.selectors],
        "allocationMode": item.allocation_mode,
        "count": item.count,
        "tolerations": tolerations,
        "capacity": {"requests": dict(item.capacity)} if item.capacity else {},
    }
    return {key: value for key, value in fields.items() if value}


def _toleration(item: Toleration) -> dict[str, Any]:
    fields = {"key": item.key, "operator": item.operator, "value": item.value, "effect": item.effect}
    seconds = {} if item.seconds is None else {"tolerationSeconds": item.seconds}
    return {key: value for key, value in fields.items() if value} | seconds


def _candidate(item: TierAlternative, own: Alternative, policies: PolicySet) -> Candidate:
    model, own_selector = _model(item.model, policies.catalog)
    texts = (*((model.selector.text,) if model and model.selector else ()), *((own_selector,) if own_selector else ()))
    mode, count, problem = _amount(item, own)
    if item.model and model is None:
        problem = f"no ShapeCatalog has a model {item.model}"
    device_class = item.device_class or (model.device_class if model else "")
    if not problem and not device_class:
        problem = f"model {item.model} of the ShapeCatalog names no deviceClassName"
    added = tuple(toleration for toleration in item.tolerations if toleration not in own.tolerations)
    alternative = Alternative(
        name=item.name,
        device_class=device_class,
        pointer="",
        selectors=tuple(SelectorText(expression=text, pointer="") for text in (*texts, *item.selectors)),
        allocation_mode=mode,
        count=count,
        tolerations=(*own.tolerations, *added),
        capacity=item.capacity,
    )
    label = _label(alternative, item.model or device_class)
    return Candidate(alternative=alternative, label=label, tolerations=added, problem=problem)


def _amount(item: TierAlternative, own: Alternative) -> tuple[str, int, str]:
    """Allocation mode and count of an alternative, and what is wrong with them."""
    if item.allocation_mode == ALL:
        return ALL, 0, ""
    if item.count is not None:
        return EXACT_COUNT, item.count, ""
    if own.allocation_mode == ALL:
        problem = "countFactor has nothing to multiply, the request asks for All" if item.count_factor is not None else ""
        return ALL, 0, problem
    return EXACT_COUNT, ceil(own.count * item.count_factor) if item.count_factor is not None else own.count, ""


def _model(name: str, catalog: Iterable[CatalogModel]) -> tuple[CatalogModel | None, str]:
    """The model of that name or alias, and a selector for the one member of its family that the name means ("" if none)."""
    for model in catalog:
        for spelling in (model.name, *model.aliases):
            before, brace, rest = spelling.partition("{")
            attribute, _, after = rest.partition("}")
            if name == spelling:
                return model, ""
            value = name[len(before) : len(name) - len(after)]
            if brace and slug(value) and name == before + value + after:
                return model, _member_selector(model.driver, attribute, slug(value))
    return None, ""


def _member_selector(driver: str, attribute: str, value: str) -> str:
    """CEL that holds for devices whose attribute is spelt `value` in a model's name (see catalog.slug)."""
    domain, _, identifier = attribute.rpartition("/")
    field = f'device.attributes["{domain or driver}"].{identifier}'
    pattern = "[^a-z0-9]+".join(value.split("-"))
    return f'has({field}) && string({field}).lowerAscii().matches("^[^a-z0-9]*{pattern}[^a-z0-9]*$")'


def _label(alternative: Alternative, what: str) -> str:
    return f"{'*' if alternative.allocation_mode == ALL else alternative.count}x {what}"


def _key(item: Alternative) -> tuple[object, ...]:
    return (
        item.device_class,
        tuple(sorted(selector.expression.strip() for selector in item.selectors)),
        item.allocation_mode,
        item.count,
        frozenset(item.tolerations),
        tuple(sorted(item.capacity.items())),
    )


def _name_apart(tier: list[Candidate]) -> None:
    """Give entries whose name an earlier one has already a suffix."""
    taken: set[str] = set()
    for i, item in enumerate(tier):
        name = _free_name(item.name, taken)
        taken.add(name)
        tier[i] = replace(item, alternative=replace(item.alternative, name=name))


def _free_name(wanted: str, taken: set[str]) -> str:
    return next(name for name in _numbered(wanted) if name not in taken)


def _numbered(wanted: str) -> Iterator[str]:
    yield wanted
    for number in range(2, 100):
        suffix = f"-{number}"
        yield wanted[: _LONGEST_NAME - len(suffix)].rstrip("-") + suffix
