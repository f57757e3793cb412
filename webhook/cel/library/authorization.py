"""Kubernetes' authorizer: its functions are there, in selectors as everywhere, but nobody to ask.

A selector can only call them on values whose type is unknown, and then each call is an error.
"""

from __future__ import annotations

from typing import Any

from webhook.cel.library.table import Function, Overload, held_by
from webhook.cel.types import BOOL, STRING, Kind, Type
from webhook.cel.values import no_such_overload


class _Nobody:
    """Holds the values of the types below: there are none."""


def _type(name: str) -> Type:
    type_ = Type(Kind.STRUCT, f"kubernetes.authorization.{name}")
    held_by(type_, _Nobody)
    return type_


AUTHORIZER, DECISION = _type("Authorizer"), _type("Decision")
PATH, GROUP, RESOURCE = _type("PathCheck"), _type("GroupCheck"), _type("ResourceCheck")
TYPES = (AUTHORIZER, DECISION, PATH, GROUP, RESOURCE)


def _fails(*_: Any) -> Any:
    raise no_such_overload()


def _member(name: str, id_: str, params: tuple[Type, ...], result: Type) -> Function:
    return Function(name, (Overload(id_, params, result, _fails, member=True),))


FUNCTIONS: tuple[Function, ...] = (
    _member("path", "authorizer_path", (AUTHORIZER, STRING), PATH),
    _member("group", "authorizer_group", (AUTHORIZER, STRING), GROUP),
    _member("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER),
    _member("resource", "groupcheck_resource", (GROUP, STRING), RESOURCE),
    _member("subresource", "resourcecheck_subresource", (RESOURCE, STRING), RESOURCE),
    _member("namespace", "resourcecheck_namespace", (RESOURCE, STRING), RESOURCE),
    _member("name", "resourcecheck_name", (RESOURCE, STRING), RESOURCE),
    _member("fieldSelector", "authorizer_fieldselector", (RESOURCE, STRING), RESOURCE),
    _member("labelSelector", "authorizer_labelselector", (RESOURCE, STRING), RESOURCE),
    Function(
        "check",
        (
            Overload("pathcheck_check", (PATH, STRING), DECISION, _fails, member=True),
            Overload("resourcecheck_check", (RESOURCE, STRING), DECISION, _fails, member=True),
        ),
    ),
    _member("allowed", "decision_allowed", (DECISION,), BOOL),
    _member("reason", "decision_reason", (DECISION,), STRING),
    _member("error", "decision_error", (DECISION,), STRING),
    _member("errored", "decision_errored", (DECISION,), BOOL),
)

#: Left out of did-you-mean hints.
NAMES = frozenset(function.name for function in FUNCTIONS)
