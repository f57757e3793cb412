"""Decodes the JSON of an AdmissionReview without what no rule reads: managedFields are up to half of a Pod.

Skipping a value costs a fifth of building it. What does not have the expected shape (a custom resource with fields of its own
beside spec and status, or no review at all) is decoded as it is; nothing is judged here.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class _Metadata(msgspec.Struct):
    """ObjectMeta (k8s.io/apimachinery meta/v1) without managedFields and selfLink."""

    name: Any = UNSET
    generateName: Any = UNSET  # noqa: N815 - JSON's names
    namespace: Any = UNSET
    uid: Any = UNSET
    resourceVersion: Any = UNSET  # noqa: N815
    generation: Any = UNSET
    creationTimestamp: Any = UNSET  # noqa: N815
    deletionTimestamp: Any = UNSET  # noqa: N815
    deletionGracePeriodSeconds: Any = UNSET  # noqa: N815
    labels: Any = UNSET
    annotations: Any = UNSET
    ownerReferences: Any = UNSET  # noqa: N815
    finalizers: Any = UNSET


class _Object(msgspec.Struct, forbid_unknown_fields=True):
    """An object whose only parts are these. Any other has to be decoded whole."""

    metadata: _Metadata
    apiVersion: Any = UNSET  # noqa: N815
    kind: Any = UNSET
    spec: Any = UNSET
    status: Any = UNSET


class _Request(msgspec.Struct):
    """AdmissionRequest (k8s.io/api admission/v1) without requestKind, requestResource and options."""

    uid: Any = UNSET
    kind: Any = UNSET
    resource: Any = UNSET
    subResource: Any = UNSET  # noqa: N815
    name: Any = UNSET
    namespace: Any = UNSET
    operation: Any = UNSET
    userInfo: Any = UNSET  # noqa: N815
    object: _Object | UnsetType | None = UNSET
    oldObject: _Object | UnsetType | None = UNSET  # noqa: N815
    dryRun: Any = UNSET  # noqa: N815


class _Review(msgspec.Struct):
    request: _Request
    apiVersion: Any = UNSET  # noqa: N815
    kind: Any = UNSET


_decode_lean = msgspec.json.Decoder(_Review).decode
_decode_whole = msgspec.json.Decoder().decode


def decode_review(body: bytes) -> object:
    """The document in `body`, as `read_review` takes it.

    Raises msgspec.DecodeError for what is no JSON, RecursionError for what is nested too deeply.
    """
    try:
        review = _decode_lean(body)
    except msgspec.ValidationError:
        return _decode_whole(body)
    request = _present(review.request)
    for key in ("object", "oldObject"):
        if isinstance(part := request.get(key), _Object):
            request[key] = {**_present(part), "metadata": _present(part.metadata)}
    return {**_present(review), "request": request}


def _present(struct: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name in struct.__struct_fields__ if (value := getattr(struct, name)) is not UNSET}
