"""The generated page of CEL functions: from the table that the checker and the compiler use, with an example each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.cel.dialect import NEWEST, OLDEST, Dialect, environment_of
from webhook.cel.library import FUNCTIONS, authorization
from webhook.cel.library.table import Function, Overload
from webhook.cel.types import format_type

_A: Final = 'device.attributes["gpu.example.com"]'
_T: Final = 'timestamp("2027-01-31T12:34:56.789Z")'
_U: Final = 'url("https://example.com:8080/a%20b?k=v")'

#: Macros: how they are written, and an example.
MACROS: Final[Mapping[str, str]] = {
    "has(x.name)": f"has({_A}.model)",
    "x.all(v, condition)": "[1, 2].all(v, v > 0)",
    "x.exists(v, condition)": "[1, 2].exists(v, v == 2)",
    "x.exists_one(v, condition), x.existsOne(v, condition)": "[1, 2].exists_one(v, v == 2)",
    "x.filter(v, condition)": "[1, 2].filter(v, v > 1) == [2]",
    "x.map(v, value), x.map(v, condition, value)": "[1, 2].map(v, v * 2) == [2, 4]",
    "x.all(i, v, condition) and the like with two variables": "[5, 6].all(i, v, v == i + 5)",
    "x.transformList(i, v, value), with a condition before the value": "[5].transformList(i, v, v + i) == [5]",
    "x.transformMap(k, v, value), with a condition before the value": '{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}',
    "x.transformMapEntry(k, v, map)": '{"a": 1}.transformMapEntry(k, v, {v: k}) == {1: "a"}',
    "x.sortBy(v, key)": "[2, 1].sortBy(v, v) == [1, 2]",
    "cel.bind(name, value, expression)": f'cel.bind(a, {_A}, a.model == "big")',
    "optional.optMap(v, value), .optFlatMap(v, optional)": "optional.of(1).optMap(v, v + 1).value() == 2",
}

#: Operators in the order in which they bind, and an example.
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    '{"a": 1}["a"] == 1': ("_[_]",),
    f'{_A}.?absent.orValue("x") == "x"': ("_?._",),
    '{"a": 1}[?"b"].hasValue() == false': ("_[?_]",),
    "!false": ("!_",),
    "-(1) == 0 - 1": ("-_",),
    "7 * 2 / 4 % 2 == 1": ("_*_", "_/_", "_%_"),
    '1 + 2 - 3 == 0 && "a" + "b" == "ab"': ("_+_", "_-_"),
    "1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3": ("_<_", "_<=_", "_>_", "_>=_"),
    '"a" == "a" && 1 != 2': ("_==_", "_!=_"),
    '"a" in ["a"] && "k" in {"k": 1}': ("@in",),
    "true && true": ("_&&_",),
    "false || true": ("_||_",),
    "true ? true : false": ("_?_:_",),
}

#: Function -> an expression that is true of the device in tests/cel/test_functions_page.py.
EXAMPLES: Final[Mapping[str, str]] = {
    "size": 'size("ab") == 2 && [1].size() == 1',
    "type": "type(1) == int",
    "dyn": 'dyn(1) != dyn("1")',
    "bool": 'bool("true")',
    "bytes": 'bytes("a") == b"a"',
    "double": 'double("1.5") == 1.5',
    "duration": 'duration("90m") == duration("1h30m")',
    "int": 'int("12") == 12',
    "string": 'string(12) == "12"',
    "timestamp": 'timestamp("2027-01-31T00:00:00Z") > timestamp(0)',
    "uint": "uint(1) == 1u",
    "contains": f'{_A}.product.contains("H100")',
    "startsWith": f'{_A}.product.startsWith("NVIDIA")',
    "endsWith": f'{_A}.product.endsWith("HBM3")',
    "charAt": '"abc".charAt(1) == "b"',
    "indexOf": '"abc".indexOf("c") == 2',
    "lastIndexOf": '"abca".lastIndexOf("a") == 3',
    "lowerAscii": '"ABC".lowerAscii() == "abc"',
    "upperAscii": '"abc".upperAscii() == "ABC"',
    "trim": '" a ".trim() == "a"',
    "substring": '"abc".substring(1, 2) == "b"',
    "replace": '"aba".replace("a", "x", 1) == "xba"',
    "split": '"a,b".split(",") == ["a", "b"]',
    "join": '["a", "b"].join("-") == "a-b"',
    "strings.quote": "strings.quote('a\"b') == '\"a\\\\\"b\"'",
    "format": '"%s has %d".format(["gpu", 2]) == "gpu has 2"',
    "matches": f'{_A}.product.matches("^NVIDIA H[12]00")',
    "find": '"abc 123".find("[0-9]+") == "123"',
    "findAll": '"1 2 3".findAll("[0-9]", 2) == ["1", "2"]',
    "getFullYear": f"{_T}.getFullYear() == 2027",
    "getMonth": f"{_T}.getMonth() == 0",
    "getDayOfYear": f"{_T}.getDayOfYear() == 30",
    "getDayOfMonth": f"{_T}.getDayOfMonth() == 30",
    "getDate": f"{_T}.getDate() == 31",
    "getDayOfWeek": f"{_T}.getDayOfWeek() == 0",
    "getHours": f'{_T}.getHours("+01:00") == 13',
    "getMinutes": 'duration("90m").getMinutes() == 90',
    "getSeconds": f"{_T}.getSeconds() == 56",
    "getMilliseconds": f"{_T}.getMilliseconds() == 789",
    "isSorted": "[1, 2].isSorted()",
    "min": "[1, 2].min() == 1",
    "max": "[1, 2].max() == 2",
    "sum": "[1, 2].sum() == 3",
    "includes": f'{_A}.modes.includes("mps") && {_A}.model.includes("big")',
    "slice": "[1, 2, 3].slice(1, 2) == [2]",
    "flatten": "[[1], [2]].flatten() == [1, 2]",
    "sort": "[2, 1].sort() == [1, 2]",
    "lists.range": "lists.range(3) == [0, 1, 2]",
    "reverse": "[1, 2].reverse() == [2, 1]",
    "distinct": "[1, 1].distinct() == [1]",
    "sets.contains": "sets.contains([1, 2], [2])",
    "sets.equivalent": "sets.equivalent([1, 1], [1])",
    "sets.intersects": "sets.intersects([1, 2], [2, 3])",
    "optional.of": "optional.of(1).value() == 1",
    "optional.ofNonZeroValue": 'optional.ofNonZeroValue("").hasValue() == false',
    "optional.none": "!optional.none().hasValue()",
    "value": "optional.of(1).value() == 1",
    "hasValue": f"!{_A}.?absent.hasValue()",
    "or": "optional.none().or(optional.of(1)).value() == 1",
    "orValue": f'{_A}.?absent.orValue("none") == "none"',
    "first": "[1, 2].first().value() == 1",
    "last": "[1, 2].last().value() == 2",
    "optional.unwrap": "optional.unwrap([optional.of(1), optional.none()]) == [1]",
    "unwrapOpt": "[optional.of(1), optional.none()].unwrapOpt() == [1]",
    "quantity": 'quantity("1Gi") == quantity("1024Mi")',
    "isQuantity": '!isQuantity("much")',
    "sign": 'sign(quantity("-1")) == -1',
    "asApproximateFloat": 'quantity("1500m").asApproximateFloat() == 1.5',
    "asInteger": 'quantity("2k").asInteger() == 2000',
    "isInteger": 'quantity("2k").isInteger()',
    "add": 'quantity("1Gi").add(quantity("1Gi")) == quantity("2Gi")',
    "sub": 'quantity("3").sub(1) == quantity("2")',
    "semver": f'{_A}.driverVersion.isLessThan(semver("v600", true))',
    "isSemver": '!isSemver("v1.0") && isSemver("v1.0", true)',
    "major": f"{_A}.driverVersion.major() == 570",
    "minor": f"{_A}.driverVersion.minor() == 86",
    "patch": f"{_A}.driverVersion.patch() == 15",
    "compareTo": 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
    "isGreaterThan": 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))',
    "isLessThan": f'semver("1.2.3").isLessThan({_A}.driverVersion)',
    "ip": 'ip("::1") == ip("0:0:0:0:0:0:0:1")',
    "family": 'ip("192.168.0.1").family() == 4',
    "ip.isCanonical": 'ip.isCanonical("::1")',
    "isUnspecified": 'ip("0.0.0.0").isUnspecified()',
    "isLoopback": 'ip("127.0.0.1").isLoopback()',
    "isLinkLocalMulticast": 'ip("224.0.0.1").isLinkLocalMulticast()',
    "isLinkLocalUnicast": 'ip("169.254.0.1").isLinkLocalUnicast()',
    "isGlobalUnicast": 'ip("192.168.0.1").isGlobalUnicast()',
    "isIP": '!isIP("300.0.0.1")',
    "cidr": 'cidr("10.0.0.0/8").prefixLength() == 8',
    "isCIDR": 'isCIDR("10.0.0.0/8")',
    "containsIP": 'cidr("10.0.0.0/8").containsIP("10.1.2.3")',
    "containsCIDR": 'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")',
    "prefixLength": 'cidr("10.0.0.0/8").prefixLength() == 8',
    "masked": 'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8")',
    "url": f'{_U}.getHost() == "example.com:8080"',
    "isURL": 'isURL("https://example.com/")',
    "getScheme": f'{_U}.getScheme() == "https"',
    "getHost": f'{_U}.getHost() == "example.com:8080"',
    "getHostname": f'{_U}.getHostname() == "example.com"',
    "getPort": f'{_U}.getPort() == "8080"',
    "getEscapedPath": f'{_U}.getEscapedPath() == "/a%20b"',
    "getQuery": f'{_U}.getQuery() == {{"k": ["v"]}}',
    "format.named": 'format.named("dns1123Label").hasValue()',
    "validate": '!format.dns1123Label().validate("gpu-0").hasValue()',
}
_NAMED_FORMATS: Final = "format."
_LETTERS: Final = str.maketrans({"|": "\\|"})


def page() -> str:
    """The page, whole."""
    return "\n".join(_lines()) + "\n"


def documented() -> Mapping[str, Function]:
    """The functions that somebody can call by name."""
    return {
        name: function
        for name, function in FUNCTIONS.items()
        if name[0].isalpha() and "@" not in name and name not in authorization.NAMES
    }


def since(name: str, signature: str = "") -> str:
    """`1.36` for what came after the oldest release that is supported, else ""."""
    had = [minor for minor in range(OLDEST, NEWEST + 1) if _has(minor, name, signature)]
    return f"1.{had[0]}" if had and had[0] > OLDEST else ""


def _has(minor: int, name: str, signature: str) -> bool:
    function = _functions(minor).get(name)
    return function is not None and (not signature or signature in _signatures(name, function))


def _functions(minor: int) -> Mapping[str, Function]:
    return environment_of(Dialect(minor, lists=minor == NEWEST)).functions


def _signatures(name: str, function: Function) -> list[str]:
    return [_signature(name, overload) for overload in function.overloads]


def _lines() -> Iterator[str]:
    yield from (
        "# CEL functions",
        "",
        f"What selectors can call in Kubernetes 1.{OLDEST} to 1.{NEWEST}, and the CEL of policies as well. Generated from the",
        "table that Fallgate checks and evaluates with; every example is true of the device in its test. How the language is",
        "used: [cel.md](cel.md).",
        "",
        f"`since` is empty where every release from 1.{OLDEST} on has it. `A`, `B`, `T`, `V` stand for any type.",
        "",
        "## Macros",
        "",
        "| macro | example |",
        "|---|---|",
    )
    for macro, example in MACROS.items():
        yield f"| `{macro}` | {_code(example)} |"
    yield from ("", "## Operators", "", "From the tightest to the loosest.", "", "| operator | example |", "|---|---|")
    for example, names in OPERATORS.items():
        yield f"| {', '.join(f'`{_operator(name)}`'.translate(_LETTERS) for name in names)} | {_code(example)} |"
    yield from ("", "## Functions", "", "| function | overloads | since | example |", "|---|---|---|---|")
    for name, function in sorted(documented().items(), key=lambda item: item[0].lower()):
        yield f"| `{name}` | {_overloads(name, function)} | {since(name)} | {_code(example_of(name))} |"


def example_of(name: str) -> str:
    """The example of a function."""
    if name in EXAMPLES:
        return EXAMPLES[name]
    assert name.startswith(_NAMED_FORMATS), name
    return f"type({name}()) == type(format.dns1123Label())"


def _operator(name: str) -> str:
    shown = {"@in": "in", "_[_]": "x[key]", "_?._": "x.?name", "_[?_]": "x[?key]", "_?_:_": "a ? b : c"}
    return shown.get(name, name.replace("_", ""))


def _overloads(name: str, function: Function) -> str:
    shown = {signature: _came(name, signature) for signature in _signatures(name, function)}
    for minor in range(OLDEST, NEWEST):
        older = _functions(minor).get(name)
        gone = [signature for signature in _signatures(name, older) if signature not in shown] if older is not None else []
        shown |= {signature: f" (until 1.{_last(name, signature)})" for signature in gone}
    return "<br>".join(f"{signature}{when}" for signature, when in shown.items())


def _came(name: str, signature: str) -> str:
    came = since(name, signature)
    return f" (since {came})" if came and came != since(name) else ""


def _last(name: str, signature: str) -> int:
    return max(minor for minor in range(OLDEST, NEWEST) if _has(minor, name, signature))


def _signature(name: str, overload: Overload) -> str:
    params = [format_type(type_) for type_ in overload.params]
    target = f"{params.pop(0)}." if overload.member else ""
    return f"`{target}{name}({', '.join(params)})` → `{format_type(overload.result)}`"


def _code(text: str) -> str:
    return f"`{text.translate(_LETTERS)}`"
