"""`POST /mutate` and `POST /validate` as plain ASGI endpoints, with the only ladder from exceptions to answers."""

from __future__ import annotations

import traceback
from time import perf_counter

from starlette.types import Receive, Scope, Send

from webhook.server.answers import Refused, error_answer, json_answer, refusal_answer
from webhook.server.body import ClientLeft, read_body
from webhook.server.budget import Budget
from webhook.server.deadline import seconds_allowed
from webhook.server.judge import Call, Judge
from webhook.settings import HttpSettings
from webhook.telemetry import EventLog, Phase, Recorder

#: Where the connection notes when the headers of a call were complete (perf_counter): waiting for its turn counts.
RECEIVED = "fallgate.received"


class AdmissionEndpoint:
    """One of the two admission calls. Both take the room for their bodies from one `budget`."""

    def __init__(
        self, phase: Phase, judge: Judge, settings: HttpSettings, budget: Budget, recorder: Recorder, events: EventLog
    ) -> None:
        self._phase: Phase = phase
        self._judge = judge
        self._settings = settings
        self._budget = budget
        self._recorder = recorder
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call. Never raises for anything a client can send."""
        try:
            with self._budget.share() as share:
                body = await read_body(scope, receive, self._settings.max_body_bytes, share)
                answer = json_answer(await self._judge.answer(self._call(scope), body))
        except ClientLeft:
            return
        except Refused as refused:
            self._recorder.refused(refused.why)
            answer = refusal_answer(refused)
        except Exception:  # noqa: BLE001 - the last rung: no traceback leaves the process but in the log
            self._recorder.failed("server")
            self._events.error("a call failed", path=scope["path"], error=traceback.format_exc())
            answer = error_answer(500, "Fallgate failed while it answered; its log has the details")
        await answer(scope, receive, send)

    def _call(self, scope: Scope) -> Call:
        received: float = scope.get("state", {}).get(RECEIVED) or perf_counter()
        allowed = seconds_allowed(scope["query_string"], self._settings.call_seconds)
        return Call(phase=self._phase, received=received, deadline=received + allowed)
