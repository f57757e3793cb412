"""Globs over model names."""

from __future__ import annotations

import pytest

from webhook.rulekit.shapes.globs import could_share_a_name, is_glob


@pytest.mark.parametrize(
    ("pattern", "expected"), [("a100-40gb", False), ("a100-*", True), ("a100-?0gb", True), ("a[12]00", True), ("", False)]
)
def test_a_glob_has_a_wildcard(pattern: str, expected: bool) -> None:
    assert is_glob(pattern) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a100-40gb", "a100-40gb", True),
        ("a100-40gb", "a100-80gb", False),
        ("a100", "a100-40gb", False),
        ("a100-40gb", "a100", False),
        ("a100-*", "a100-40gb", True),
        ("a100-40gb", "a100-*", True),
        ("a100-*", "h100-40gb", False),
        ("a100-*", "a100-mig-*", True),
        ("*-80gb", "a100-*", True),
        ("*-80gb", "a100-*-40gb", False),
        ("a*c", "ab*", True),
        ("a*c", "ab*d", False),
        ("*", "*", True),
        ("*", "", True),
        ("", "a", False),
        ("", "", True),
        ("a**b", "ab", True),
        ("a100-?0gb", "a100-40gb", True),
        ("a100-?0gb", "a100-400gb", False),
        ("a100-?0gb", "a100-?1gb", False),
        ("a[12]00", "a100", True),
        ("a[12]00", "a1100", False),
        ("a[12]00", "a?00", True),
        ("mig-*b", "mig-1g*", True),
        ("x*y*z", "xyz", True),
        ("x*y*z", "xz", False),
        ("*x", "y*", True),
        ("*a", "*b", False),
    ],
)
def test_two_globs_meet_when_a_name_fits_both(one: str, other: str, expected: bool) -> None:
    assert could_share_a_name(one, other) is expected
    assert could_share_a_name(other, one) is expected
