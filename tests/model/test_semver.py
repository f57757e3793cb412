"""Semantic versions: strict reading, and the order of semver.org."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.model.semver import Semver, cached_semver, normalized_semver, parse_semver


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0",
        "1.2.3",
        "10.20.30",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-0.3.7",
        "1.0.0-x-y-z.-",
        "1.0.0+20130313",
        "1.0.0-rc.1+b.01",
    ],
)
def test_versions(text: str) -> None:
    assert str(parse_semver(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.x.3", 'Invalid character(s) found in minor number "x"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        ("1..3", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("18446744073709551616.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-é", 'Invalid character(s) found in prerelease "é"'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a_b", 'Invalid character(s) found in build meta data "a_b"'),
        ("١.2.3", 'Invalid character(s) found in major number "١"'),
    ],
)
def test_no_version(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        parse_semver(text)
    assert str(caught.value) == message


def test_order() -> None:
    rising = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
    ]
    rising += ["1.9.0", "1.10.0", "2.0.0-0", "2.0.0", "10.0.0"]
    versions = [parse_semver(text) for text in rising]
    assert sorted(versions) == versions
    assert all(one < two and one != two for one, two in itertools.pairwise(versions))


def test_build_metadata_counts_for_nothing() -> None:
    assert parse_semver("1.0.0+a") == parse_semver("1.0.0+b") == parse_semver("1.0.0")
    assert len({parse_semver("1.0.0+a"), parse_semver("1.0.0")}) == 1
    assert parse_semver("1.0.0") != "1.0.0"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.2.3", "1.2.3"),
        ("1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.002.3", "1.2.3"),
        ("1.2.003-rc", "1.2.3-rc"),
        ("0.00.000", "0.0.0"),
    ],
)
def test_lenient_reading(text: str, version: str) -> None:
    assert str(normalized_semver(text)) == version


@pytest.mark.parametrize("text", ["1-2", "1.2+b", "vv1.2.3", "", "x"])
def test_lenient_reading_has_its_limits(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        normalized_semver(text)


NUMBER = st.integers(0, 50)
VERSIONS = st.builds(Semver, NUMBER, NUMBER, NUMBER)


@given(VERSIONS, VERSIONS)
def test_plain_versions_order_as_their_numbers(one: Semver, two: Semver) -> None:
    numbers = [(version.major, version.minor, version.patch) for version in (one, two)]
    assert (one < two) == (numbers[0] < numbers[1])
    assert parse_semver(str(one)) == one
    assert cached_semver(str(one)) is cached_semver(str(one))
