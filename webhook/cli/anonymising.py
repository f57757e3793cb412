"""A dump without what names people's things: consistent other names, in the same order, wherever the old ones stand. Pure.

What policies and selectors speak of stays: drivers, classes, attributes, labels of nodes, resource names, tiers. Names of
nodes, namespaces and all objects in them, uids and the serial numbers of devices are replaced, also inside other texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.model.tolerant import Json, mapping, sequence, text

#: Kinds whose names are the vendor's or the platform's, not anybody's.
_PUBLIC_NAMES: Final = frozenset({"DeviceClass"})
#: Namespaces that every cluster has.
_PUBLIC_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
#: Labels that are kept on anything: what Kubernetes, Kueue and Fallgate read. On nodes all are.
_READ_LABELS: Final = ("kubernetes.io", "k8s.io", "fallgate.dev")
#: Attributes that tell one card from all others in the world.
_SERIALS: Final = frozenset({"uuid", "parentUUID", "serial", "serialNumber", "macAddress"})
#: Fields with the vendors' words: a namespace called `nvidia` must not change what a selector matches.
_VENDORS: Final = frozenset(
    {
        "apiVersion",
        "kind",
        "attributes",
        "capacity",
        "selectors",
        "driver",
        "deviceClassName",
        "extendedResourceName",
        "matchAttribute",
        "distinctAttribute",
        "resources",
        "taints",
        "tolerations",
        "hard",
        "used",
        "creationTimestamp",
    }
)
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
#: The first part of a longer word is a name only when it is no abbreviation.
_LEAST_HEAD: Final = 4


def anonymised(objects: Sequence[Json]) -> list[dict[str, Any]]:
    """The objects with other names. The same name is the same other name everywhere, and sorts among its like as before."""
    serials = _numbered({"serial": {serial for raw in objects for serial in _serials(raw)}})
    found: dict[str, set[str]] = {}
    for raw in objects:
        for kind, name in _names(raw):
            found.setdefault(kind, set()).update((name,) if name else ())
    others = _numbered(found) | serials
    for kept in _PUBLIC_NAMESPACES:
        others.pop(kept, None)
    return [_renamed(_without_labels(raw), others, serials) for raw in objects]


def _renamed(value: Any, others: Mapping[str, str], serials: Mapping[str, str]) -> Any:
    """`value` with every text changed in which a name stands; in the vendors' fields only serial numbers are."""
    if isinstance(value, str):
        return others.get(value) or _WORD.sub(lambda found: _other(found.group(), others), value)
    if isinstance(value, dict):
        return {
            key if key in _VENDORS else others.get(key, key): _renamed(item, serials if key in _VENDORS else others, serials)
            for key, item in value.items()
        }
    return [_renamed(item, others, serials) for item in value] if isinstance(value, list) else value


def _other(word: str, others: Mapping[str, str]) -> str:
    if word in others:
        return others[word]
    # Controllers add to the names of what they make: `web-5d9c7b4f6d-x2x9k`, `node-1.example.com`. The longest name counts.
    for end in range(len(word) - 1, _LEAST_HEAD - 1, -1):
        if word[end] in ".-" and word[:end] in others:
            return others[word[:end]] + word[end:]
    return word


def _numbered(names: Mapping[str, set[str]]) -> dict[str, str]:
    others: dict[str, str] = {}
    for kind, found in names.items():
        width = len(str(len(found)))
        others.update((name, f"{kind}-{number:0{width}}") for number, name in enumerate(sorted(found - others.keys()), start=1))
    return others


def _names(raw: Json) -> Iterator[tuple[str, str]]:
    """Everything in an object that names somebody's thing, with the word that its other names begin with."""
    kind, meta, spec = text(raw.get("kind")), mapping(raw.get("metadata")), mapping(raw.get("spec"))
    yield "node", text(spec.get("nodeName"))
    yield "namespace", text(meta.get("namespace"))
    yield "uid", text(meta.get("uid"))
    if kind not in _PUBLIC_NAMES:
        yield kind.lower(), text(meta.get("name"))
    for owner in map(mapping, sequence(meta.get("ownerReferences"))):
        yield "uid", text(owner.get("uid"))
        yield text(owner.get("kind")).lower(), text(owner.get("name"))
    if kind == "ResourceSlice":
        yield "pool", text(mapping(spec.get("pool")).get("name"))
    if kind == "Node":
        # Often the first part of the node's name only.
        yield "host", text(mapping(meta.get("labels")).get("kubernetes.io/hostname"))
    yield kind.lower(), text(meta.get("generateName")).rstrip("-.")
    yield from _named_elsewhere(spec, mapping(raw.get("status")))


def _named_elsewhere(spec: Json, status: Json) -> Iterator[tuple[str, str]]:
    """What is only spoken of: a pod that has finished is in no list, and what is gone is in none either."""
    for claim in map(mapping, (*sequence(spec.get("resourceClaims")), *sequence(status.get("resourceClaimStatuses")))):
        yield "resourceclaim", text(claim.get("resourceClaimName"))
        yield "resourceclaimtemplate", text(claim.get("resourceClaimTemplateName"))
    for user in map(mapping, sequence(status.get("reservedFor"))):
        yield "pod", text(user.get("name"))
        yield "uid", text(user.get("uid"))
    allocation = mapping(status.get("allocation"))
    for result in map(mapping, sequence(mapping(allocation.get("devices")).get("results"))):
        yield "pool", text(result.get("pool"))
    for term in map(mapping, sequence(mapping(allocation.get("nodeSelector")).get("nodeSelectorTerms"))):
        for field in map(mapping, sequence(term.get("matchFields"))):
            yield from (("node", text(name)) for name in sequence(field.get("values")))


def _serials(raw: Json) -> Iterator[str]:
    for device in map(mapping, sequence(mapping(raw.get("spec")).get("devices"))):
        inner = mapping(device.get("basic")) or device
        for name, value in mapping(inner.get("attributes")).items():
            serial = text(mapping(value).get("string"))
            if serial and name.rpartition("/")[2] in _SERIALS:
                yield serial


def _without_labels(raw: Json) -> Json:
    if raw.get("kind") == "Node":
        return raw
    meta = dict(mapping(raw.get("metadata")))
    labels = {key: value for key, value in mapping(meta.pop("labels", None)).items() if _is_read(key)}
    return {**raw, "metadata": {**meta, "labels": labels} if labels else meta}


def _is_read(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    return bool(slash) and domain.endswith(_READ_LABELS)
