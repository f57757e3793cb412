"""Everything that is made from the chart is as the chart makes it now. Without a helm only the packs can be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.helms import CHART, Helm
from tests.chart.regenerate import GOLDEN, PACKS, golden, manifests, packs, value_sets

VALUE_SETS = value_sets()


def test_the_chart_has_the_packs_and_no_others() -> None:
    assert {path.name: path.read_text() for path in PACKS.iterdir()} == {path.name: text for path, text in packs()}


def test_every_pack_may_be_named_in_the_values() -> None:
    assert {path.stem for path, _ in packs()} == {"amd", "google-tpu", "intel", "nvidia", "starter"}


@pytest.mark.parametrize("name", VALUE_SETS)
def test_golden(helm: Helm, name: str) -> None:
    """Both Helms make the same of the chart. `make chart` writes the files anew."""
    assert golden(helm, name, VALUE_SETS[name]) == (GOLDEN / f"{name}.yaml").read_text()


def test_every_golden_file_has_values() -> None:
    files = {path.name for path in GOLDEN.iterdir()}
    assert files == {f"{name}{suffix}" for name in VALUE_SETS for suffix in (".yaml", ".values.yaml")}


def test_plain_manifests(helm: Helm) -> None:
    written = {path: path.read_text() for path, _ in manifests(helm)}
    assert written == dict(manifests(helm))


def test_lint(helm: Helm) -> None:
    assert helm.lint() == ""


def test_nothing_in_the_chart_is_left_over() -> None:
    """What .helmignore does not keep out is in the package that people download."""
    known = {".helmignore", "Chart.yaml", "README.md", "values.yaml", "values.schema.json", "templates", "packs", "dashboards"}
    assert {path.name for path in Path(CHART).iterdir()} == known
