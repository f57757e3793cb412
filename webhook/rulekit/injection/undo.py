"""Taking an injection out again: the object exactly as its author wrote it, from what the annotation records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.model.tolerant import Json, mapping, sequence, text
from webhook.rulekit.injection.provenance import ABSENT, INJECTED, InjectedRequest, Provenance, read_provenance
from webhook.rulekit.injection.requests_writing import LIST, as_plain, is_flat


def undo(raw: Json) -> Json:
    """`raw` (a claim or template of any API version) without what was injected into it, and without the annotation.

    The very same object when nothing was injected, or when the annotation does not fit what the object holds now.
    """
    found = undone(raw)
    return found[0] if found is not None else raw


def undone(raw: Json) -> tuple[Json, Provenance] | None:
    """The author's object and the record; None where `undo` leaves the object as it is."""
    annotations = mapping(mapping(raw.get("metadata")).get("annotations"))
    recorded = read_provenance(annotations)
    if recorded is None:
        return None
    is_template = raw.get("kind") == "ResourceClaimTemplate"
    outer = mapping(raw.get("spec"))
    spec = mapping(outer.get("spec")) if is_template else outer
    devices = _undone_devices(mapping(spec.get("devices")), recorded, is_flat(raw))
    if devices is None:
        return None
    restored = {**spec, "devices": devices}
    metadata = _without_record(mapping(raw.get("metadata")), annotations, recorded)
    return {**raw, "metadata": metadata, "spec": {**outer, "spec": restored} if is_template else restored}, recorded


def _undone_devices(devices: Json, recorded: Provenance, flat: bool) -> dict[str, Any] | None:
    requests, config = list(sequence(devices.get("requests"))), list(sequence(devices.get("config")))
    for item in recorded.requests:
        found = [i for i, request in enumerate(requests) if mapping(request).get("name") == item.name]
        if len(found) != 1 or not _is_the_list_of(item, requests[found[0]]):
            return None
        plain = as_plain(requests[found[0]], flat, item.exactly)
        requests[found[0]] = plain if item.empty_list is ABSENT else {**plain, LIST: item.empty_list}
    for entry in recorded.configs:
        if entry.index >= len(config) or not isinstance(config[entry.index], dict):
            return None
        config[entry.index] = _with(config[entry.index], "requests", entry.requests)
    return {**devices, "requests": requests} | ({"config": config} if recorded.configs else {})


def _is_the_list_of(item: InjectedRequest, request: Mapping[str, Any]) -> bool:
    names = [text(mapping(alternative).get("name")) for alternative in sequence(request.get(LIST))]
    return len(names) == len(item.names) and frozenset(names) == item.names


def _without_record(metadata: Json, annotations: Json, recorded: Provenance) -> dict[str, Any]:
    left = {key: value for key, value in annotations.items() if key != INJECTED}
    return _with(metadata, "annotations", left or recorded.empty_annotations)


def _with(fields: Json, key: str, value: Any) -> dict[str, Any]:
    """`fields` with `key` set to `value`, or without it when `value` is ABSENT."""
    rest = {name: item for name, item in fields.items() if name != key}
    return rest if value is ABSENT else {**rest, key: value}
