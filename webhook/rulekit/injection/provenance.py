"""The annotation `fallgate.dev/injected`: which policy added what to a claim, and what its author had asked for.

Compact JSON that does not depend on the object's API version (docs/tier-fallback.md):

    {"requests": [{"name": "gpu", "policy": "research-gpus@3f2a91c", "exactly": {...}, "author": "requested",
                   "added": ["a100-pair"]}],
     "config": [{"index": 0, "requests": ["gpu"]}]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.model.tolerant import Json, text

INJECTED = "fallgate.dev/injected"


class Absent:
    """Stands for a field that the author did not write."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedRequest:
    """One request that was turned into a list.

    `policy` is the TierFallback's `name@digest`. `exactly` is what the author had asked for, in v1's form. `author` names the
    alternative that stands for it, None when the policy replaced it; `added` names the others, in their order. `empty_list` is
    an empty `firstAvailable` that the author had written beside the ask.
    """

    name: str
    policy: str
    exactly: Json
    author: str | None
    added: tuple[str, ...]
    empty_list: Any = ABSENT

    @property
    def names(self) -> frozenset[str]:
        """The names of all alternatives."""
        return frozenset(self.added) | ({self.author} if self.author is not None else set())


@dataclass(frozen=True, slots=True, kw_only=True)
class RescopedConfig:
    """One entry of spec.devices.config whose `requests` were changed; `requests` is what the author had written there."""

    index: int
    requests: Any = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Everything that was injected into one object. `empty_annotations`: the author's own empty map, if one was there."""

    requests: tuple[InjectedRequest, ...]
    configs: tuple[RescopedConfig, ...] = ()
    empty_annotations: Any = ABSENT

    def request(self, name: str) -> InjectedRequest | None:
        """The record of the request of that name."""
        return next((item for item in self.requests if item.name == name), None)


def write_provenance(provenance: Provenance) -> str:
    """The annotation's value."""
    document: dict[str, Any] = {"requests": [_request_as_json(item) for item in provenance.requests]}
    if provenance.configs:
        document["config"] = [_given({"index": item.index, "requests": item.requests}) for item in provenance.configs]
    return json.dumps(_given({**document, "annotations": provenance.empty_annotations}), separators=(",", ":"))


def read_provenance(annotations: Mapping[str, Any]) -> Provenance | None:
    """What the annotation says; None when there is none or it is not one that `write_provenance` could have written."""
    try:
        return _read(json.loads(text(annotations.get(INJECTED))))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _request_as_json(item: InjectedRequest) -> dict[str, Any]:
    return _given(
        {
            "name": item.name,
            "policy": item.policy,
            "exactly": item.exactly,
            "author": item.author,
            "added": list(item.added),
            "firstAvailable": item.empty_list,
        }
    )


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not ABSENT}


def _read(document: Any) -> Provenance:
    requests = tuple(_read_request(_typed(item, dict)) for item in _typed(document["requests"], list))
    configs = tuple(_read_config(_typed(item, dict)) for item in _typed(document.get("config", []), list))
    if not requests or len({item.name for item in requests}) != len(requests):
        raise ValueError("no requests, or one of them twice")
    if len({item.index for item in configs}) != len(configs):
        raise ValueError("a config twice")
    return Provenance(requests=requests, configs=configs, empty_annotations=_empty(document.get("annotations", ABSENT), {}))


def _read_request(raw: dict[str, Any]) -> InjectedRequest:
    author = raw["author"]
    return InjectedRequest(
        name=_typed(raw["name"], str),
        policy=_typed(raw["policy"], str),
        exactly=_typed(raw["exactly"], dict),
        author=None if author is None else _typed(author, str),
        added=tuple(_typed(item, str) for item in _typed(raw["added"], list)),
        empty_list=_empty(raw.get("firstAvailable", ABSENT), []),
    )


def _read_config(raw: dict[str, Any]) -> RescopedConfig:
    index = raw["index"]
    if isinstance(index, bool) or _typed(index, int) < 0:
        raise ValueError("an index is a whole number from 0 on")
    requests = raw.get("requests", ABSENT)
    return RescopedConfig(index=index, requests=requests if requests in (ABSENT, None) else _typed(requests, list))


def _empty(value: Any, nothing: Any) -> Any:
    if value is not ABSENT and value is not None and value != nothing:
        raise ValueError(f"{value!r} is not empty")
    return value


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
