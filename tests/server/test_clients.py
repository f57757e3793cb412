"""Client certificates: who may call, what the others are told, and that probes need none."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trustme

from certs.folder import AUTHORITY, CERTIFICATE, KEY, issue_into
from certs.reload import Reloader, clients_from, from_files
from tests.real_clock import real_now
from tests.server.serving import Parts, Served, review_body, serving_with, trust_of
from webhook.server.clients import client_fault
from webhook.settings import HttpSettings

BODY = json.dumps(review_body()).encode()
NAMES = ("kube-apiserver", "proxy.example.com")
NONE = (
    "this server answers only clients with a certificate, and this one has shown none; kube-apiserver shows one when the "
    "kubeconfig in its --admission-control-config-file names it for this webhook"
)


class Clients:
    """An authority of clients in a file, and clients with certificates of it."""

    def __init__(self, folder: Path) -> None:
        issue_into(folder, ["localhost", "127.0.0.1"], now=real_now())
        self.folder = folder
        self.authority = trustme.CA()
        self.file = folder / "clients.crt"
        self.authority.cert_pem.write_to_path(str(self.file))
        source = from_files(folder / CERTIFICATE, folder / KEY, clients_from(self.file))
        self.reloader = Reloader(source, verify_clients=True)
        assert self.reloader.poll(real_now()).kind == "swapped"

    def trust(self, common_name: str = "", *names: str, authority: trustme.CA | None = None) -> ssl.SSLContext:
        """What a client trusts and shows."""
        context = trust_of(self.folder)
        if common_name:
            (authority or self.authority).issue_cert(*names, common_name=common_name).configure_cert(context)
        return context

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Served]:
        async with serving_with(self.reloader, self.trust(), Parts(http=HttpSettings(client_names=NAMES))) as served:
            yield served


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    return Clients(tmp_path)


async def asked(served: Served, trust: ssl.SSLContext, path: str = "/validate") -> httpx.Response:
    async with httpx.AsyncClient(base_url=f"https://localhost:{served.port}", verify=trust) as client:
        if path == "/validate":
            return await client.post(path, content=BODY, headers={"content-type": "application/json"})
        return await client.get(path)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_api_server_may_call(clients: Clients, version: ssl.TLSVersion) -> None:
    async with clients.serving() as served:
        trust = clients.trust("kube-apiserver", "x.example.com")
        trust.maximum_version = version
        assert (await asked(served, trust)).json()["response"]["allowed"] is True
        assert (await asked(served, clients.trust("somebody", "proxy.example.com"))).status_code == 200
        assert (await asked(served, clients.trust("kube-apiserver", "x.example.com"), "/metrics")).status_code == 200


async def test_others_are_told_why_they_may_not(clients: Clients) -> None:
    async with clients.serving() as served:
        without = await asked(served, clients.trust())
        assert (without.status_code, without.json()["message"], without.json()["reason"]) == (403, NONE, "Forbidden")
        other = await asked(served, clients.trust("kubelet", "node-1"))
        assert (other.status_code, other.json()["message"]) == (
            403,
            "the client's certificate is for kubelet, node-1, and this server answers only kube-apiserver, proxy.example.com",
        )
        assert (await asked(served, clients.trust(), "/metrics")).status_code == 403
        assert served.parts.recorder.refusals == ["client"] * 3
        assert served.parts.decider.asked == []


async def test_certificate_of_another_authority_ends_the_handshake(clients: Clients) -> None:
    async with clients.serving() as served:
        with pytest.raises((httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError)):
            await asked(served, clients.trust("kube-apiserver", "x", authority=trustme.CA()))
        assert served.parts.decider.asked == []


@pytest.mark.parametrize("path", ["/livez", "/healthz", "/readyz"])
async def test_probes_need_no_certificate(clients: Clients, path: str) -> None:
    async with clients.serving() as served:
        assert (await asked(served, clients.trust(), path)).status_code == 200


async def test_refused_call_leaves_the_connection_usable(clients: Clients) -> None:
    async with clients.serving() as served:
        for _ in range(2):
            assert (await served.validate()).status_code == 403
        assert (await served.client.get("/livez")).status_code == 200
        assert served.listener.open_connections == 1


async def test_the_authority_of_clients_may_change(clients: Clients) -> None:
    async with clients.serving() as served:
        old, new = clients.authority, trustme.CA()
        new.cert_pem.write_to_path(str(clients.file))
        assert clients.reloader.poll(real_now()).kind == "swapped"
        assert (await asked(served, clients.trust("kube-apiserver", "x", authority=new))).status_code == 200
        with pytest.raises((httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError)):
            await asked(served, clients.trust("kube-apiserver", "x", authority=old))


async def test_file_without_an_authority_changes_nothing(clients: Clients) -> None:
    async with clients.serving() as served:
        clients.file.write_bytes((clients.folder / CERTIFICATE).read_bytes())
        outcome = clients.reloader.poll(real_now())
        assert (outcome.kind, outcome.message) == (
            "refused",
            f"{clients.file}: there is no certificate of an authority in it, so no client could be verified",
        )
        assert (await asked(served, clients.trust("kube-apiserver", "x"))).status_code == 200


def test_nothing_is_expected_where_no_name_is() -> None:
    assert client_fault(None, ()) == ""
    assert client_fault({}, ("a",)) == NONE
    assert client_fault({"subject": ()}, ("a",)) == "the client's certificate is for nobody, and this server answers only a"


def test_authority_file(tmp_path: Path) -> None:
    issue_into(tmp_path, ["a"], now=real_now())
    assert clients_from(None)() == b""
    assert clients_from(tmp_path / AUTHORITY)() == (tmp_path / AUTHORITY).read_bytes()
