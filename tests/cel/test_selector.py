"""The seam of selectors: outcomes, problems, references."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from webhook.cel import MATCH, NO_MATCH, CelError, Reference, Selector, compile_selector
from webhook.model.device import Device

Verdicts: TypeAlias = Callable[[str, Device], str]

D = 'device.attributes["gpu.example.com"]'
C = 'device.capacity["gpu.example.com"]'

OUTCOMES = [
    # What selectors commonly say.
    ('device.driver == "gpu.example.com"', "match"),
    (f'{D}.productName.contains("H100") && {C}.memory.compareTo(quantity("40Gi")) >= 0', "match"),
    (f'{D}.productName.contains("A100")', "no match"),
    (f'{D}.productName.lowerAscii().matches("^.*h100.*$")', "match"),
    (f'{D}["productName"].startsWith("NVIDIA")', "match"),
    ('device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:00"', "match"),
    (f'{D}.cudaComputeCapability.isGreaterThan(semver("8.0.0"))', "match"),
    (f"{D}.index in [1, 3]", "match"),
    (f'{D}.modes.exists(mode, mode == "b")', "match"),
    (f'{D}.modes.includes("b") && {D}.productName.includes("NVIDIA H100 80GB HBM3")', "match"),
    (f'{D}.firmware.all(version, version.isGreaterThan(semver("1.0.0")))', "match"),
    (f"cel.bind(gpu, {D}, gpu.index < 4 && gpu.healthy)", "match"),
    ("device.allowMultipleAllocations", "no match"),
    (f"{D}.healthy", "match"),
    # Domains and ids that are not there.
    ('device.attributes["nope.example.com"].x == 1', "error: no such key: x"),
    (f'{D}.memory.compareTo(quantity("1Gi")) > 0', "error: no such key: memory"),
    (f"has({D}.memory)", "no match"),
    (f"has({D}.memory) && {D}.memory == 1", "no match"),
    (f"{D}.memory == 1 && has({D}.memory)", "no match"),
    (f"!has({D}.memory) || {D}.memory == 1", "match"),
    (f"{D}.?memory.orValue(7) == 7", "match"),
    (f'{D}[?"index"].orValue(7) == 3', "match"),
    ('device.attributes[?"nope.example.com"].x.hasValue()', "no match"),
    ('"nope.example.com" in device.attributes', "no match"),
    ('"gpu.example.com" in device.attributes && "memory" in device.capacity["gpu.example.com"]', "match"),
    ("has(device.attributes.nope)", "match"),
    ('device.attributes["nope.example.com"].size() == 0', "match"),
    ("device.attributes.size() == 2 && device.attributes.all(domain, domain.contains('.'))", "match"),
    ('device.attributes["a/b"].c == 1', "error: no such key: c"),
    # Attributes are dynamic: numbers compare across types, other types never equal, errors where there is no order.
    (f"{D}.index == 3.0 && {D}.index == 3u && {D}.index > 2.5", "match"),
    (f'{D}.index == "3"', "no match"),
    (f"{D}.zero == false", "no match"),
    (f'{D}.index < "4"', "error: no such overload"),
    (f'{D}.cudaComputeCapability == "9.0.0"', "error: no such overload"),
    (f'{D}.cudaComputeCapability != "9.0.0"', "match"),
    (f'{D}.index.contains("3")', "error: no such overload"),
    (f'{D}.index.lowerAscii() == ""', "error: no such overload: lowerAscii(int)"),
    (f'{D}.productName.compareTo(quantity("1")) > 0', "error: no such overload: compareTo(string, kubernetes.Quantity)"),
    (f"{D}.productName.exists(c, c == 'x')", "error: got 'types.String', expected iterable type"),
    (f"{D}.modes[5] == 'a'", "error: index out of bounds: 5"),
    (f"{D}.productName.nope == 1", "error: no such key: nope"),
    (f'{D}.cudaComputeCapability in ["a"] || true', "error: internal error: runtime error: hash of unhashable type cel.Semver"),
    # Errors are absorbed, wherever they stand, and only then.
    (f"{D}.nope == 1 || true", "match"),
    (f"{D}.nope == 1 && false", "no match"),
    (f"{D}.nope == 1 || false", "error: no such key: nope"),
    (f"[1, 2].exists(i, {D}.nope == i || i == 2)", "match"),
    ("[0, 1, 2].all(i, 1 / i > 5)", "no match"),
    # A result that is no bool.
    (
        f"{D}.index",
        "error: CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
    ),
    (f"dyn({D}.?healthy)", "match"),
    # Quantities by value; one that has been worked out may not stand on the right.
    (f'{C}.memory == quantity("81920Mi")', "match"),
    (f'{C}.memory.sub(quantity("40Gi")) == quantity("40Gi")', "match"),
    (f'quantity("40Gi") == {C}.memory.sub(quantity("40Gi"))', "error: no such overload"),
    (f'{C}.memory.isGreaterThan(quantity("nonsense"))', "error: unable to parse quantity's suffix"),
]


@pytest.mark.parametrize(("text", "expected"), OUTCOMES)
def test_outcome(text: str, expected: str, gpu: Device, verdict: Verdicts) -> None:
    if "nonsense" in text:
        expected = "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    assert verdict(text, gpu) == expected


PROBLEMS = [
    ("foo == 1", "undeclared reference to 'foo' (in container '')", 1, 1),
    ("devise.driver == 'x'", "undeclared reference to 'devise' (in container ''); did you mean \"device\"?", 1, 1),
    ("device.nope", "undefined field 'nope'", 1, 7),
    ("device.atributes['d'].x == 1", "undefined field 'atributes'; did you mean \"attributes\"?", 1, 7),
    ("device.driver.containz('x')", "undeclared reference to 'containz' (in container ''); did you mean \"contains\"?", 1, 23),
    ("1 == 1.0", "found no matching overload for '_==_' applied to '(int, double)'", 1, 3),
    ("device.driver == 5", "found no matching overload for '_==_' applied to '(string, int)'", 1, 15),
    (
        'device.capacity["d"].m == "80Gi"',
        "found no matching overload for '_==_' applied to '(kubernetes.Quantity, string)'",
        1,
        24,
    ),
    ("device.driver.foo", "type 'string' does not support field selection", 1, 14),
    ("true &&\n  dyn(1).all(x, y)", "undeclared reference to 'y' (in container '')", 2, 17),
    ("device.driver", "must evaluate to bool or the unknown type, not string", 1, 1),
    ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'", 1, 5),
    ("'a'.matches('(')", "invalid matches argument", 1, 13),
    ("'a'.find('(') == ''", "program instantiation failed: error parsing regexp: missing ): (", 1, 9),
    ("int('abc') == 1", "program instantiation failed: type conversion error from 'string' to 'int'", 1, 4),
    ("duration('x') == duration('1s')", "invalid duration argument", 1, 10),
    (
        "'%d'.format(['a']) == ''",
        "error during formatting: decimal clause can only be used on integers, was given string",
        1,
        14,
    ),
    ("has(device)", "invalid argument to has() macro", 1, 5),
    ("[1].all(x.y, true)", "argument must be a simple name", 1, 10),
    ("for == 1", "reserved identifier: for", 1, 1),
    ("9223372036854775808 == 1", "invalid int literal", 1, 1),
    ("true &&", "Syntax error: mismatched input '<EOF>'", 1, 8),
    ("true ** false", "Syntax error: mismatched input '*'", 1, 7),
    ("'unfinished", "Syntax error: token recognition error at: '''", 1, 1),
    ('"\\q" == ""', "Syntax error: token recognition error at: '\"'", 1, 1),
    ("", "Syntax error: mismatched input '<EOF>'", 1, 1),
    ("'" + "x" * 10240 + "' == ''", "expression too long: 10248 bytes, the limit is 10240", 1, 1),
]


@pytest.mark.parametrize(("text", "message", "line", "column"), PROBLEMS)
def test_problem(text: str, message: str, line: int, column: int) -> None:
    problems = compile_selector(text)
    assert isinstance(problems, tuple)
    assert [(problem.message, problem.line, problem.column) for problem in problems] == [(message, line, column)]


@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">="])
def test_comparing_elements_of_an_empty_list_makes_them_bools(symbol: str, gpu: Device, verdict: Verdicts) -> None:
    compared = f"[].filter(x, x {symbol} x)"
    assert verdict(f"[true] != {compared}", gpu) == "match"
    wrong = "found no matching overload for '@in' applied to '(int, list(bool))'"
    assert verdict(f"1 in {compared}", gpu) == f"compile: {wrong}"
    wrong = "found no matching overload for '_!=_' applied to '(list(int), list(bool))'"
    assert verdict(f"[1] != {compared}", gpu) == f"compile: {wrong}"


def test_all_problems_at_once_in_order() -> None:
    problems = compile_selector("a == 1 &&\n b == 2 || device.nope")
    assert isinstance(problems, tuple)
    assert [(problem.line, problem.column) for problem in problems] == [(1, 1), (2, 2), (2, 18)]


def attribute(name: str, *, guarded: bool = False) -> Reference:
    return Reference("attribute", "d", name, guarded)


REFERENCES = [
    ('device.driver == "d"', {Reference("driver", guarded=True)}),
    ("device.allowMultipleAllocations", {Reference("sharable", guarded=True)}),
    ("device.attributes.d.x == 1", {attribute("x")}),
    ('device.attributes["d"]["x"] == 1', {attribute("x")}),
    ('device.capacity["d"].m.isInteger()', {Reference("capacity", "d", "m")}),
    ("has(device.attributes.d.x)", {attribute("x", guarded=True)}),
    ("has(device.attributes.d.x) && device.attributes.d.x > 1", {attribute("x", guarded=True)}),
    ("device.attributes.d.x > 1 && has(device.attributes.d.x)", {attribute("x", guarded=True)}),
    ("!has(device.attributes.d.x) || device.attributes.d.x > 1", {attribute("x", guarded=True)}),
    ("has(device.attributes.d.x) || device.attributes.d.x > 1", {attribute("x", guarded=True), attribute("x")}),
    ("has(device.attributes.d.x) ? device.attributes.d.x > 1 : true", {attribute("x", guarded=True)}),
    (
        "has(device.attributes.d.x) ? true : device.attributes.d.x > 1",
        {attribute("x", guarded=True), attribute("x")},
    ),
    ("has(device.attributes.d.x) && device.attributes.d.y > 1", {attribute("x", guarded=True), attribute("y")}),
    ('device.attributes["d"].?x.orValue(1) == 1', {attribute("x", guarded=True)}),
    ('device.attributes[?"d"].x.orValue(1) == 1', {attribute("x", guarded=True)}),
    ('"x" in device.attributes["d"] && device.attributes["d"].x == 1', {attribute("x", guarded=True)}),
    ('"d" in device.attributes', {attribute("", guarded=True)}),
    ("device.attributes.exists(d, d == 'x')", {Reference("attribute", "", "", guarded=True)}),
    ('device.attributes["d"].all(name, name != "x")', {attribute("", guarded=True)}),
    ('cel.bind(d, device.attributes["d"], has(d.x) && d.x == 1 && d.y == 1)', {attribute("x", guarded=True), attribute("y")}),
    ('cel.bind(x, device.attributes["d"].x, x == 1)', {attribute("x")}),
    ("[1].all(device, device == 1)", set()),
    ('device.attributes["d"].x.?y.orValue(1) == 1', {attribute("x")}),
    ("size(dyn(device)) == 4", {Reference(kind, guarded=True) for kind in ("attribute", "capacity", "driver", "sharable")}),
]


@pytest.mark.parametrize(("text", "expected"), REFERENCES)
def test_references(text: str, expected: set[Reference]) -> None:
    selector = compile_selector(text)
    assert isinstance(selector, Selector), selector
    assert selector.references == expected


def test_outcomes_are_told_apart(gpu: Device) -> None:
    outcomes = [compile_selector(text) for text in ("true", "false", "1 / 0 == 1")]
    assert [selector.against(gpu) for selector in outcomes if isinstance(selector, Selector)] == [
        MATCH,
        NO_MATCH,
        CelError("division by zero"),
    ]


def test_success_and_failure_are_remembered() -> None:
    assert compile_selector("device.driver == 'cached'") is compile_selector("device.driver == 'cached'")
    assert compile_selector("nonsense +") is compile_selector("nonsense +")


def test_a_version_that_is_none_fails_the_device(make_device: Callable[..., Device], verdict: Verdicts) -> None:
    device = make_device(attributes={"v": {"version": "1.x"}})
    expected = "error: attribute gpu.example.com/v: parse semantic version: No Major.Minor.Patch elements found"
    assert verdict("device.attributes['gpu.example.com'].v == semver('1.0.0') || true", device) == expected
    assert verdict("true", device) == expected
    in_a_list = make_device(attributes={"v": {"versions": ["1.0.0", "1.x"]}})
    assert verdict("device.driver == 'gpu.example.com'", in_a_list) == expected
