"""The ConfigMap that caps all modes: the switch for somebody in need. It is watched, so that it works at once, everywhere.

    kubectl create configmap fallgate-cap -n fallgate-system

caps every mode at audit. `--from-literal=mode=warn` (or off) caps at that, `rules=a,b` caps these rules only, and
`until=2027-01-15T08:00:00Z` ends it. What cannot be read falls to the safe side: everything at audit, and it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from webhook.errors import ApiError
from webhook.kube.client import Client
from webhook.kube.discovery import Source
from webhook.kube.health import Health
from webhook.kube.kinds import Kind
from webhook.kube.reading import Kept, key_of
from webhook.kube.reflector import USUAL, Progress, Reflector, Timing
from webhook.kube.said import said_in
from webhook.model.finding import Mode
from webhook.model.tolerant import Json, mapping, string_map
from webhook.rulekit.policies import ModeCap
from webhook.rules import ALL
from webhook.telemetry import EventLog

_MODES: Final[Mapping[str, Mode]] = {"audit": "audit", "warn": "warn", "off": "off"}
_KEYS: Final = ("mode", "rules", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """What a cap ConfigMap comes to; `faults` say what of it could not be read."""

    caps: tuple[ModeCap, ...] = ()
    faults: tuple[str, ...] = ()


def read_cap(name: str, data: Json) -> Cap:
    """The caps that the ConfigMap `name` asks for. One that cannot be understood caps everything at audit."""
    faults = [f"unknown key {key!r}; known are {', '.join(_KEYS)}" for key in data if key not in _KEYS]
    said = {key: value.strip() for key, value in string_map(data).items()}
    mode = _MODES.get(said.get("mode", "audit"))
    if mode is None:
        faults.append(f"mode {said['mode']!r} is none of {', '.join(_MODES)}")
    rules = [part for part in (part.strip() for part in said.get("rules", "").split(",")) if part]
    known = {rule.id for rule in ALL}
    faults += [f"there is no rule {rule!r}" for rule in rules if rule not in known]
    until, fault = _until(said.get("until", ""))
    faults += fault
    if faults or mode is None:
        return Cap(caps=(ModeCap(name=name, mode="audit"),), faults=tuple(faults))
    return Cap(caps=tuple(ModeCap(name=name, mode=mode, rule=rule, until=until) for rule in rules or ("",)))


def _until(written: str) -> tuple[datetime | None, list[str]]:
    if not written:
        return None, []
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None, [f"until {written!r} is no time; write it as 2027-01-15T08:00:00Z"]
    return found if found.tzinfo else found.replace(tzinfo=UTC), []


class CapWatch:
    """Watches one ConfigMap. `caps` is what holds now; until it was looked for once, nobody knows (`health`)."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        name: str,
        *,
        events: EventLog,
        clock: Callable[[], datetime],
        timing: Timing = USUAL,
        stale_after: timedelta = timedelta(minutes=5),
    ) -> None:
        self.place = f"{namespace}/{name}"
        self._name = name
        self._events = events
        self._clock = clock
        self._stale_after = stale_after
        self._cap = Cap()
        self._known = False
        self._fault = ""
        kind = Kind(group="", kind="ConfigMap", part="caps", query={"fieldSelector": f"metadata.name={name}"})
        source = Source(kind=kind, api_version="v1", path=f"/api/v1/namespaces/{namespace}/configmaps")
        said = said_in(events)
        self._reflector = Reflector(
            client=client,
            source=source,
            sink=self,
            clock=clock,
            timing=timing,
            report=said.report,
            ignoring=said.ignoring,
            read=_read,
        )

    @property
    def caps(self) -> tuple[ModeCap, ...]:
        """The caps in force."""
        return self._cap.caps

    @property
    def progress(self) -> tuple[Source, Progress]:
        """How the watch is doing."""
        return self._reflector.source, self._reflector.progress

    def run(self) -> None:
        """Watch until `stop`, in a thread of its own."""
        self._reflector.run()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._reflector.stop()

    def health(self) -> Iterator[Health]:
        """`cap`: whether a cap holds, and what is wrong with it; `cap-fresh` when that was seen too long ago."""
        if not self._known:
            detail = self._reflector.progress.detail or f"ConfigMap {self.place} was not looked for yet"
            yield Health(name="cap", state="failed", detail=detail)
        elif self._fault:
            before = "" if self._reflector.progress.heard is None else "what held before still holds: "
            detail = f"ConfigMap {self.place} cannot be watched: {self._fault}; {before}{_described(self._cap)}"
            yield Health(name="cap", state="degraded", detail=detail)
        elif self._cap.caps:
            yield Health(name="cap", state="degraded", detail=f"ConfigMap {self.place}: {_described(self._cap)}")
        else:
            yield Health(name="cap", state="ok", detail=f"none (no ConfigMap {self.place})")
        yield from self._staleness()

    def _staleness(self) -> Iterator[Health]:
        progress = self._reflector.progress
        if progress.heard is None:
            return
        silence = self._clock() - progress.heard
        if silence <= self._stale_after:
            return
        because = f": {progress.detail}" if progress.detail else ""
        detail = (
            f"nothing heard of ConfigMap {self.place} for {int(silence.total_seconds())} s{because}; a cap that was made, "
            "changed or deleted since does not count here"
        )
        yield Health(name="cap-fresh", state="degraded", detail=detail)

    # What the reflector sees

    def listed(self, source: Source, objects: Mapping[Hashable, Any]) -> None:
        """Whether there is one."""
        self._fault = ""
        self._take(next(iter(objects.values()), None))

    def changed(self, source: Source, kept: Kept) -> None:
        """It came, changed or went."""
        self._take(kept.value)

    def refused(self, source: Source, fault: ApiError) -> None:
        """We may not see it: what held before still holds, none if none was ever seen, and both are said."""
        if not self._fault:
            self._events.error("cap cannot be watched", configmap=self.place, why=str(fault))
        self._fault = str(fault)
        self._known = True

    def _take(self, data: Json | None) -> None:
        cap = Cap() if data is None else read_cap(self._name, data)
        if cap != self._cap:
            log = self._events.error if cap.faults else self._events.warning
            log("cap changed", configmap=self.place, what=_described(cap))
        self._cap, self._known = cap, True


def _read(raw: Json) -> Kept:
    return Kept(key_of(raw, "caps"), mapping(raw.get("data")))


def _described(cap: Cap) -> str:
    if not cap.caps:
        return "no cap"
    rules = ", ".join(item.rule for item in cap.caps if item.rule) or "every rule"
    first = cap.caps[0]
    until = f" until {first.until:%Y-%m-%dT%H:%M:%S%z}" if first.until else ""
    text = f"{rules} at most {first.mode}{until}"
    return f"{text}, because it cannot be read: {'; '.join(cap.faults)}" if cap.faults else text
