"""Decision -> AdmissionReview, the one place that makes the answer's JSON."""

from __future__ import annotations

import base64
import json
from typing import Any

from webhook.engine.render import denial
from webhook.model.finding import Decision, Judged
from webhook.model.review import API_VERSION, KIND


def respond(decision: Decision, uid: str) -> dict[str, Any]:
    """The AdmissionReview that answers the request `uid`, as JSON-ready data."""
    response: dict[str, Any] = {"uid": uid, "allowed": decision.allowed}
    if not decision.allowed:
        response["status"] = _status(decision, uid)
    if decision.patch:
        # patch and patchType go together or not at all (apiserver: anything else is an invalid response)
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(json.dumps(list(decision.patch), separators=(",", ":")).encode()).decode()
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if decision.audit_annotations:
        response["auditAnnotations"] = dict(decision.audit_annotations)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}


def _status(decision: Decision, uid: str) -> dict[str, Any]:
    denying = [item for item in decision.findings if item.effect == "deny"]
    message = denial(denying, review=uid, help_line=decision.help) if denying else decision.message
    status: dict[str, Any] = {
        "status": "Failure",
        "code": decision.code,
        "reason": "Forbidden" if decision.code == 403 else "InternalError",
        "message": message,
    }
    if denying:
        status["details"] = {"causes": [_cause(item) for item in denying]}
    return status


def _cause(item: Judged) -> dict[str, str]:
    finding = item.finding
    return {"reason": finding.reason, "message": finding.detail, "field": finding.path}
