"""Versions and feature gates."""

from __future__ import annotations

import pytest

from webhook.model.server_version import NEWEST_KNOWN, Server, read_version


@pytest.mark.parametrize(
    ("written", "version"),
    [
        ("1.36", (1, 36)),
        ("v1.36.3", (1, 36)),
        ("1.36+", (1, 36)),
        (" 1.34 ", (1, 34)),
        ("v1.33.4-gke.1036000", (1, 33)),
        ("v1.35.0-eks-a1b2c3", (1, 35)),
        ("1.36.0+k3s1", (1, 36)),
    ],
)
def test_versions_as_clusters_print_them(written: str, version: tuple[int, int]) -> None:
    assert read_version(written) == version


@pytest.mark.parametrize("written", ["", "36", "1", "1.x", "1.36x", "one.two", "1.36 or so", "1.99999", "१.३६"])
def test_what_is_no_version(written: str) -> None:
    with pytest.raises(ValueError, match=r"is no Kubernetes version; write it as 1\.36"):
        read_version(written)


@pytest.mark.parametrize(
    ("minor", "lists", "extended"),
    [(33, False, False), (34, True, False), (35, True, False), (36, True, True), (37, True, True)],
)
def test_defaults_of_a_release(minor: int, lists: bool, extended: bool) -> None:
    server = Server(version=(1, minor))
    assert (server.minor, server.prioritized_lists, server.extended_resources) == (minor, lists, extended)


def test_a_gate_set_by_hand_counts_until_it_is_locked() -> None:
    assert Server(version=(1, 33), gates={"DRAPrioritizedList": True}).prioritized_lists
    assert not Server(version=(1, 36), gates={"DRAPrioritizedList": False}).prioritized_lists
    assert Server(version=(1, 37), gates={"DRAPrioritizedList": False}).prioritized_lists
    assert not Server(version=(1, 37)).enabled("NoSuchGate")
    assert Server(version=(1, 20), gates={"NoSuchGate": True}).enabled("NoSuchGate")


def test_the_newest_known_is_assumed() -> None:
    assert Server().version == NEWEST_KNOWN
    assert str(Server(version=(1, 36))) == "1.36"
