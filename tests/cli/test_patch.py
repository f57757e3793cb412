"""`fallgate patch`: manifests as they would be stored, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.build import alternative, claim, exactly, first_available, pod
from webhook.folder.manifests import read_manifests

BASE = ("--policies", "policies", "--fleet", "fleet", "--now", "2027-01-01")
DECLARED = {"fallgate.dev/compatible-shapes": "h100-80gb, 1-2x a100-40gb"}
PLAIN = claim("plain", exactly(), namespace="dev-a", annotations=DECLARED)
DENIED = claim("denied", first_available("gpu", alternative("big", "h100.example.com")))


def test_prints_the_stored_object_and_undo_gives_the_authored_one_back(
    run: Any, write: Callable[..., str], folder: Path
) -> None:
    result = run("patch", write("in.yaml", PLAIN, pod("other")), *BASE)
    assert result.exit_code == 0
    assert result.stdout.startswith("---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: plain\n")
    stored, other = yaml.safe_load_all(result.stdout)
    names = [item["name"] for item in stored["spec"]["devices"]["requests"][0]["firstAvailable"]]
    assert names == ["requested", "a100-pair"]
    assert other == pod("other")
    (folder / "stored.yaml").write_text(result.stdout)
    undone = run("patch", "--undo", "stored.yaml")
    assert undone.exit_code == 0
    assert list(yaml.safe_load_all(undone.stdout)) == [PLAIN, pod("other")]


def test_a_denied_object_is_not_printed(run: Any, write: Callable[..., str]) -> None:
    result = run("patch", write("in.yaml", DENIED, PLAIN), *BASE)
    assert result.exit_code == 1
    assert [item["metadata"]["name"] for item in yaml.safe_load_all(result.stdout)] == ["plain"]
    first, second, *_ = result.stderr.splitlines()
    assert first == "denied: in.yaml:1: ResourceClaim team-a/denied is denied"
    assert second == ('ResourceClaim "denied" may hand out devices that its owner has not declared the program can run on')


def test_diff_shows_only_what_changes(run: Any, write: Callable[..., str]) -> None:
    result = run("patch", write("in.yaml", PLAIN, pod("other")), *BASE, "--diff")
    lines = result.stdout.splitlines()
    assert lines[:2] == ["ResourceClaim plain", "  metadata.annotations"]
    assert lines[3:6] == ['  spec.devices.requests[0] "gpu"', "    - exactly:", "    -   deviceClassName: gpu.nvidia.com"]
    assert not any("other" in line for line in lines)


def test_diff_of_undo_is_the_way_back(run: Any, write: Callable[..., str], folder: Path) -> None:
    (folder / "stored.yaml").write_text(run("patch", write("in.yaml", PLAIN), *BASE).stdout)
    lines = run("patch", "--undo", "--diff", "stored.yaml").stdout.splitlines()
    assert lines[-2:] == ["    + exactly:", "    +   deviceClassName: gpu.nvidia.com"]


def test_json_is_one_object_a_line(run: Any, write: Callable[..., str]) -> None:
    result = run("patch", write("in.yaml", pod("a"), pod("b")), *BASE, "-o", "json")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [pod("a"), pod("b")]


def test_unknown_fields_and_odd_texts_survive(run: Any, folder: Path) -> None:
    odd = pod("odd", meta={"annotations": {"a": "1e3", "b": "y", "c": "0x1f", "d": "two\nlines\n", "e": "2027-01-01"}})
    odd["spec"]["somethingNew"] = {"x": [1, 1.5, None, True, "on"]}
    (folder / "in.json").write_text(json.dumps(odd))
    printed = run("patch", "in.json", *BASE).stdout
    # As kubectl would read it again.
    assert [found.raw for found in read_manifests(printed, "printed").objects] == [odd]
    assert "a: '1e3'" in printed


def test_diff_and_data_formats_exclude_each_other(run: Any, write: Callable[..., str]) -> None:
    result = run("patch", write("in.yaml", PLAIN), *BASE, "--diff", "-o", "json")
    assert result.exit_code == 2
    assert "--diff is text for people" in result.stderr


def test_undo_takes_no_admission_reviews(run: Any, write: Callable[..., str]) -> None:
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}
    result = run("patch", "--undo", write("in.yaml", review))
    assert (result.exit_code, result.stderr) == (2, "error: --undo takes manifests, not AdmissionReviews\n")


def test_undo_says_when_a_record_cannot_be_read(run: Any, write: Callable[..., str]) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "annotations": {"fallgate.dev/injected": "broken"}},
        "spec": {"devices": {"requests": []}},
    }
    result = run("patch", "--undo", write("in.yaml", claim))
    assert yaml.safe_load(result.stdout) == claim
    assert result.exit_code == 2
    assert (
        result.stderr
        == "error: in.yaml:1: fallgate.dev/injected cannot be read, or does not fit the object: it stays as it is\n"
    )
