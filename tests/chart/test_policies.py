"""What the chart mounts is a policy set: packs, files and caps, read as the program reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.chart.helms import Helm, objects
from tests.chart.rendered import Rendered, every, rendered
from webhook.folder.policy_files import PolicyFile
from webhook.policyfile import parse_policies_with_warnings
from webhook.rulekit.policies import PolicySet

everywhere = pytest.mark.parametrize("chart", every(), ids=str)


def mounted(chart: Rendered) -> dict[str, str]:
    """The files of the chart's own ConfigMap."""
    (found,) = [item for item in chart.all("ConfigMap") if item["metadata"]["name"] == "fallgate-policies"]
    files: dict[str, str] = found["data"]
    return files


def policies(chart: Rendered) -> PolicySet:
    """What they come to."""
    loaded, warnings = parse_policies_with_warnings([PolicyFile(name, text.encode()) for name, text in mounted(chart).items()])
    assert warnings == ()
    return loaded


@everywhere
def test_what_is_mounted_is_a_policy_set(chart: Rendered) -> None:
    assert policies(chart).holds_anything


def test_the_files_of_the_values() -> None:
    assert list(mounted(rendered("default"))) == [
        f"pack-{name}.yaml" for name in ("starter", "nvidia", "amd", "intel", "google-tpu")
    ]
    assert list(mounted(rendered("production"))) == ["pack-nvidia.yaml", "research.yaml", "caps.yaml"]
    assert (
        mounted(rendered("production"))["research.yaml"] == rendered("production").values["policies"]["files"]["research.yaml"]
    )


def test_a_pack_is_as_it_is_but_for_its_cap() -> None:
    """`mode` is the place for caps: the starter's own would hold back mode: enforce."""
    loaded = policies(rendered("default"))
    assert [policy.header.name for policy in loaded.fallback_compatibility] == ["declared-fallbacks"]
    assert [policy.header.name for policy in loaded.checks] == ["catalogue"]
    assert loaded.mode_caps == ()


@pytest.mark.parametrize(
    ("name", "caps"),
    [
        ("default", []),  # --audit-only caps it
        ("cert-manager", [("warn", "", None)]),
        ("outside", []),
        ("production", [("warn", "device-ownership", datetime(2027, 3, 2, tzinfo=UTC))]),
    ],
)
def test_caps(name: str, caps: list[tuple[str, str, datetime | None]]) -> None:
    found = [(cap.mode, cap.rule, cap.until) for cap in policies(rendered(name)).mode_caps]
    assert [(mode, rule) for mode, rule, _ in found] == [(mode, rule) for mode, rule, _ in caps]
    for (_, _, until), (_, _, wanted) in zip(found, caps, strict=True):
        assert until is None if wanted is None else until is not None and abs((wanted - until).total_seconds()) <= 1


def test_every_config_map_has_a_folder_of_its_own() -> None:
    pod = rendered("production").one("Deployment")["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume}
    mounts = {
        volumes[mount["name"]]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"] if mount["name"] in volumes
    }
    assert mounts == {
        "fallgate-policies": "/etc/fallgate/policies/chart",
        "team-policies": "/etc/fallgate/policies/team-policies",
        "exemptions": "/etc/fallgate/policies/exemptions",
        "apiserver-ca": "/etc/fallgate/client-ca",
    }
    assert rendered("production").arguments["policies"] == "/etc/fallgate/policies"


def test_a_file_that_begins_with_spaces_is_taken_as_it_is(helm: Helm) -> None:
    text = "  # indented\n # less\nkind: x\n"
    chart = objects(helm.template({"policies": {"files": {"a.yaml": text}}}))
    assert [item["data"]["a.yaml"] for item in chart if item["kind"] == "ConfigMap"] == [text]
