"""The ASGI application: the two admission calls go straight to their endpoints, everything else through starlette's router."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, ExceptionHandler, Receive, Scope, Send

from webhook.server.admission import AdmissionEndpoint
from webhook.server.answers import error_answer
from webhook.server.probes import Alive, Metrics, Ready
from webhook.telemetry import Recorder

#: The paths of the webhook configurations.
MUTATE, VALIDATE = "/mutate", "/validate"


@dataclass(frozen=True, slots=True)
class Application:
    """Routes a call. starlette's router costs a third of an answer that does nothing, which the two hot paths are spared."""

    admission: Mapping[str, AdmissionEndpoint]
    others: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        await self.admission.get(scope["path"], self.others)(scope, receive, send)


def build_app(
    *, mutate: AdmissionEndpoint, validate: AdmissionEndpoint, ready: Ready, metrics: Metrics, recorder: Recorder
) -> Application:
    """The application from its endpoints."""
    return Application(
        admission={MUTATE: mutate, VALIDATE: validate}, others=build_probes(ready=ready, metrics=metrics, recorder=recorder)
    )


def build_probes(*, ready: Ready, metrics: Metrics, recorder: Recorder) -> ASGIApp:
    """Probes and metrics alone."""
    routes = [
        Route("/livez", Alive(), methods=["GET"]),
        Route("/healthz", Alive(), methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
    ]

    async def wrong_address(request: Request, error: Exception) -> Response:
        """A Status object for a path that is not served (404) or takes another method (405)."""
        fault = cast(HTTPException, error)
        recorder.refused("path" if fault.status_code == 404 else "method")
        return _as_response(request, fault)

    handlers: dict[object, ExceptionHandler] = {HTTPException: wrong_address}
    return Starlette(routes=routes, exception_handlers=handlers)


def _as_response(request: Request, fault: HTTPException) -> Response:
    path = request.url.path
    allowed = (fault.headers or {}).get("Allow", "")
    message = f"{path} takes {allowed}, not {request.method}" if allowed else f"nothing is served under {path}"
    answer = error_answer(fault.status_code, message)
    return Response(answer.body, answer.status, headers=fault.headers, media_type="application/json")
