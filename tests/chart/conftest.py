"""What the tests of the chart share."""

from __future__ import annotations

import pytest

from tests.chart.helms import Helm, found

HELMS = found()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `helm` runs with every Helm of this machine, and is skipped where there is none."""
    if "helm" in metafunc.fixturenames:
        missing = pytest.param(
            None, id="no-helm", marks=pytest.mark.skip(reason="no helm here: install one, or run `make chart` with Go")
        )
        metafunc.parametrize("helm", [pytest.param(helm, id=str(helm)) for helm in HELMS] or [missing])


@pytest.fixture
def any_helm() -> Helm:
    """One Helm, the newest there is."""
    if not HELMS:
        pytest.skip("no helm here: install one, or run `make chart` with Go")
    return HELMS[-1]
