"""The certificate that is served: looked at again and again, issued when we may, reported to readiness and metrics."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from datetime import timedelta

from certs.folder import CERTIFICATE, KEY, issue_into
from certs.model import CertificateError
from certs.reload import Reloader, from_files
from webhook.server.ports import Clock, Condition
from webhook.settings import CertificateSettings
from webhook.telemetry import EventLog, Recorder

#: A certificate we issue ourselves is replaced when less than this is left of its 90 days.
_RENEW_BEFORE = timedelta(days=30)


class ServedCertificate:
    """A Reloader with somebody who calls it."""

    def __init__(
        self, settings: CertificateSettings, poll_seconds: float, *, recorder: Recorder, events: EventLog, clock: Clock
    ) -> None:
        self._settings = settings
        self._poll_seconds = poll_seconds
        self._recorder = recorder
        self._events = events
        self._clock = clock
        self._reloader = Reloader(from_files(settings.folder / CERTIFICATE, settings.folder / KEY))
        self.context = self._reloader.context
        self._refused = False

    def not_after(self) -> float:
        """When the certificate ends, in seconds since 1970; NaN when there is none."""
        facts = self._reloader.facts
        return math.nan if facts is None else facts.not_after.timestamp()

    def conditions(self) -> Iterable[Condition]:
        """`certificate`: whether there is one that has not expired; `certificate-newest`: whether it is the newest."""
        facts, refusal = self._reloader.facts, self._reloader.refusal
        if facts is None:
            yield Condition(name="certificate", state="failed", detail=refusal or "not loaded yet")
            return
        state = "ok" if self._clock() < facts.not_after else "failed"
        end = f"{facts.not_after:%Y-%m-%dT%H:%M:%SZ}"
        detail = f"{facts.subject}, valid until {end}" if state == "ok" else f"{facts.subject}, expired on {end}"
        yield Condition(name="certificate", state="ok" if state == "ok" else "failed", detail=detail)
        if refusal:
            detail = f"the newest files are not served: {refusal}"
            yield Condition(name="certificate-newest", state="degraded", detail=detail)

    async def run(self) -> None:
        """Look at the files every few seconds, for ever."""
        while True:
            self.look()
            await asyncio.sleep(self._poll_seconds)

    def look(self) -> None:
        """Look at the files once; issue a pair first when we may and it is time. Never raises for what is in the files."""
        outcome = self._reloader.poll(self._clock())
        if self._settings.self_signed and self._must_issue() and self._issue():
            outcome = self._reloader.poll(self._clock())
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
        try:
            issue_into(self._settings.folder, self._settings.self_signed, now=self._clock())
        except (CertificateError, OSError) as error:
            self._events.error("certificate not issued", why=str(error))
            return False
        return True
