"""The ConfigMap that caps all modes."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.kube.api_server import ApiServer
from tests.real_clock import real_now
from webhook.kube.cap import Cap, CapWatch, read_cap
from webhook.kube.client import Client
from webhook.kube.health import Health
from webhook.kube.reflector import Timing
from webhook.rulekit.policies import ModeCap, PolicySet
from webhook.run.cluster import CappedPolicies
from webhook.server.ports import Condition
from webhook.telemetry import EventLog

Until = Callable[[Callable[[], object]], None]
NOW = datetime(2027, 1, 1, tzinfo=UTC)
QUICK = Timing(silence=5.0, first_pause=0.01, longest_pause=0.02, refused_pause=0.02)


def config_map(name: str = "fallgate-cap", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "guard"}, "data": data}


@pytest.fixture
def cap(server: ApiServer, client: Client, events: EventLog) -> Iterator[CapWatch]:
    """A watch of the cap, not started."""
    found = CapWatch(client, "guard", "fallgate-cap", events=events, clock=real_now, timing=QUICK)
    yield found
    found.stop()
    server.cut()
    for thread in threading.enumerate():
        if thread.name == "the cap":
            thread.join(5)


def started(cap: CapWatch) -> None:
    """Watch in a thread."""
    threading.Thread(target=cap.run, name="the cap", daemon=True).start()


def test_an_empty_one_caps_everything_at_audit() -> None:
    assert read_cap("c", {}) == Cap(caps=(ModeCap(name="c", mode="audit"),))


def test_mode_rules_and_end() -> None:
    data = {"mode": "warn", "rules": "device-ownership, tier-fallback", "until": "2027-01-15T08:00:00Z"}
    end = datetime(2027, 1, 15, 8, tzinfo=UTC)
    assert read_cap("c", data) == Cap(
        caps=(
            ModeCap(name="c", mode="warn", rule="device-ownership", until=end),
            ModeCap(name="c", mode="warn", rule="tier-fallback", until=end),
        )
    )


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"mode": "enforce"}, "mode 'enforce' is none of audit, warn, off"),
        ({"mode": "warn", "rules": "device-owner"}, "there is no rule 'device-owner'"),
        ({"mode": "warn", "until": "tomorrow"}, "until 'tomorrow' is no time; write it as 2027-01-15T08:00:00Z"),
        ({"Mode": "warn"}, "unknown key 'Mode'; known are mode, rules, until"),
    ],
)
def test_one_with_a_mistake_caps_everything_at_audit_and_says_so(data: dict[str, str], fault: str) -> None:
    assert read_cap("c", data) == Cap(caps=(ModeCap(name="c", mode="audit"),), faults=(fault,))


def test_it_holds_as_soon_as_it_is_there(server: ApiServer, cap: CapWatch, until: Until, log: io.BytesIO) -> None:
    assert [*cap.health()] == [Health(name="cap", state="failed", detail="ConfigMap guard/fallgate-cap was not looked for yet")]
    server.put(config_map("another", mode="off"))
    started(cap)
    until(lambda: [*cap.health()] == [Health(name="cap", state="ok", detail="none (no ConfigMap guard/fallgate-cap)")])
    assert cap.caps == ()
    server.put(config_map(mode="warn"))
    until(lambda: cap.caps)
    assert cap.caps == (ModeCap(name="fallgate-cap", mode="warn"),)
    assert [*cap.health()] == [
        Health(name="cap", state="degraded", detail="ConfigMap guard/fallgate-cap: every rule at most warn")
    ]
    server.put(config_map(mode="nonsense"))
    until(lambda: cap.caps == (ModeCap(name="fallgate-cap", mode="audit"),))
    assert [*cap.health()] == [
        Health(
            name="cap",
            state="degraded",
            detail="ConfigMap guard/fallgate-cap: every rule at most audit, because it cannot be read: "
            "mode 'nonsense' is none of audit, warn, off",
        )
    ]
    server.remove("configmaps", "fallgate-cap", "guard")
    until(lambda: not cap.caps)
    assert server.lists_of("configmaps")[0].path == "/api/v1/namespaces/guard/configmaps"
    assert server.lists_of("configmaps")[0].query["fieldSelector"] == "metadata.name=fallgate-cap"
    assert log.getvalue().decode().count("cap changed") == 3


def test_one_that_was_there_before_holds_from_the_start(server: ApiServer, cap: CapWatch, until: Until) -> None:
    server.put(config_map())
    started(cap)
    until(lambda: next(cap.health()).state == "degraded")
    assert cap.caps == (ModeCap(name="fallgate-cap", mode="audit"),)


def test_one_that_may_not_be_seen_is_no_reason_not_to_serve(server: ApiServer, cap: CapWatch, until: Until) -> None:
    server.refusing["configmaps"] = 403
    started(cap)
    until(lambda: next(cap.health()).state == "degraded")
    assert [*cap.health()] == [
        Health(
            name="cap",
            state="degraded",
            detail="ConfigMap guard/fallgate-cap cannot be watched: GET /api/v1/namespaces/guard/configmaps: 403: "
            "configmaps is refused; no cap",
        )
    ]
    del server.refusing["configmaps"]
    until(lambda: next(cap.health()).state == "ok")


@pytest.mark.parametrize(("there", "held"), [(True, "every rule at most audit"), (False, "no cap")])
def test_what_held_before_still_holds_when_it_may_not_be_seen_any_more(
    server: ApiServer, client: Client, events: EventLog, until: Until, there: bool, held: str
) -> None:
    early = timedelta()
    cap = CapWatch(client, "guard", "fallgate-cap", events=events, clock=lambda: NOW + early, timing=QUICK)
    if there:
        server.put(config_map())
    started(cap)
    until(lambda: cap.progress[1].lists and server.watching("configmaps"))
    before = cap.caps
    assert bool(before) is there
    server.refusing["configmaps"] = 403
    server.cut("configmaps")
    fault = "GET /api/v1/namespaces/guard/configmaps: 403: configmaps is refused"
    detail = f"ConfigMap guard/fallgate-cap cannot be watched: {fault}; what held before still holds: {held}"
    refused = Health(name="cap", state="degraded", detail=detail)
    until(lambda: [*cap.health()] == [refused])
    assert cap.caps == before

    early = timedelta(minutes=6)
    old = (
        f"nothing heard of ConfigMap guard/fallgate-cap for 360 s: {fault}; a cap that was made, changed or deleted since does "
        "not count here"
    )
    assert [*cap.health()] == [refused, Health(name="cap-fresh", state="degraded", detail=old)]
    del server.refusing["configmaps"]
    until(lambda: next(cap.health()).detail != detail)
    cap.stop()
    server.cut()


def test_a_watch_that_breaks_later_is_reported(
    server: ApiServer, client: Client, events: EventLog, until: Until, log: io.BytesIO
) -> None:
    early = timedelta()
    cap = CapWatch(
        client,
        "guard",
        "fallgate-cap",
        events=events,
        clock=lambda: NOW + early,
        timing=QUICK,
        stale_after=timedelta(minutes=5),
    )
    server.put(config_map())
    started(cap)
    until(lambda: cap.caps and server.watching("configmaps"))
    capped = Health(name="cap", state="degraded", detail="ConfigMap guard/fallgate-cap: every rule at most audit")
    early = timedelta(minutes=5)
    assert [*cap.health()] == [capped]

    server.refusing["configmaps"] = 500
    server.cut("configmaps")
    until(lambda: b"watch broken" in log.getvalue() and cap.progress[1].state == "broken")
    early = timedelta(minutes=6)
    fault = "GET /api/v1/namespaces/guard/configmaps: 500: configmaps is refused"
    until(lambda: cap.progress[1].detail == fault)
    detail = (
        f"nothing heard of ConfigMap guard/fallgate-cap for 360 s: {fault}; a cap that was made, changed or deleted since does "
        "not count here"
    )
    assert [*cap.health()] == [capped, Health(name="cap-fresh", state="degraded", detail=detail)]
    assert cap.caps == (ModeCap(name="fallgate-cap", mode="audit"),)

    del server.refusing["configmaps"]
    until(lambda: server.watching("configmaps"))
    server.bookmark("configmaps")
    until(lambda: [*cap.health()] == [capped])
    assert b"watch up again: kind ConfigMap" in log.getvalue()
    cap.stop()
    server.cut()


class Fixed:
    """A source of one policy set."""

    def __init__(self, value: PolicySet | None) -> None:
        self.value = value

    def current(self) -> PolicySet | None:
        return self.value

    def conditions(self) -> Iterator[Condition]:
        yield Condition(name="policies", state="ok")


def test_the_cap_is_laid_over_the_policies(server: ApiServer, cap: CapWatch, until: Until) -> None:
    own = ModeCap(name="file", mode="warn")
    policies = Fixed(PolicySet(digest="d", mode_caps=(own,)))
    capped = CappedPolicies(policies, cap)
    assert capped.current() is policies.value
    server.put(config_map())
    started(cap)
    until(lambda: cap.caps)
    first = capped.current()
    assert first is not None
    assert first.mode_caps == (own, ModeCap(name="fallgate-cap", mode="audit"))
    assert first.digest == "d"
    assert capped.current() is first, "what is remembered of a set hangs on the object"
    policies.value = None
    assert capped.current() is None
