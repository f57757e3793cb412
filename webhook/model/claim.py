"""ResourceClaim and ResourceClaimTemplate in one internal form, whatever API version the author wrote.

The form is v1's. Every part remembers the JSON pointer of its fields in the *author's* object, so that field paths in
messages and patches fit what was sent (v1beta1 and v1alpha3 have no `exactly`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from webhook.model.meta import Meta

#: allocationMode values the API knows today. Anything else must not be reasoned about (API contract).
EXACT_COUNT = "ExactCount"
ALL = "All"

#: Allocation results one claim may hold (k8s.io/api resource/v1 AllocationResultsMaxSize): what `All` is charged as.
MAX_RESULTS = 32
#: Entries of firstAvailable (k8s.io/api resource/v1 FirstAvailableDeviceRequestMaxSize).
MAX_ALTERNATIVES = 8

#: Where the alternatives of a request are written: under `exactly` (v1, v1beta2), on the request itself (v1beta1, v1alpha3),
#: in `firstAvailable` (all), in both places, or nowhere.
RequestForm = Literal["exactly", "flat", "list", "both", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorText:
    """One CEL selector as written. `pointer` names the `expression` field."""

    expression: str
    pointer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A device toleration with the API's defaults applied. `seconds` is tolerationSeconds, None for ever."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One way to satisfy a request, with the API's defaults applied.

    `name` is "" for a plain ask. `pointer` names the object that holds the fields: `.../exactly`, the request itself in
    v1beta1, or one entry of `firstAvailable`. `count` is 0 for allocationMode All. `unknown` lists keys no API version
    known to us has: what they mean for scheduling is not guessed.

    `unread` says why its selectors are not asked anything, "" if they are; then `selectors` is empty, so that nobody compiles
    them, and they are in `withheld`.
    """

    name: str
    device_class: str
    pointer: str
    selectors: tuple[SelectorText, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    unread: str = ""
    withheld: tuple[SelectorText, ...] = ()

    @property
    def understood(self) -> bool:
        """False when the allocation mode or a field is one we do not know, or the selectors are not read: then nothing is
        concluded from it."""
        return self.allocation_mode in (EXACT_COUNT, ALL) and not self.unknown and not self.unread

    @property
    def written(self) -> tuple[SelectorText, ...]:
        """The selectors as their author wrote them, read or not."""
        return self.selectors or self.withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One entry of spec.devices.requests. `pointer` names the entry."""

    name: str
    pointer: str
    form: RequestForm
    alternatives: tuple[Alternative, ...]

    @property
    def prioritized(self) -> bool:
        """True for a firstAvailable list."""
        return self.form == "list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One entry of spec.devices.constraints. Empty `requests` means all of them; `unknown` lists keys no API version has."""

    requests: tuple[str, ...]
    pointer: str
    match_attribute: str = ""
    distinct_attribute: str = ""
    unknown: tuple[str, ...] = ()

    def covers(self, request: str, alternative: str) -> bool:
        """Whether the constraint applies when `alternative` ("" for a plain ask) of `request` is taken."""
        return not self.requests or request in self.requests or f"{request}/{alternative}" in self.requests


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueConfig:
    """One entry of spec.devices.config. Empty `requests` means all of them; `parameters` is the driver's own JSON.

    `unknown` lists keys no API version known to us has.
    """

    requests: tuple[str, ...]
    pointer: str
    driver: str = ""
    parameters: Any = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimSpec:
    """A ResourceClaim's spec. `pointer` is `/spec` for a claim and `/spec/spec` for a template."""

    pointer: str
    requests: tuple[Request, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedDevice:
    """One entry of status.allocation.devices.results. `request` is `main` or `main/alternative`."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A ResourceClaim. `allocation` is None until it is allocated."""

    api_version: str
    meta: Meta
    spec: ClaimSpec
    allocation: tuple[AllocatedDevice, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTemplate:
    """A ResourceClaimTemplate. `claim_annotations` are those of spec.metadata: what generated claims get."""

    api_version: str
    meta: Meta
    spec: ClaimSpec
    claim_annotations: Mapping[str, str] = field(default_factory=dict)
