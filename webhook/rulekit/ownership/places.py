"""Where an ask for devices is written, and what to call it."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.fleet.nodes import NodeSet
from webhook.model.claim import EXACT_COUNT
from webhook.model.pointer import field_path
from webhook.rulekit.ownership.asks import ClaimAsk, Option, ResourceAsk


@dataclass(frozen=True, slots=True)
class Place:
    """An ask in words (`request "gpu"`, `alternative "a100-pair"`, `nvidia.com/gpu: 1`) and a Finding's path, via and place."""

    text: str
    path: str
    via: tuple[str, ...] = ()
    place: str = ""


def place_of_claim(ask: ClaimAsk, driver: str, nodes: NodeSet) -> Place:
    """Where a claim asks for devices of `driver` that it can take on `nodes`: the first such alternative."""
    return place_of_option(ask, next(option for option in ask.options if option.takes.by_driver.get(driver, 0) & nodes))


def place_of_option(ask: ClaimAsk, option: Option) -> Place:
    """Where one way to meet a request is written; for a claim that has its devices already, the request."""
    alternative = option.alternative
    named = alternative is not None and alternative.name
    text = f'alternative "{named}"' if named else f'request "{ask.request.name}"'
    written = field_path(alternative.pointer if alternative is not None else ask.request.pointer)
    if ask.source is None:
        return Place(text, written)
    return Place(text, field_path(ask.source.entry.pointer), (ask.source.via,), written)


def place_of_resource(ask: ResourceAsk) -> Place:
    """Where the first container asks for an extended resource. Its limit is always written, a request need not be."""
    container = next(container for container in ask.pod.containers if ask.resource in container.extended)
    return Place(f"{ask.resource}: {ask.units}", f"{field_path(container.pointer)}.resources.limits[{ask.resource}]")


def count_of(ask: ClaimAsk) -> int:
    """The number of devices that a request takes whichever alternative is chosen; 0 when it is not always the same."""
    alternatives = [option.alternative for option in ask.options if option.alternative is not None]
    if not alternatives:
        return len(ask.options)
    counts = {alternative.count if alternative.allocation_mode == EXACT_COUNT else 0 for alternative in alternatives}
    return counts.pop() if len(counts) == 1 else 0
