"""A small API server over real HTTP: lists in pages, watches with bookmarks, and the faults that a real one has.

It keeps objects as they are put in and knows nothing of their meaning. Faults are set on it, one by one, by the tests.
"""

from __future__ import annotations

import copy
import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Raw = dict[str, Any]

#: group/version -> kind -> resource, namespaced
SERVED: dict[str, dict[str, tuple[str, bool]]] = {
    "v1": {
        "Node": ("nodes", False),
        "Namespace": ("namespaces", False),
        "Pod": ("pods", True),
        "ResourceQuota": ("resourcequotas", True),
        "ConfigMap": ("configmaps", True),
        "Secret": ("secrets", True),
    },
    "apps/v1": {"Deployment": ("deployments", True), "ReplicaSet": ("replicasets", True)},
    "batch/v1": {"Job": ("jobs", True)},
    "resource.k8s.io/v1": {
        "ResourceSlice": ("resourceslices", False),
        "DeviceClass": ("deviceclasses", False),
        "ResourceClaim": ("resourceclaims", True),
        "ResourceClaimTemplate": ("resourceclaimtemplates", True),
    },
    "resource.k8s.io/v1beta2": {
        "ResourceSlice": ("resourceslices", False),
        "DeviceTaintRule": ("devicetaintrules", False),
    },
}


@dataclass
class Asked:
    """A request that came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass
class ApiServer:
    """What is stored, what was asked, and which faults there are. `url` is where it listens."""

    url: str = ""
    version: str = "v1.36.3"
    served: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=lambda: copy.deepcopy(SERVED))
    #: resource -> HTTP status that answers lists and watches of it
    refusing: dict[str, int] = field(default_factory=dict)
    #: resource -> HTTP statuses that answer its next requests
    failing_next: dict[str, list[int]] = field(default_factory=dict)
    #: what errors say in Retry-After
    retry_after: str = ""
    #: resource -> the continue tokens that pages of it carry whatever was asked, the last for ever
    endless: dict[str, list[str]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=lambda: {"good"})
    asked: list[Asked] = field(default_factory=list)
    #: resourceVersions before this one are forgotten (410)
    oldest: int = 0
    _objects: dict[str, dict[tuple[str, str], Raw]] = field(default_factory=dict)
    _log: dict[str, list[tuple[int, Raw]]] = field(default_factory=dict)
    _watches: list[tuple[str, queue.Queue[bytes | None]]] = field(default_factory=list)
    _now: int = 1000
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def put(self, raw: Raw, *, seen: bool = True) -> None:
        """Create or replace an object; whoever watches is told, unless it shall not be `seen` yet."""
        with self._lock:
            resource, namespaced = self._place(raw)
            meta = raw.setdefault("metadata", {})
            key = (meta.get("namespace", "") if namespaced else "", meta["name"])
            stored = self._objects.setdefault(resource, {})
            self._now += 1
            body = copy.deepcopy(raw)
            body["metadata"]["resourceVersion"] = str(self._now)
            body["metadata"].setdefault("uid", f"uid-{resource}-{'/'.join(key)}")
            body["metadata"]["managedFields"] = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
            if seen:
                self._tell(resource, "MODIFIED" if key in stored else "ADDED", body)
            stored[key] = body

    def remove(self, resource: str, name: str, namespace: str = "") -> None:
        """Delete an object; whoever watches is told."""
        with self._lock:
            body = self._objects[resource].pop((namespace, name))
            self._now += 1
            body["metadata"]["resourceVersion"] = str(self._now)
            self._tell(resource, "DELETED", body)

    def remove_unseen(self, resource: str, name: str, namespace: str = "") -> None:
        """Delete an object without anybody being told, as if it had happened while no watch was up."""
        with self._lock:
            del self._objects[resource][namespace, name]
            self._now += 1

    def forget_history(self) -> None:
        """From now on watches can only begin at what is there now: older versions are answered with 410."""
        with self._lock:
            self._now += 1
            self.oldest = self._now
            self._log.clear()

    def bookmark(self, resource: str) -> None:
        """Tell watches of a resource how far they have come."""
        with self._lock:
            self._now += 1
            body = {"metadata": {"resourceVersion": str(self._now)}}
            self._send(resource, json.dumps({"type": "BOOKMARK", "object": body}).encode() + b"\n")

    def send(self, resource: str, data: bytes) -> None:
        """Send bytes as they are to the watches of a resource."""
        self._send(resource, data)

    def cut(self, resource: str = "") -> None:
        """Break the connections of watches, of one resource or of all."""
        with self._lock:
            for watched, pipe in self._watches:
                if not resource or watched == resource:
                    pipe.put(None)

    def watching(self, resource: str) -> int:
        """How many watches of a resource are up."""
        with self._lock:
            return sum(watched == resource for watched, _ in self._watches)

    def lists_of(self, resource: str) -> list[Asked]:
        """The list requests for a resource, in their order."""
        return [item for item in self.asked if item.path.endswith(f"/{resource}") and "watch" not in item.query]

    def watches_of(self, resource: str) -> list[Asked]:
        """The watch requests for a resource, in their order."""
        return [item for item in self.asked if item.path.endswith(f"/{resource}") and "watch" in item.query]

    def _place(self, raw: Raw) -> tuple[str, bool]:
        return self.served[raw["apiVersion"]][raw["kind"]]

    def _tell(self, resource: str, what: str, body: Raw) -> None:
        self._log.setdefault(resource, []).append((self._now, {"type": what, "object": copy.deepcopy(body)}))
        self._send(resource, json.dumps({"type": what, "object": body}).encode() + b"\n")

    def _send(self, resource: str, data: bytes) -> None:
        with self._lock:
            for watched, pipe in self._watches:
                if watched == resource:
                    pipe.put(data)

    # What the handler asks

    def answer(self, asked: Asked) -> tuple[int, Raw] | queue.Queue[bytes | None]:
        """Status and body, or where the lines of a watch come from."""
        self.asked.append(asked)
        token = asked.headers.get("authorization", "").removeprefix("Bearer ").removeprefix("bearer ")
        if self.tokens and token not in self.tokens:
            return _status(401, "Unauthorized")
        found = self._discovery(asked.path)
        if found is not None:
            return 200, found
        resource, namespace, name = self._parts(asked.path)
        if self.failing_next.get(resource):
            return _status(self.failing_next[resource].pop(0), "it failed")
        if resource in self.refusing:
            return _status(self.refusing[resource], f"{resource} is refused")
        if asked.method != "GET":
            return 405, {}
        with self._lock:
            if name:
                body = self._objects.get(resource, {}).get((namespace, name))
                return (200, body) if body is not None else _status(404, f'{resource} "{name}" not found')
            if asked.query.get("watch"):
                return self._watch(resource, int(asked.query["resourceVersion"]))
            return self._list(resource, namespace, asked.query)

    def _discovery(self, path: str) -> Raw | None:
        if path == "/version":
            return {"major": "1", "minor": "36", "gitVersion": self.version}
        if path == "/apis":
            groups: dict[str, list[str]] = {}
            for api_version in self.served:
                group, _, version = api_version.rpartition("/")
                if group:
                    groups.setdefault(group, []).append(version)
            return {"groups": [{"name": group, "versions": [{"version": v} for v in vs]} for group, vs in groups.items()]}
        kinds = self.served.get(path.removeprefix("/apis/").removeprefix("/api/"))
        if kinds is None:
            return None
        listed = [{"kind": kind, "name": name, "namespaced": spaced} for kind, (name, spaced) in kinds.items()]
        return {"resources": [*listed, *({**item, "name": f"{item['name']}/status"} for item in listed)]}

    def _parts(self, path: str) -> tuple[str, str, str]:
        """resource, namespace, name"""
        parts = path.strip("/").split("/")
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if len(parts) > 2 and parts[0] == "namespaces":
            namespace, parts = parts[1], parts[2:]
        return parts[0], namespace, parts[1] if len(parts) > 1 else ""

    def _list(self, resource: str, namespace: str, query: dict[str, str]) -> tuple[int, Raw]:
        if resource not in {name for kinds in self.served.values() for name, _ in kinds.values()}:
            return _status(404, "the server could not find the requested resource")
        wanted = query.get("fieldSelector", "").removeprefix("metadata.name=") if "metadata.name=" in str(query) else ""
        found = [
            body
            for key, body in sorted(self._objects.get(resource, {}).items())
            if (not namespace or key[0] == namespace) and (not wanted or key[1] == wanted)
        ]
        start, limit = int(query.get("continue") or 0), int(query.get("limit") or 0) or len(found) or 1
        meta = {"resourceVersion": str(self._now)}
        if endless := self.endless.get(resource):
            meta["continue"] = endless.pop(0) if len(endless) > 1 else endless[0]
        elif start + limit < len(found):
            meta["continue"] = str(start + limit)
        return 200, {"metadata": meta, "items": copy.deepcopy(found[start : start + limit])}

    def _watch(self, resource: str, since: int) -> tuple[int, Raw] | queue.Queue[bytes | None]:
        if since < self.oldest:
            return _status(410, "too old resource version")
        pipe: queue.Queue[bytes | None] = queue.Queue()
        for version, event in self._log.get(resource, []):
            if version > since:
                pipe.put(json.dumps(event).encode() + b"\n")
        self._watches.append((resource, pipe))
        return pipe

    def ended(self, pipe: queue.Queue[bytes | None]) -> None:
        """A watch is over."""
        with self._lock:
            self._watches = [item for item in self._watches if item[1] is not pipe]


def _status(code: int, message: str) -> tuple[int, Raw]:
    return code, {"kind": "Status", "status": "Failure", "message": message, "code": code}


def _handler(server: ApiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            answer = server.answer(Asked(self.command, url.path, query, headers))
            if isinstance(answer, queue.Queue):
                self._stream(answer)
                return
            status, body = answer
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status >= 400 and server.retry_after:
                self.send_header("Retry-After", server.retry_after)
            self.end_headers()
            self.wfile.write(data)

        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        do_POST = do_PATCH = do_PUT  # noqa: N815

        def _stream(self, pipe: queue.Queue[bytes | None]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.close_connection = True
            try:
                while (data := pipe.get()) is not None:
                    self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            except OSError:
                pass
            finally:
                server.ended(pipe)

        def log_message(self, *_args: object) -> None:
            pass

    return Handler


@contextmanager
def serving() -> Iterator[ApiServer]:
    """A server that answers until the end of the block."""
    server = ApiServer()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.cut()
            http.shutdown()
            thread.join()
