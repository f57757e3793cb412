"""The certificate that is served: looked at again and again, issued when we may, reported to readiness and metrics."""

from __future__ import annotations

import asyncio
import math
import traceback
from collections.abc import Iterable
from datetime import timedelta

from certs.folder import CERTIFICATE, KEY, issue_into
from certs.model import CertificateError, Facts
from certs.reload import Outcome, Reloader, Source, clients_from, from_files
from webhook.run.credentials import LOOK_SECONDS, Shared, expected_names, from_secret
from webhook.run.daemon import Beside
from webhook.server.ports import Clock, Condition
from webhook.settings import CertificateSettings
from webhook.telemetry import EventLog, Recorder

#: A certificate we issue ourselves is replaced when less than this is left of its 90 days.
_RENEW_BEFORE = timedelta(days=30)
#: How long the beginning waits for the folder: a mount that hangs must not keep probes and signals from being answered.
_BEGIN_SECONDS = 5.0


class ServedCertificate:
    """A Reloader with somebody who calls it. With `known` the pair comes from that Secret, else from the settings' folder."""

    def __init__(
        self,
        settings: CertificateSettings,
        poll_seconds: float,
        *,
        recorder: Recorder,
        events: EventLog,
        clock: Clock,
        namespace: str = "",
        known: Shared | None = None,
        may_issue: bool = True,
    ) -> None:
        self._settings = settings
        self._may_issue = may_issue
        self._poll_seconds = poll_seconds if known is None else LOOK_SECONDS
        self._recorder = recorder
        self._events = events
        self._clock = clock
        self._shared = known is not None
        self._beside = Beside(clock)
        self._first: asyncio.Future[None] | None = None
        self._names = expected_names(settings, namespace)
        self._reloader = Reloader(_source(settings, known), self._names, verify_clients=settings.client_ca is not None)
        self.context = self._reloader.context
        self._refused = False

    def not_after(self) -> float:
        """When the certificate ends, in seconds since 1970; NaN when there is none."""
        facts = self._reloader.facts
        return math.nan if facts is None else facts.not_after.timestamp()

    def conditions(self) -> Iterable[Condition]:
        """`certificate`: whether there is one that lasts long enough; `certificate-newest`: whether it is the newest.

        `certificate-readable`: when it can be looked at neither with success nor with an error.
        """
        if silence := self._beside.silence():
            detail = f"{self._where} has not answered for {silence:.0f} seconds: {self._kept()}"
            yield Condition(name="certificate-readable", state="degraded", detail=detail)
        facts, refusal = self._reloader.facts, self._reloader.refusal
        if facts is None:
            yield Condition(name="certificate", state="failed", detail=refusal or "not loaded yet")
            return
        yield self._validity(facts)
        if refusal:
            detail = f"the newest pair is not served: {refusal}"
            yield Condition(name="certificate-newest", state="degraded", detail=detail)

    def _kept(self) -> str:
        return (
            "there is no certificate to serve yet" if self._reloader.facts is None else "what is served is what was read before"
        )

    def _validity(self, facts: Facts) -> Condition:
        now, end = self._clock(), f"{facts.not_after:%Y-%m-%dT%H:%M:%SZ}"
        soon = self._settings.not_ready_before_seconds
        if now >= facts.not_after:
            return Condition(name="certificate", state="failed", detail=f"{facts.subject}, expired on {end}")
        if now >= facts.not_after - timedelta(seconds=soon):
            detail = f"{facts.subject}, valid until {end}: less than {soon:g} seconds are left, and there is no newer one"
            return Condition(name="certificate", state="failed", detail=detail)
        return Condition(name="certificate", state="ok", detail=f"{facts.subject}, valid until {end}")

    async def begin(self) -> None:
        """Look before the server listens, where that does not take long."""
        if not self._shared:
            self._first = asyncio.ensure_future(self._beside(self.look))
            await asyncio.wait([self._first], timeout=_BEGIN_SECONDS)

    async def run(self) -> None:
        """Look every few seconds, for ever."""
        if self._first is not None:
            await self._first
        while True:
            await self._beside(self.look)
            await asyncio.sleep(self._poll_seconds)

    def look(self) -> None:
        """Look once; issue a pair first when we may and it is time. Never raises for what it finds."""
        try:
            self._look()
        except Exception:  # noqa: BLE001 - a fault of ours must not end the process while what is served is good
            self._events.error("certificate not looked at", error=traceback.format_exc())

    @property
    def _where(self) -> str:
        return f"the Secret {self._settings.secret}" if self._shared else str(self._settings.folder)

    def _look(self) -> None:
        outcome = self._reloader.poll(self._clock())
        if self._settings.self_signed and self._may_issue and self._must_issue() and self._issue():
            outcome = self._reloader.poll(self._clock())
        self._report(outcome)

    def _report(self, outcome: Outcome) -> None:
        good_again = self._refused and not self._reloader.refusal
        self._refused = bool(self._reloader.refusal)
        facts = self._reloader.facts
        if (outcome.kind == "swapped" or good_again) and facts is not None:
            self._recorder.loaded("certificate", self._clock())
            self._events.info("certificate loaded", subject=facts.subject, not_after=facts.not_after, key=facts.key)
        elif outcome.kind == "refused":
            self._recorder.rejected("certificate")
            self._events.error("certificate not loaded", why=outcome.message)

    def _must_issue(self) -> bool:
        facts = self._reloader.facts
        return facts is None or facts.not_after - self._clock() < _RENEW_BEFORE

    def _issue(self) -> bool:
        assert self._settings.folder is not None
        names = tuple(dict.fromkeys(self._settings.self_signed + self._names))
        try:
            issue_into(self._settings.folder, names, now=self._clock())
        except (CertificateError, OSError) as error:
            self._events.error("certificate not issued", why=str(error))
            return False
        return True


def _source(settings: CertificateSettings, known: Shared | None) -> Source:
    clients = clients_from(settings.client_ca)
    if known is not None:
        return from_secret(known, clients)
    assert settings.folder is not None
    return from_files(settings.folder / CERTIFICATE, settings.folder / KEY, clients)
