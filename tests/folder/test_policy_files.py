"""The files of a policy folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.errors import InputError
from webhook.folder.policy_files import PolicyFile, read_policy_files


def test_yaml_files_in_the_order_of_their_paths_without_tests(tmp_path: Path) -> None:
    (tmp_path / "nvidia").mkdir()
    for name in ("z.yaml", "a.yml", "nvidia/policy.yaml", "nvidia/tests.yaml", "schema.json", "README.md", ".hidden.yaml"):
        (tmp_path / name).write_text(name)
    assert read_policy_files(tmp_path) == (
        PolicyFile("a.yml", b"a.yml"),
        PolicyFile("nvidia/policy.yaml", b"nvidia/policy.yaml"),
        PolicyFile("z.yaml", b"z.yaml"),
    )


def test_a_fleet_beside_tests_holds_no_policies(tmp_path: Path) -> None:
    (tmp_path / "nvidia" / "fleet").mkdir(parents=True)
    (tmp_path / "fleet").mkdir()
    names = ("nvidia/tests.yaml", "nvidia/policy.yaml", "nvidia/fleet/h100.yaml", "fleet/policy.yaml")
    for name in names:
        (tmp_path / name).write_text("x")
    assert [file.name for file in read_policy_files(tmp_path)] == ["fleet/policy.yaml", "nvidia/policy.yaml"]
    assert [file.name for file in read_policy_files(tmp_path / "nvidia")] == ["policy.yaml"]


def test_one_file(tmp_path: Path) -> None:
    (tmp_path / "tests.yaml").write_text("x")
    assert read_policy_files(tmp_path / "tests.yaml") == (PolicyFile("tests.yaml", b"x"),)


def test_an_empty_folder_holds_no_policies(tmp_path: Path) -> None:
    assert read_policy_files(tmp_path) == ()


def test_what_is_said_when_there_is_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_policy_files(tmp_path / "missing")
    assert str(caught.value) == f"{tmp_path}/missing: no such policy folder or file"


def test_part_of_a_set_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError) as caught:
        read_policy_files(tmp_path)
    assert str(caught.value) == f"{tmp_path}/gone.yaml: cannot be read: no such file or directory"
