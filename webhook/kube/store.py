"""Single objects to read and write, as certificates need them: a `certs.store.ObjectStore` over the API."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from certs.store import Conflict, StoreError
from webhook.errors import ApiError, ClusterError
from webhook.kube.client import Client

Object: TypeAlias = dict[str, Any]

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


class ApiStore:
    """Blocking calls by REST path, each answered within `seconds` or failed."""

    def __init__(self, client: Client, *, seconds: float = 15.0) -> None:
        self._client = client
        self._seconds = seconds

    def get(self, path: str) -> Object | None:
        """The object, None when there is none. Raises StoreError."""
        try:
            return self._client.get(path, seconds=self._seconds)
        except ApiError as fault:
            if fault.status == _NOT_FOUND:
                return None
            raise StoreError(str(fault)) from fault
        except ClusterError as fault:
            raise StoreError(f"GET {path}: {fault}") from fault

    def create(self, path: str, body: Object) -> Object:
        """Create an object in the collection at `path`. Raises Conflict when it exists, else StoreError."""
        return self._write("POST", path, body)

    def update(self, path: str, body: Object) -> Object:
        """Replace an object that is still as it was read. Raises Conflict when it is not, else StoreError."""
        return self._write("PUT", path, body)

    def _write(self, method: str, path: str, body: object) -> Object:
        try:
            return self._client.send(method, path, body, seconds=self._seconds)
        except ApiError as fault:
            kind = Conflict if fault.status == _CONFLICT else StoreError
            raise kind(str(fault)) from fault
        except ClusterError as fault:
            raise StoreError(f"{method} {path}: {fault}") from fault
