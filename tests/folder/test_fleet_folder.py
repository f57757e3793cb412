"""A folder of manifests as a fleet."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from webhook.errors import FleetError
from webhook.folder.fleet_folder import FolderReading, read_fleet_folder
from webhook.model.server_version import Server

CASES = Path(__file__).parents[1] / "cases" / "manifests"


def manifest(kind: str, name: str, namespace: str = "", more: str = "") -> str:
    """A manifest of four lines or more."""
    space = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}{space}}}\n{more}"


def write(folder: Path, **files: str | bytes) -> None:
    """Files by their names, `__` for a dot and `_in_` for a slash."""
    for name, content in files.items():
        path = folder / name.replace("__", ".").replace("_in_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def names(reading: FolderReading) -> list[str]:
    """kind/name of the objects, in their order."""
    return [f"{item.raw['kind']}/{item.raw['metadata']['name']}" for item in reading.objects]


def messages(reading: FolderReading) -> list[str]:
    """The problems as a terminal would print them."""
    return [f"{problem.source}:{problem.line}: {problem.message}" for problem in reading.problems]


def test_all_manifests_below_a_folder_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(
        tmp_path,
        b__yaml=manifest("Node", "b"),
        a__yml=manifest("Node", "a"),
        sub_in_deep_in_c__json=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "c"}}),
        sub_in_d__yaml__gz=gzip.compress(manifest("Node", "d").encode()),
        README__md="# not a manifest",
        notes__txt="kind: Node",
    )
    reading = read_fleet_folder(tmp_path)
    assert names(reading) == ["Node/a", "Node/b", "Node/d", "Node/c"]
    assert [item.source for item in reading.objects] == ["a.yml", "b.yaml", "sub/d.yaml.gz", "sub/deep/c.json"]
    assert (reading.problems, reading.server) == ((), None)


def test_one_file_is_a_fleet_too(tmp_path: Path) -> None:
    write(tmp_path, dump__yaml=manifest("Node", "a"))
    reading = read_fleet_folder(tmp_path / "dump.yaml")
    assert names(reading) == ["Node/a"]
    assert reading.objects[0].source == "dump.yaml"


def test_the_later_of_two_objects_counts_and_both_places_are_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        a__yaml=manifest("Pod", "p", "team-a", "old: 1\n") + "---\n" + manifest("Pod", "p", "team-b"),
        b__yaml="---\n".join([manifest("Node", "m"), manifest("Pod", "p", "team-a", "new: 1\n"), manifest("Node", "m")]),
    )
    reading = read_fleet_folder(tmp_path)
    assert names(reading) == ["Pod/p", "Pod/p", "Node/m"]
    assert "new" in reading.objects[1].raw
    assert messages(reading) == [
        "b.yaml:5: Pod team-a/p is also at a.yaml:1: the later one counts",
        "b.yaml:10: Node m is also at b.yaml:1: the later one counts",
    ]
    assert all(problem.warning for problem in reading.problems)


def test_api_versions_of_one_object_are_one_object(tmp_path: Path) -> None:
    slice_ = "apiVersion: resource.k8s.io/{}\nkind: ResourceSlice\nmetadata: {{name: s}}\n"
    write(tmp_path, a__yaml=slice_.format("v1beta1"), b__yaml=slice_.format("v1"))
    reading = read_fleet_folder(tmp_path)
    assert [item.raw["apiVersion"] for item in reading.objects] == ["resource.k8s.io/v1"]
    assert messages(reading) == ["b.yaml:1: ResourceSlice s is also at a.yaml:1: the later one counts"]


def test_bad_files_and_objects_are_reported_and_the_rest_is_used(tmp_path: Path) -> None:
    write(
        tmp_path,
        a__yaml="kind: [\n",
        b__yaml=manifest("Node", "b") + "---\napiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n",
        c__json="{",
        d__yaml__gz=b"not gzip: but: yaml",
        e__yaml=manifest("Node", "e"),
    )
    reading = read_fleet_folder(tmp_path)
    assert names(reading) == ["Node/b", "Node/e"]
    assert [problem.source for problem in reading.problems] == ["a.yaml", "b.yaml", "c.json", "d.yaml.gz"]
    assert messages(reading)[1] == "b.yaml:5: this Pod has no metadata.name"


def test_hidden_names_are_passed_over_and_links_followed(tmp_path: Path) -> None:
    # What a mounted ConfigMap looks like.
    write(tmp_path, __2027_in_a__yaml=manifest("Node", "a"), __hidden__yaml=manifest("Node", "hidden"))
    (tmp_path / "..data").symlink_to(tmp_path / ".2027")
    (tmp_path / "a.yaml").symlink_to(Path("..data", "a.yaml"))
    (tmp_path / "loop").symlink_to(tmp_path)
    assert names(read_fleet_folder(tmp_path)) == ["Node/a"]


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    write(tmp_path, a__yaml=manifest("Node", "a"))
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    reading = read_fleet_folder(tmp_path)
    assert names(reading) == ["Node/a"]
    assert messages(reading) == ["gone.yaml:0: this file cannot be read: no such file or directory"]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(FleetError) as caught:
        read_fleet_folder(tmp_path / "missing")
    assert str(caught.value) == f"{tmp_path}/missing: no such folder or file"


def test_an_empty_folder_is_an_empty_fleet(tmp_path: Path) -> None:
    assert read_fleet_folder(tmp_path) == FolderReading()


def test_progress_is_told_after_every_file(tmp_path: Path) -> None:
    write(tmp_path, a__yaml=manifest("Node", "a") + "---\n" + manifest("Node", "b"), b__yaml=manifest("Node", "c"))
    told: list[int] = []
    read_fleet_folder(tmp_path, progress=told.append)
    assert told == [2, 3]


def test_typed_lists_tell_what_was_looked_at(tmp_path: Path) -> None:
    write(tmp_path, a__json='{"apiVersion": "v1", "kind": "PodList", "items": []}')
    assert read_fleet_folder(tmp_path).listed_kinds == {"Pod"}


SERVER = "apiVersion: fallgate.dev/v1alpha1\nkind: Server\n"


def test_a_folder_names_its_server(tmp_path: Path) -> None:
    spec = 'spec: {version: "1.35", featureGates: {DRAExtendedResource: true}}\n'
    write(tmp_path, server__yaml=SERVER + spec, a__yaml=manifest("Node", "a"))
    reading = read_fleet_folder(tmp_path)
    assert reading.server == Server(version=(1, 35), gates={"DRAExtendedResource": True})
    assert names(reading) == ["Node/a"]
    assert reading.problems == ()


def test_of_two_servers_the_later_counts(tmp_path: Path) -> None:
    write(tmp_path, a__yaml=SERVER + 'spec: {version: "1.34"}\n', b__yaml=SERVER + 'spec: {version: "1.36"}\n')
    reading = read_fleet_folder(tmp_path)
    assert reading.server == Server(version=(1, 36))
    assert messages(reading) == ["b.yaml:1: another Server is at a.yaml:1: the later one counts"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("spec: {version: 1.30}", 'spec.version must be text, in quotes: version: "1.36"'),
        ('spec: {version: "latest"}', "spec.version: 'latest' is no Kubernetes version; write it as 1.36"),
        ("spec: {}", 'spec.version must be text, in quotes: version: "1.36"'),
        (
            'spec: {version: "1.36", featureGates: {DRAAdmin: 1}}',
            "spec.featureGates.DRAAdmin must be true or false",
        ),
        ('spec: {version: "1.36", gates: {}}', "unknown key spec.gates; known are version, featureGates"),
        ('version: "1.36"\nspec: {version: "1.36"}', "unknown key version; known are apiVersion, kind, metadata, spec"),
    ],
)
def test_mistakes_in_a_server_document(tmp_path: Path, spec: str, message: str) -> None:
    write(tmp_path, server__yaml=SERVER + spec + "\n")
    assert messages(read_fleet_folder(tmp_path)) == [f"server.yaml:1: {message}"]


def test_a_server_document_that_is_no_mapping(tmp_path: Path) -> None:
    write(tmp_path, server__yaml=SERVER + "spec: []\n")
    assert messages(read_fleet_folder(tmp_path)) == [
        "server.yaml:1: spec must be a mapping",
        'server.yaml:1: spec.version must be text, in quotes: version: "1.36"',
    ]


def test_the_manifests_of_ten_drivers_are_a_fleet() -> None:
    reading = read_fleet_folder(CASES)
    assert messages(reading) == [
        "dranet/slice-aws-efa.yaml:5: ResourceSlice node-a100-dra.net-0 is also at dranet/slice-aws-efa-only.yaml:4: "
        "the later one counts"
    ]
    assert len(reading.objects) == 68
