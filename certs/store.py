"""What certificates need of the Kubernetes API: four blocking calls by REST path. Whoever has a client implements them."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

#: A Kubernetes object as JSON has it.
Object: TypeAlias = dict[str, Any]


class StoreError(Exception):
    """The API server could not be asked, or refused. The text is one sentence for people, without anything secret."""


class Conflict(StoreError):
    """Somebody else wrote in between (409): the object exists already, or is newer than the one that was read."""


class ObjectStore(Protocol):
    """Objects by path, for instance `/api/v1/namespaces/fallgate-system/secrets/fallgate-certs`. Every call may block."""

    def get(self, path: str) -> Object | None:
        """The object, None when there is none (404). Raises StoreError."""

    def create(self, path: str, body: Object) -> Object:
        """Create an object in the collection at `path`; gives it as stored. Raises Conflict when it exists, else StoreError."""

    def update(self, path: str, body: Object) -> Object:
        """Replace the object at `path` if it still has the resourceVersion of `body`; gives it as stored.

        Raises Conflict when it has another one, else StoreError.
        """
