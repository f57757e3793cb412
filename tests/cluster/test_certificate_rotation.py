"""Certificates and replicas come and go under load, and not one admission fails."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator

import pytest
from cryptography import x509

from tests import build
from tests.cluster.fallgate import Fallgate
from tests.cluster.installation import NAMESPACE
from tests.cluster.load import Load, trusted
from tests.cluster.sites import Site
from tests.cluster.waiting import eventually
from tests.cluster.world import H100, World, a100, product

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/loaded/resourceclaims?dryRun=All"


@pytest.fixture(scope="module")
def loaded(site: Site, world: World) -> Iterator[World]:
    """A namespace in which a call that fails is an admission that fails, and a cluster in which every claim gets a list."""
    world.device_class()
    world.node("node-a100", *a100())
    world.namespace("loaded", {"tier": "shared", "mode": "enforce"})
    site.settle()
    yield world
    site.start(alone=True)


def admission(site: Site) -> str:
    """Create a claim (of which nothing is stored). Gives "" when both webhooks have done their work, else what went wrong."""
    claim = build.claim("loaded", build.exactly("gpu", build.NVIDIA, product(H100)), namespace="loaded")
    status, answer = site.plane.rest("ada", "POST", CLAIMS, claim)
    if status != 201:
        return json.dumps(answer)
    return "" if "firstAvailable" in answer["spec"]["devices"]["requests"][0] else "nothing was injected"


def served(replica: Fallgate) -> x509.Certificate:
    """The certificate that a replica shows."""
    return x509.load_pem_x509_certificate(ssl.get_server_certificate(("127.0.0.1", replica.port)).encode())


def rotate(site: Site, what: str) -> None:
    """Ask for a new certificate or a new authority, and wait until every replica shows it."""
    former = {replica.name: served(replica) for replica in replicas(site)}
    annotation = f"fallgate.dev/rotate={what}"
    site.plane.kubectl()("annotate", "secret", "fallgate-certs", "-n", NAMESPACE, "--overwrite", annotation).fine()

    def look() -> bool:
        for replica in replicas(site):
            assert served(replica) != former[replica.name], f"{replica.name} shows the former certificate"
        return True

    eventually(f"all replicas have a new {what}", look, within=60)


def replicas(site: Site) -> list[Fallgate]:
    """Those that run."""
    return [replica for replica in site.installation.replicas if replica.process.running()]


def signer(replica: Fallgate) -> bytes:
    """By whose key the certificate was signed."""
    found = served(replica).extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    return found.value.key_identifier or b""


def two(site: Site) -> None:
    """Two replicas that are ready."""
    while len(replicas(site)) < 2:
        site.start("--certs-settle-seconds=2")


def test_three_rotations_without_a_failed_admission(site: Site, loaded: World) -> None:
    site.start("--certs-settle-seconds=2", alone=True)
    two(site)
    authority = signer(site.fallgate)
    with Load(lambda: admission(site)) as load, Load(lambda: trusted(site), clients=1) as connections:
        rotate(site, "leaf")
        assert signer(site.fallgate) == authority
        rotate(site, "ca")
        assert signer(site.fallgate) != authority
        rotate(site, "leaf")
    assert load.faults == []
    assert connections.faults == []


def test_a_replica_drains_without_a_failed_admission(site: Site, loaded: World) -> None:
    two(site)
    leaving = replicas(site)[0]
    with Load(lambda: admission(site)) as load:
        leaving.process.terminate()
        assert leaving.process.wait(30) == 0
    assert load.faults == []


def test_a_replica_is_killed_and_who_tries_again_succeeds(site: Site, loaded: World) -> None:
    """What was on its way to it is lost, as with every server: the API server does not repeat a call that was cut off."""
    two(site)

    def call() -> str:
        if not admission(site):
            return ""
        time.sleep(1)  # longer than it takes until the Service knows
        return admission(site)

    with Load(call) as load:
        replicas(site)[0].process.kill()
    assert load.faults == []
    two(site)
