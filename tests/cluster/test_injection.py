"""The list of a namespace's tier goes into claims, and nobody who keeps applying a manifest notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from tests import build
from tests.cluster.kubectl import Kubectl, Raw
from tests.cluster.sites import Site
from tests.cluster.world import H100, World, a100, allocated, claim_of, product, scheduled

INJECTED = "fallgate.dev/injected"


def claim(namespace: str, name: str = "by-hand", version: str = "v1", **meta: Any) -> Raw:
    """A plain ask of one H100."""
    return build.claim(name, build.exactly("gpu", build.NVIDIA, product(H100)), namespace=namespace, version=version, **meta)


def template(namespace: str, name: str = "one-h100", version: str = "v1", **meta: Any) -> Raw:
    """A template of the same."""
    return build.template(name, build.exactly("gpu", build.NVIDIA, product(H100)), namespace=namespace, version=version, **meta)


def pod(namespace: str, name: str, **claims: Any) -> Raw:
    """A pod with one claim."""
    return build.pod(name, build.container(claims=["gpu"], image="registry.example.com/app:1"), namespace=namespace, **claims)


def alternatives(thing: Raw) -> list[str]:
    """The names of the alternatives that are stored."""
    spec = thing["spec"].get("spec", thing["spec"])
    return [item["name"] for item in spec["devices"]["requests"][0].get("firstAvailable", [])]


@pytest.fixture(scope="module")
def cards(any_site: Site, any_world: World) -> World:
    """No H100 is left, only a node with four A100s. In `shared` claims get a list, in `git` templates too."""
    any_world.device_class()
    any_world.node("node-a100", *a100("gpu-0", "gpu-1", "gpu-2", "gpu-3"))
    any_world.namespace("shared", {"tier": "shared"})
    any_world.namespace("git", {"tier": "git"})
    any_site.settle()
    return any_world


# Pods run, though the first shape is gone.


def needs_scheduler(world: World) -> None:
    """Skips on releases of which only the API server runs."""
    if not world.plane.full:
        pytest.skip("no scheduler of this release here")


def test_a_generated_claim_gets_the_list_and_the_pod_the_fallback(cards: World) -> None:
    needs_scheduler(cards)
    ada = cards.plane.kubectl("ada")
    announced = ada.create(template("shared")).fine().warnings
    assert len(announced) == 1
    assert "a100-pair" in announced[0]
    ada.create(pod("shared", "generated", templates={"gpu": "one-h100"})).fine()
    assert scheduled(ada, "shared", "generated") == "node-a100"
    made = claim_of(ada, "shared", "generated")
    assert alternatives(made) == ["requested", "a100-pair"]
    assert [request for request, _ in allocated(made)] == ["gpu/a100-pair", "gpu/a100-pair"]
    assert alternatives(ada.get("resourceclaimtemplate", "one-h100", "-n", "shared")) == []


def test_a_claim_made_by_hand_gets_the_list_and_the_pod_the_fallback(cards: World) -> None:
    needs_scheduler(cards)
    ada = cards.plane.kubectl("ada")
    ada.create(claim("shared", "for-pod")).fine()
    ada.create(pod("shared", "by-claim", claims={"gpu": "for-pod"})).fine()
    assert scheduled(ada, "shared", "by-claim") == "node-a100"
    given = allocated(ada.get("resourceclaim", "for-pod", "-n", "shared"))
    assert [request for request, _ in given] == ["gpu/a100-pair", "gpu/a100-pair"]


def test_a_template_gets_the_list_where_the_policy_says_so(cards: World) -> None:
    ada = cards.plane.kubectl("ada")
    ada.create(template("git", "once")).fine()
    assert alternatives(ada.get("resourceclaimtemplate", "once", "-n", "git")) == ["requested", "a100-pair"]
    ada("delete", "resourceclaimtemplate", "once", "-n", "git").fine()


@pytest.mark.parametrize("make", [claim, template])
def test_an_author_who_opts_out_gets_what_was_written(cards: World, make: Callable[..., Raw]) -> None:
    ada = cards.plane.kubectl("ada")
    made = make("git", "opted-out", annotations={"fallgate.dev/fallback": "none"})
    ada.create(made).fine()
    assert alternatives(ada.get(made["kind"], "opted-out", "-n", "git")) == []


def test_a_forged_record_is_taken_off(cards: World) -> None:
    ada = cards.plane.kubectl("ada")
    forged = '{"requests":[{"name":"gpu","policy":"shared-gpus@0000000","exactly":{},"author":"requested","added":[]}]}'
    ada.create(claim("shared", "forged", annotations={INJECTED: forged, "fallgate.dev/fallback": "none"})).fine()
    assert INJECTED not in ada.get("resourceclaim", "forged", "-n", "shared")["metadata"]["annotations"]


def test_a_dry_run_shows_the_list_and_stores_nothing(cards: World) -> None:
    ada = cards.plane.kubectl("ada")
    said = ada.apply(claim("shared", "dry"), "--dry-run=server", "-o", "yaml").fine()
    assert alternatives(yaml.safe_load(said.out)) == ["requested", "a100-pair"]
    assert ada("get", "resourceclaim", "dry", "-n", "shared").code == 1


# Applying a manifest again, in every way and whatever has happened since.


@dataclass(frozen=True)
class Kept:
    """A manifest somebody keeps in git, and what is stored of it."""

    ada: Kubectl
    manifest: Raw
    stored: Raw

    def now(self) -> Raw:
        """What is stored now."""
        meta = self.manifest["metadata"]
        return self.ada.get(f"{self.manifest['kind']}.v1.resource.k8s.io", meta["name"], "-n", meta["namespace"])

    def beta(self) -> Raw:
        """The manifest in v1beta1."""
        make = claim if self.manifest["kind"] == "ResourceClaim" else template
        return make(self.manifest["metadata"]["namespace"], self.manifest["metadata"]["name"], "v1beta1")


def apply_twice(kept: Kept) -> None:
    """Client-side apply; the second time it says that nothing changed."""
    kept.ada.apply(kept.manifest).fine()
    kept.ada.apply(kept.manifest).fine()


def apply_server_side_twice(kept: Kept) -> None:
    """Server-side apply, as GitOps tools do it."""
    options = ("--server-side", "--field-manager=argocd", "--force-conflicts")
    kept.ada.apply(kept.manifest, *options).fine()
    kept.ada.apply(kept.manifest, *options).fine()


def diff(kept: Kept) -> None:
    """Each diff after its own kind of apply finds nothing: exit status 0."""
    for options in ((), ("--server-side", "--force-conflicts")):
        kept.ada.apply(kept.manifest, *options).fine()
        said = kept.ada("diff", "-f", "-", *options, stdin=kept.manifest)
        assert said.code == 0, said


def replace(kept: Kept) -> None:
    """A whole new object under the old name, without the annotations that others put on it."""
    kept.ada("replace", "-f", "-", stdin=kept.manifest).fine()


def apply_beta(kept: Kept) -> None:
    """The manifest is of an older API version."""
    kept.ada.apply(kept.beta()).fine()
    kept.ada.apply(kept.beta(), "--server-side", "--force-conflicts").fine()


def dry_run(kept: Kept) -> None:
    """What a pipeline does before it applies."""
    kept.ada.apply(kept.manifest, "--dry-run=server").fine()


WAYS = [apply_twice, apply_server_side_twice, diff, replace, apply_beta, dry_run]


@pytest.fixture(scope="module")
def kept(cards: World) -> dict[str, Kept]:
    """A claim and a template that were applied once and got a list."""
    found = {}
    for kind, manifest in (("claim", claim("shared", "kept")), ("template", template("git", "kept"))):
        ada = cards.plane.kubectl("ada")
        ada.apply(manifest).fine()
        one = Kept(ada, manifest, {})
        found[kind] = Kept(ada, manifest, one.now())
        assert alternatives(found[kind].stored) == ["requested", "a100-pair"]
    return found


def unchanged(site: Site) -> AbstractContextManager[None]:
    """As it was when the objects were made."""
    return nullcontext()


def longer_list(site: Site) -> AbstractContextManager[None]:
    """The tier's list has other alternatives today."""
    return site.policies(lists=lambda text: text.replace("a100-pair", "pair-of-a100"))


def no_policy(site: Site) -> AbstractContextManager[None]:
    """The tier has no list any more."""
    return site.policies(lists=lambda text: "")


def audit_mode(site: Site) -> AbstractContextManager[None]:
    """The policies only watch."""
    return site.policies(lists=lambda text: text.replace("spec:\n  tier", "spec:\n  mode: audit\n  tier"))


def capped(site: Site) -> AbstractContextManager[None]:
    """Somebody has pulled the brake."""
    return site.capped("audit")


SITUATIONS = [unchanged, longer_list, audit_mode, no_policy, capped]


@pytest.fixture(scope="module", params=SITUATIONS, ids=lambda situation: situation.__name__)
def situation(request: pytest.FixtureRequest, any_site: Site, kept: dict[str, Kept]) -> Iterator[str]:
    """What has happened since the objects were stored."""
    with request.param(any_site):
        yield request.param.__name__


@pytest.mark.parametrize("kind", ["claim", "template"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_manifest_applied_again_changes_nothing(
    situation: str, kept: dict[str, Kept], way: Callable[[Kept], None], kind: str
) -> None:
    thing = kept[kind]
    way(thing)
    now = thing.now()
    assert now["spec"] == thing.stored["spec"]
    assert now["metadata"]["annotations"][INJECTED] == thing.stored["metadata"]["annotations"][INJECTED]
