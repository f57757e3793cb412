"""One control plane for the whole session, Fallgate installed on it; a file's objects are taken out when it is through."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.binaries import FULL, ProgramMissing, chosen_versions, why_not
from tests.cluster.sites import Site, open_site
from tests.cluster.world import World

_REPORTS = pytest.StashKey[bool]()


class Sites:
    """A site for each release, opened when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self.open: dict[str, Site] = {}
        self._failed: dict[str, BaseException] = {}

    def of(self, version: str) -> Site:
        """The site of that release, which is opened once. Skips the test when its programs are not there."""
        if version in self._failed:
            raise self._failed[version]
        if version not in self.open:
            try:
                self.open[version] = self._stack.enter_context(open_site(version, self._folder / version))
            except ProgramMissing as missing:
                pytest.skip(str(missing))
            except Exception as failed:
                self._failed[version] = failed
                raise
        return self.open[version]

    def close(self) -> None:
        """End everything."""
        self._stack.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without Go and without ready programs nothing here can run: say so."""
    if reason := why_not():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of every log."""
    report = yield
    sites = item.session.stash.get(_SITES, None)
    if report.failed and sites is not None:
        for version, site in sites.open.items():
            for name, text in site.logs():
                report.sections.append((f"{version}: end of the log of {name}", text))
    return report


_SITES = pytest.StashKey[Sites]()


@pytest.fixture(scope="session")
def sites(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Sites]:
    """The sites of this session."""
    made = request.session.stash[_SITES] = Sites(tmp_path_factory.mktemp("cluster"))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def site(sites: Sites) -> Site:
    """The release that runs in full."""
    if FULL not in chosen_versions():
        pytest.skip(f"{FULL} is not among FALLGATE_CLUSTER_VERSIONS")
    found = sites.of(FULL)
    if not found.plane.full:
        pytest.skip("kube-scheduler and kube-controller-manager are not in KUBEBUILDER_ASSETS")
    return found


@pytest.fixture(scope="session", params=[pytest.param(version, id=version) for version in chosen_versions()])
def any_site(sites: Sites, request: pytest.FixtureRequest) -> Site:
    """Every release, for what only the API server takes part in."""
    return sites.of(request.param)


@pytest.fixture(scope="module")
def world(site: Site) -> Iterator[World]:
    """The objects of a test file on the full release."""
    made = World(site.plane)
    try:
        yield made
    finally:
        made.clear()


@pytest.fixture(scope="module")
def any_world(any_site: Site) -> Iterator[World]:
    """The same on every release."""
    made = World(any_site.plane)
    try:
        yield made
    finally:
        made.clear()
