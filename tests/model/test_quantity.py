"""Quantities: what the API machinery says of the same texts (apimachinery v0.37.2), and laws."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.model.quantity import Format, Quantity, cached_quantity, parse_quantity

MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "canonical", "as_int64"),
    [
        ("0", "0", 0),
        ("5", "5", 5),
        ("+5", "+5", 5),
        ("-5", "-5", -5),
        ("1000", "1k", 1000),
        ("1k", "1k", 1000),
        ("1e3", "1e3", 1000),
        ("12E6", "12E6", 12_000_000),
        ("1000m", "1", None),
        ("100m", "100m", None),
        ("0.5", "500m", None),
        (".5", "500m", None),
        ("1.", "1.", 1),
        ("1.5Gi", "1536Mi", None),
        ("40Gi", "40Gi", 40 * 2**30),
        ("1024Ki", "1Mi", 2**20),
        ("100Ki", "100Ki", 102400),
        ("1E", "1E", 10**18),
        ("1000E", "1", None),  # there is no suffix beyond E, and the API machinery drops it
        ("1Ei", "1Ei", None),  # too wide for the fast form, and so "no integer"
        ("8Ei", "9223372036854775807", None),  # capped
        ("0.1Mi", "104857600m", None),
        ("1n", "1n", None),
        ("0.1n", "1n", None),  # never rounded to nothing
        ("-0.1n", "-1n", None),
        ("0.0000000001", "1n", None),
        ("1e-30", "1e-9", None),
        (".", "0", 0),
        ("+", "0", 0),
        ("-", "0", 0),
        ("Ki", "0", 0),
        ("007", "007", 7),
        ("123456789012345678901", "123456789012345678901", None),
        ("9223372036854775807", "9223372036854775807", None),
    ],
)
def test_reading_and_printing(text: str, canonical: str, as_int64: int | None) -> None:
    quantity = parse_quantity(text)
    assert str(quantity) == canonical
    assert quantity.as_int64() == as_int64


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        " 1",
        "1 ",
        "1.2.3",
        "abc",
        "1Zi",
        "1ki",
        "1K",
        "1e",
        "1e1.5",
        "--1",
        "0x1",
        "1e99999999999999999999",
        "é",
        "9" * 2000,
    ],
)
def test_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantities must match|unable to parse"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("1", "1000m", 0),
        ("80Gi", "81920Mi", 0),
        ("1k", "1Ki", -1),
        ("1.5Gi", "1536Mi", 0),
        ("1Ei", "1E", 1),
        ("-1", "1n", -1),
        ("0", "-0", 0),
        ("1e999999999", "1e-999999999", 1),
        ("-1e999999999", "1", -1),
        ("123456789012345678901", "123456789012345678902", -1),
    ],
)
def test_order(left: str, right: str, order: int) -> None:
    one, two = parse_quantity(left), parse_quantity(right)
    assert (one.compare(two), two.compare(one)) == (order, -order)
    assert (one < two, one == two, one > two) == (order < 0, order == 0, order > 0)
    assert order != 0 or hash(one) == hash(two)


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        ("50k", "+", "20k", "70k"),
        ("50Mi", "+", "1", "52428801"),
        ("0", "+", "1Mi", "1Mi"),
        ("1Mi", "+", "0", "1Mi"),
        ("1", "+", "500m", "1500m"),
        ("9223372036854775807", "+", "1", "9223372036854775808"),
        ("1Gi", "-", "512Mi", "512Mi"),
        ("1", "-", "1", "0"),
        ("1", "-", "1500m", "-500m"),
        ("0", "-", "1Ki", "-1Ki"),
    ],
)
def test_sums(left: str, operator: str, right: str, result: str) -> None:
    one, two = parse_quantity(left), parse_quantity(right)
    assert str(one + two if operator == "+" else one - two) == result


def test_the_least_int64_has_no_negative() -> None:
    assert str(parse_quantity("40Gi") - Quantity(-(2**63), format=Format.DECIMAL_EXPONENT)) == "-8589934552Gi"


def test_sums_that_would_fill_the_memory_are_refused() -> None:
    with pytest.raises(ValueError, match="too far apart"):
        parse_quantity("1e999999999") + parse_quantity("1n")
    huge = parse_quantity("1e2900") + parse_quantity("1n")
    with pytest.raises(ValueError, match="too large"):
        functools.reduce(lambda total, _: total + total, range(20_000), huge)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50k", 50000.0),
        ("1.5", 1.5),
        ("100m", 0.1),
        ("1e400", float("inf")),
        ("1e-400", 1e-9),
        ("1180000000000000000.", 1180000000000000300.0),
    ],
)
def test_as_float(text: str, value: float) -> None:
    assert parse_quantity(text).as_float() == value


def test_signs_and_other_types() -> None:
    assert [parse_quantity(text).sign for text in ("-1", "0", "1m")] == [-1, 0, 1]
    assert parse_quantity("1") != "1"
    assert cached_quantity("1Gi") is cached_quantity("1Gi")


# Larger ones would go beyond the suffix E, which the canonical form then leaves out.
NUMBERS = st.decimals(min_value=-(10**9), max_value=10**9, places=3, allow_nan=False).map(str)
TEXTS = st.builds(
    lambda number, suffix: (f"{float(number):.3f}" if "E" in number else number) + suffix,
    NUMBERS,
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "u"]),
)


@given(TEXTS)
def test_the_canonical_form_is_the_same_quantity(text: str) -> None:
    quantity = parse_quantity(text)
    again = parse_quantity(str(quantity))
    assert again == quantity
    assert str(parse_quantity(str(again + Quantity(0)))) == str(again + Quantity(0))


@given(TEXTS, TEXTS)
def test_sums_undo_each_other(left: str, right: str) -> None:
    one, two = parse_quantity(left), parse_quantity(right)
    assert (one + two) - two == one
    assert (one < two) == ((one - two).sign < 0)


@given(st.text(max_size=30))
def test_nothing_but_value_errors(text: str) -> None:
    try:
        quantity = parse_quantity(text)
    except ValueError:
        return
    assert str(quantity)
