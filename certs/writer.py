"""The writer: reads the Secret and the webhook configurations, does what the plan says, looks again. One replica is the writer.

Two writers at once do no harm: every write carries the resourceVersion that was read, and configurations are read before the
Secret. So whoever publishes authorities of an older Secret does it over a configuration read before a newer one was published,
and is told of the conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from certs.authority import Authority, bundle_of, read_authorities
from certs.configurations import Server, bundles, paths, with_bundle
from certs.contents import Contents, read_contents, written
from certs.issue import issue_authority, issue_leaf
from certs.lease import Lease
from certs.model import Pair
from certs.plan import Action, Drop, NewAuthority, NewLeaf, Publish, Rest, Schedule, Trust, observe, plan
from certs.store import Conflict, Object, ObjectStore, StoreError

AUTHORITY_NAME: Final = "Fallgate webhook CA"
#: More actions than a whole change takes; what needs more is going round in circles and waits for the next round.
_MOST_ACTIONS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where everything is: the Secret `name` in `namespace`, and the two webhook configurations that call `server`."""

    namespace: str
    name: str
    configurations: str
    server: Server

    @property
    def secrets(self) -> str:
        """The path of the namespace's Secrets."""
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    @property
    def secret(self) -> str:
        """The path of our Secret."""
        return f"{self.secrets}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One thing that was written, and why."""

    what: Literal["new authority", "new certificate", "caBundle", "old authorities dropped"]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a round came to. `waiting` is for what the writer waits, "" when all is as it should be."""

    writer: bool
    done: tuple[Done, ...] = ()
    waiting: str = ""


@dataclass(slots=True)
class _Seen:
    """What is there, as read a moment ago."""

    secret: Object | None = field(repr=False)
    configurations: dict[str, Object]
    contents: Contents = field(init=False)

    def __post_init__(self) -> None:
        self.contents = read_contents(self.secret)


class Writer:
    """One candidate. `round` is called every few seconds for ever, in a thread: it blocks.

    It asks the clock again after each look, because the API server may take its time: an authority is trusted since it was read
    back, and not since the round began in which it was made.
    """

    def __init__(
        self, store: ObjectStore, place: Place, schedule: Schedule, lease: Lease, clock: Callable[[], datetime]
    ) -> None:
        self._clock = clock
        self._store = store
        self._place = place
        self._schedule = schedule
        self._lease = lease
        self._trust: Trust | None = None

    def round(self) -> Report:
        """Hold the Lease; when it is ours, do what there is to do. Raises StoreError when the API server does not answer."""
        try:
            if self._lease.hold(self._clock()):
                return self._work()
        except StoreError:
            self._trust = None
            raise
        self._trust = None
        return Report(writer=False)

    def _work(self) -> Report:
        done: list[Done] = []
        waiting = ""
        for _ in range(_MOST_ACTIONS):
            seen = self._look()
            now = self._clock()
            in_force = tuple(self._in_force(seen))
            self._trust = observe(self._trust, now, seen.contents, in_force)
            action = plan(now, seen.contents, in_force, self._trust, self._schedule)
            if isinstance(action, Rest):
                waiting = action.waiting or ("" if in_force else self._nobody_calls())
                break
            if not self._lease.held:
                break
            try:
                done.append(self._do(action, seen, now))
            except Conflict:
                # Somebody wrote in between: look again, and decide again.
                continue
        return Report(writer=True, done=tuple(done), waiting=waiting)

    def end(self) -> None:
        """Let another replica be the writer. Never raises."""
        self._lease.release(self._clock())

    def _look(self) -> _Seen:
        found = {path: self._store.get(path) for path in paths(self._place.configurations)}
        configurations = {path: configuration for path, configuration in found.items() if configuration is not None}
        return _Seen(secret=self._store.get(self._place.secret), configurations=configurations)

    def _in_force(self, seen: _Seen) -> Iterator[bytes]:
        for configuration in seen.configurations.values():
            yield from bundles(configuration, self._place.server)

    def _nobody_calls(self) -> str:
        server, name = self._place.server, self._place.configurations
        return (
            f"no entry of the webhook configurations {name} calls the Service {server.namespace}/{server.service}: as long as "
            "that is so, no caBundle is kept"
        )

    def _do(self, action: Action, seen: _Seen, now: datetime) -> Done:
        contents = seen.contents
        if isinstance(action, Publish):
            self._publish(action.bundle, seen)
            return Done(what="caBundle", why=f"it holds {_counted(read_authorities(action.bundle))} now")
        if isinstance(action, NewAuthority):
            made = issue_authority(AUTHORITY_NAME, now=now, valid_for=self._schedule.authority_for)
            asked = "" if contents.asked == "ca" else contents.asked
            bundle = made.certificate + bundle_of(action.keep)
            self._write(replace(contents, authorities=bundle, authority_key=made.key, asked=asked), seen)
            return Done(what="new authority", why=action.why)
        if isinstance(action, NewLeaf):
            authority = Pair(certificate=contents.authorities, key=contents.authority_key)
            leaf = issue_leaf(authority, self._schedule.names, now=now, valid_for=self._schedule.leaf_for)
            asked = "" if contents.asked == "leaf" else contents.asked
            self._write(replace(contents, leaf=leaf, asked=asked), seen)
            return Done(what="new certificate", why=action.why)
        assert isinstance(action, Drop)
        self._write(replace(contents, authorities=bundle_of(action.keep)), seen)
        return Done(what="old authorities dropped", why="everything they can have signed has expired")

    def _publish(self, bundle: bytes, seen: _Seen) -> None:
        for path, configuration in seen.configurations.items():
            if any(known != bundle for known in bundles(configuration, self._place.server)):
                self._store.update(path, with_bundle(configuration, self._place.server, bundle))

    def _write(self, contents: Contents, seen: _Seen) -> None:
        body = written(seen.secret, contents, namespace=self._place.namespace, name=self._place.name)
        if seen.secret is not None:
            self._store.update(self._place.secret, body)
            return
        try:
            self._store.create(self._place.secrets, body)
        except Conflict:
            raise
        except StoreError as error:
            raise StoreError(
                f"there is no Secret {self._place.namespace}/{self._place.name}, and it cannot be created: {error}; "
                "create it without data, and it is filled within seconds"
            ) from error


def _counted(authorities: tuple[Authority, ...]) -> str:
    return f"{len(authorities)} {'authority' if len(authorities) == 1 else 'authorities'}"
