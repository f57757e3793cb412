"""What a folder must hold to be taken for policies, or for a fleet."""

from __future__ import annotations

from pathlib import Path

import pytest

from webhook.errors import InputError
from webhook.run.sources import fleet_loader, load_policies

CHECKS = "apiVersion: fallgate.dev/v1alpha1\nkind: Checks\nmetadata: {name: c}\nspec: {mode: enforce}\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: node}\n"


def test_an_emptied_policy_folder_is_no_policy_set(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no policy file in this folder: nothing would be enforced"):
        load_policies(tmp_path)
    (tmp_path / "p.yaml").write_text("")
    with pytest.raises(InputError, match=r"there is no policy in these files: nothing would be enforced"):
        load_policies(tmp_path)
    (tmp_path / "p.yaml").write_text(CHECKS)
    assert load_policies(tmp_path).description.startswith("1 policy, digest ")


def test_a_fleet_with_a_broken_file_or_without_objects_is_in_doubt(tmp_path: Path) -> None:
    load = fleet_loader(None)
    assert load(tmp_path).doubt.endswith("there is no object in these files")
    (tmp_path / "n.yaml").write_text(NODE)
    assert load(tmp_path).doubt == ""
    (tmp_path / "m.yaml").write_text("a: [1")
    found = load(tmp_path)
    assert found.doubt.startswith("m.yaml:1:") or "m.yaml:" in found.doubt
    assert found.value.nodes.names == ("node",)
