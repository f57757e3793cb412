"""AdmissionReview (admission.k8s.io/v1), the request half. Parsing says what is wrong and with which HTTP status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from webhook.errors import ReviewError
from webhook.model.tolerant import flag, mapping, string_tuple, text

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
OPERATIONS: tuple[Operation, ...] = ("CREATE", "UPDATE", "DELETE", "CONNECT")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """request.userInfo"""

    name: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """An admission request.

    `object` and `old_object` are the raw JSON objects as the API server sent them (None when absent); nothing may change
    them. `group`, `version`, `kind` are the object's; `resource` and `subresource` as in the URL.
    """

    uid: str
    group: str
    version: str
    kind: str
    resource: str
    subresource: str
    name: str
    namespace: str
    operation: Operation
    user: User
    object: Any
    old_object: Any
    dry_run: bool = False


def read_review(document: object) -> Review:
    """The request of a decoded AdmissionReview.

    Raises ReviewError (status 400) when it is not an AdmissionReview of admission.k8s.io/v1 or lacks uid, kind, operation.
    """
    if not isinstance(document, dict):
        raise ReviewError(f"the body must be a JSON object of kind {KIND}, not {_json_type(document)}")
    if document.get("kind") != KIND or document.get("apiVersion") != API_VERSION:
        raise ReviewError(
            f"the body must be {API_VERSION} {KIND}, it is {document.get('apiVersion')!r} {document.get('kind')!r}"
        )
    request = document.get("request")
    if not isinstance(request, dict):
        raise ReviewError(f"the {KIND} has no request object")
    uid = text(request.get("uid"))
    if not uid:
        raise ReviewError("request.uid is missing: the answer could not be matched to the request")
    kind, resource = mapping(request.get("kind")), mapping(request.get("resource"))
    if not text(kind.get("kind")):
        raise ReviewError("request.kind.kind is missing")
    operation = request.get("operation")
    if operation not in OPERATIONS:
        raise ReviewError(f"request.operation must be one of {', '.join(OPERATIONS)}, it is {operation!r}")
    user = mapping(request.get("userInfo"))
    body, old = request.get("object"), request.get("oldObject")
    return Review(
        uid=uid,
        group=text(kind.get("group")),
        version=text(kind.get("version")),
        kind=text(kind.get("kind")),
        resource=text(resource.get("resource")),
        subresource=text(request.get("subResource")),
        name=text(request.get("name")),
        namespace=text(request.get("namespace")),
        operation=cast(Operation, operation),
        user=User(name=text(user.get("username")), groups=string_tuple(user.get("groups"))),
        object=body if isinstance(body, dict) else None,
        old_object=old if isinstance(old, dict) else None,
        dry_run=flag(request.get("dryRun")),
    )


def _json_type(value: object) -> str:
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
    }
    return names.get(type(value), type(value).__name__)
