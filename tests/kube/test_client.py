"""Requests to the API: credentials that run out, answers that are errors, servers that are not there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client.configuration import Configuration

from certs.store import Conflict, StoreError
from tests.build import node
from tests.kube.api_server import ApiServer
from webhook.errors import ApiError, ClusterError
from webhook.kube.client import Client
from webhook.kube.connecting import connect, own_namespace
from webhook.kube.store import ApiStore


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> Callable[..., Path]:
    """Writes a kubeconfig for the server with a user as given."""

    def write(**user: Any) -> Path:
        path = tmp_path / "kubeconfig"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": {"server": server.url}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "current-context": "here",
        }
        path.write_text(yaml.safe_dump(document))
        return path

    return write


def test_an_object(server: ApiServer, client: Client) -> None:
    server.put(node("node-1"))
    assert client.get("/api/v1/nodes/node-1")["metadata"]["name"] == "node-1"
    assert server.asked[-1].headers["authorization"] == "Bearer good"


def test_what_the_server_says_is_told(client: Client) -> None:
    with pytest.raises(ApiError) as refused:
        client.get("/api/v1/nodes/node-2")
    assert refused.value.status == 404
    assert str(refused.value) == 'GET /api/v1/nodes/node-2: 404: nodes "node-2" not found'


def test_a_token_that_has_run_out_is_read_anew(server: ApiServer, kubeconfig: Callable[..., Path], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("good\n")
    client = connect(str(kubeconfig(tokenFile=str(token))))
    assert client.get("/version")["gitVersion"] == "v1.36.3"
    server.tokens = {"newer"}
    token.write_text("newer\n")
    assert client.get("/version")["gitVersion"] == "v1.36.3"
    assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer good", "Bearer good", "Bearer newer"]


def test_credentials_that_are_wrong_are_tried_twice_and_not_shown(server: ApiServer, kubeconfig: Callable[..., Path]) -> None:
    client = connect(str(kubeconfig(token="sesame")))
    with pytest.raises(ApiError) as refused:
        client.get("/version")
    assert str(refused.value) == "GET /version: 401: Unauthorized"
    assert len(server.asked) == 2


def test_an_exec_plugin_is_asked_for_the_token(server: ApiServer, kubeconfig: Callable[..., Path], tmp_path: Path) -> None:
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "good"}}
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(credential)}'\n")
    plugin.chmod(0o700)
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(plugin),
            "args": [],
            "interactiveMode": "Never",
        }
    }
    assert connect(str(kubeconfig(**user))).get("/version")["gitVersion"] == "v1.36.3"


def test_a_context_that_is_not_there(kubeconfig: Callable[..., Path]) -> None:
    with pytest.raises(ClusterError) as refused:
        connect(str(kubeconfig(token="good")), "elsewhere")
    assert "no cluster to connect to: Invalid kube-config file. Expected object with name elsewhere" in str(refused.value)


def test_no_configuration_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    with pytest.raises(ClusterError) as refused:
        connect()
    assert str(refused.value) == (
        "no cluster to connect to: Invalid kube-config file. No configuration found. (name a file with --kubeconfig, or run "
        "in a Pod with a ServiceAccount token)"
    )


def test_a_pod_uses_its_service_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ApiServer) -> None:
    from kubernetes.config import incluster_config

    from webhook.kube import connecting

    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("good")
    authority.write_text("a certificate")
    (tmp_path / "namespace").write_text("guard\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(connecting, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(connecting, "_NAMESPACE_FILE", tmp_path / "namespace")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    # Its authority is none, so that only the address can be looked at.
    monkeypatch.setattr("kubernetes.client.rest.RESTClientObject.__init__", lambda self, configuration: None)
    assert connect().where == "https://10.96.0.1:443"
    assert own_namespace("elsewhere") == "guard"


def test_outside_of_a_pod_the_namespace_is_the_usual_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("webhook.kube.connecting._NAMESPACE_FILE", tmp_path / "none")
    assert own_namespace("fallgate-system") == "fallgate-system"


def test_a_server_that_is_not_there() -> None:
    client = Client(lambda: Configuration(host="http://127.0.0.1:1"))
    with pytest.raises(ClusterError, match=r"^no connection: NewConnectionError: "):
        client.get("/version")


def test_an_answer_that_is_no_object(server: ApiServer, client: Client) -> None:
    server.answer = lambda asked: (200, ["a", "list"])
    with pytest.raises(ClusterError, match=r"^GET /x: the answer is no JSON object$"):
        client.get("/x")


def test_the_store_of_certificates(server: ApiServer, client: Client) -> None:
    store = ApiStore(client)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ns"}}
    key = base64.b64encode(b"-----BEGIN PRIVATE KEY-----").decode()
    server.put({**secret, "data": {"tls.key": key}})
    found = store.get("/api/v1/namespaces/ns/secrets/s")
    assert found is not None
    assert found["data"] == {"tls.key": key}
    assert store.get("/api/v1/namespaces/ns/secrets/none") is None
    server.refusing["secrets"] = 409
    with pytest.raises(Conflict):
        store.update("/api/v1/namespaces/ns/secrets/s", found)
    with pytest.raises(Conflict):
        store.create("/api/v1/namespaces/ns/secrets", secret)
    server.refusing["secrets"] = 403
    with pytest.raises(StoreError) as refused:
        store.update("/api/v1/namespaces/ns/secrets/s", found)
    assert str(refused.value) == "PUT /api/v1/namespaces/ns/secrets/s: 403: secrets is refused"
    assert [(asked.method, asked.headers["content-type"]) for asked in server.asked[-3:]] == [
        ("PUT", "application/json"),
        ("POST", "application/json"),
        ("PUT", "application/json"),
    ]
    with pytest.raises(StoreError):
        store.get("/api/v1/namespaces/ns/secrets/s")


@pytest.mark.parametrize("written", ["{ [", "[1]"])
def test_a_kubeconfig_that_is_half_written_is_a_cluster_error_and_not_shown(
    server: ApiServer, kubeconfig: Callable[..., Path], written: str
) -> None:
    path = kubeconfig(token="good")
    client = connect(str(path))
    server.tokens = {"newer"}
    path.write_text(written)
    with pytest.raises(ClusterError, match=r"^the configuration of the client cannot be read") as refused:
        client.get("/version")
    assert written not in str(refused.value)
    kubeconfig(token="newer")
    assert client.get("/version")["gitVersion"] == "v1.36.3"


def test_a_token_that_cannot_be_had_is_a_cluster_error(server: ApiServer) -> None:
    def refresh(_: Configuration) -> None:
        raise RuntimeError("Token file exists but empty.")

    configuration = Configuration(host=server.url)
    configuration.refresh_api_key_hook = refresh
    with pytest.raises(ClusterError, match=r"^no token: RuntimeError: Token file exists but empty\.$"):
        Client(lambda: configuration).get("/version")
