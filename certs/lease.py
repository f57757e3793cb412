"""Exactly one writer: a Lease of coordination.k8s.io, held by whoever renewed it last and not for longer than it says.

The leader election of the official client is not used: it is a loop of its own in a thread that nothing can end, it never gives
a lease back, and the work it started goes on after the lease is lost. Here one attempt is one call, and the caller asks before
each write whether it may still write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from certs.store import Conflict, Object, ObjectStore, StoreError


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """After `lasts` seconds without a renewal others may take it; the holder stops writing after `writes`, well before."""

    lasts: int = 15
    writes: float = 10.0


class Lease:
    """One candidate for one Lease.

    `elapsed` is a clock that never jumps, in seconds. When others renewed is judged by when this candidate saw it change, not
    by the time they wrote: clocks of machines differ.
    """

    def __init__(
        self,
        store: ObjectStore,
        namespace: str,
        name: str,
        identity: str,
        elapsed: Callable[[], float],
        terms: Terms | None = None,
    ) -> None:
        self._store = store
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._elapsed = elapsed
        self._terms = terms or Terms()
        self._renewed: float | None = None
        self._seen: tuple[object, float] | None = None

    @property
    def held(self) -> bool:
        """Whether this candidate may write now."""
        return self._renewed is not None and self._elapsed() < self._renewed + self._terms.writes

    def hold(self, now: datetime) -> bool:
        """Take the Lease when it is free, renew it when it is ours. Gives `held`. Raises StoreError."""
        begun = self._elapsed()
        found = self._store.get(f"{self._leases}/{self._name}")
        try:
            if found is None:
                self._create(now)
            elif self._may_take(_spec(found), begun):
                self._store.update(f"{self._leases}/{self._name}", self._taken(found, now))
            else:
                self._renewed = None
                return False
        except Conflict:
            # Somebody was quicker, or the Lease is another one by now: the next attempt sees.
            return self.held
        self._renewed = begun
        return True

    def release(self, now: datetime) -> None:
        """Give the Lease back when it is ours, so that the next writer need not wait. Never raises."""
        if not self.held:
            return
        self._renewed = None
        try:
            found = self._store.get(f"{self._leases}/{self._name}")
            if found is not None and _spec(found).get("holderIdentity") == self._identity:
                spec = {**_spec(found), "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _micro_time(now)}
                self._store.update(f"{self._leases}/{self._name}", {**found, "spec": spec})
        except StoreError:
            return

    def _create(self, now: datetime) -> None:
        try:
            self._store.create(self._leases, self._new(now))
        except Conflict:
            raise
        except StoreError as error:
            raise StoreError(
                f"there is no Lease {self._namespace}/{self._name}, and it cannot be created: {error}; "
                "without it nobody may write, so create it without a spec"
            ) from error

    def _may_take(self, spec: dict[str, Any], begun: float) -> bool:
        holder = spec.get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        written = (holder, spec.get("renewTime"), spec.get("leaseTransitions"))
        if self._seen is None or self._seen[0] != written:
            self._seen = (written, begun)
            return False
        lasts = spec.get("leaseDurationSeconds")
        return begun >= self._seen[1] + (lasts if isinstance(lasts, int) else self._terms.lasts)

    def _new(self, now: datetime) -> Object:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": self._namespace, "name": self._name},
            "spec": {**self._claim(now), "acquireTime": _micro_time(now), "leaseTransitions": 0},
        }

    def _taken(self, found: Object, now: datetime) -> Object:
        spec = _spec(found)
        taken = {**spec, **self._claim(now)}
        if spec.get("holderIdentity") != self._identity:
            taken |= {"acquireTime": _micro_time(now), "leaseTransitions": (spec.get("leaseTransitions") or 0) + 1}
        return {**found, "spec": taken}

    def _claim(self, now: datetime) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._terms.lasts,
            "renewTime": _micro_time(now),
        }


def _spec(lease: Object) -> dict[str, Any]:
    spec = lease.get("spec")
    return spec if isinstance(spec, dict) else {}


def _micro_time(now: datetime) -> str:
    return f"{now:%Y-%m-%dT%H:%M:%S.%f}Z"
