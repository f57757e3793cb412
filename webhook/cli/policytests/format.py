"""tests.yaml -> PolicyTests. Strict: all mistakes at once, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias, get_args

from webhook.errors import Problem
from webhook.folder.document import Document
from webhook.folder.yaml_reading import read_yaml
from webhook.model.server_version import Server, read_version

API_VERSION: Final = "fallgate.dev/v1alpha1"
KIND: Final = "PolicyTests"

Decision = Literal["allow", "warn", "mutate", "deny"]
DECISIONS: Final = get_args(Decision)

#: Objects by file name, relative to tests.yaml, or written out.
ObjectSource: TypeAlias = "str | Mapping[str, Any]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must come of a test. None and empty values expect nothing.

    `reasons` must all be among the findings' reasons, none of `without_reasons` may. `message` and `warnings` are texts that
    the denial, or some warning, contains. `fields` are field paths of the object as it would be stored: None for absent.
    """

    decision: Decision
    reasons: tuple[str, ...] = ()
    without_reasons: tuple[str, ...] = ()
    message: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """One test: an object, how it is sent, the cluster it is sent to, and what must come of it."""

    name: str
    line: int
    object: ObjectSource
    expect: Expectation
    old: ObjectSource | None = None
    operation: Literal["CREATE", "UPDATE"] = "CREATE"
    user: str = ""
    groups: tuple[str, ...] = ()
    fleet: tuple[ObjectSource, ...] = ()
    server: Server = field(default_factory=Server)
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTests:
    """A tests.yaml. `policies` are files and folders relative to it, or written out; none means the folder it is in."""

    source: str
    tests: tuple[PolicyTest, ...]
    policies: tuple[ObjectSource, ...] = ()


def read_policy_tests(text: str, source: str) -> tuple[PolicyTests, tuple[Problem, ...]]:
    """The tests of a file, and everything that is wrong with it. Tests with mistakes are left out."""
    reading = read_yaml(text, source)
    reader = _Reader(source)
    reader.problems.extend(problem for problem in reading.problems if not problem.warning)
    tests: list[PolicyTest] = []
    policies: list[ObjectSource] = []
    for document in reading.documents:
        found = reader.document(document)
        tests += found.tests
        policies += found.policies
    if not reading.documents and not reader.problems:
        reader.wrong("the file is empty", 1)
    return PolicyTests(source=source, tests=tuple(tests), policies=tuple(policies)), tuple(reader.problems)


class _Wrong(Exception):
    """A value that cannot be used; the text says why."""


_FILE_KEYS: Final = ("apiVersion", "kind", "metadata", "policies", "fleet", "server", "featureGates", "now", "tests")
_TEST_KEYS: Final = ("name", "object", "old", "operation", "as", "fleet", "server", "featureGates", "now", "expect")
_EXPECT_KEYS: Final = ("decision", "reasons", "withoutReasons", "message", "warnings", "fields")


class _Reader:
    """Reads documents and gathers what is wrong."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.problems: list[Problem] = []

    def wrong(self, message: str, line: int) -> None:
        """Note a mistake."""
        self.problems.append(Problem(message=message, source=self._source, line=line))

    def document(self, document: Document) -> PolicyTests:
        """The tests of one document."""
        body, line = document.value, document.line
        nothing = PolicyTests(source=self._source, tests=())
        if not isinstance(body, dict) or (body.get("apiVersion"), body.get("kind")) != (API_VERSION, KIND):
            self.wrong(f"this must be a mapping with apiVersion: {API_VERSION} and kind: {KIND}", line)
            return nothing
        self._unknown(body, _FILE_KEYS, "", line)
        try:
            shared = _Shared.of(body)
            policies, items = _policies(body), _items(body, "tests")
        except _Wrong as mistake:
            self.wrong(str(mistake), line)
            return nothing
        if not items:
            self.wrong("there are no tests: add a list `tests`", line)
        tests = [test for item in items if (test := self._test(item, document.line_of(item), shared)) is not None]
        return PolicyTests(source=self._source, tests=tuple(tests), policies=policies)

    def _test(self, item: Any, line: int, shared: _Shared) -> PolicyTest | None:
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            self.wrong("a test is a mapping with a name, an object and what to expect", line)
            return None
        before = len(self.problems)
        self._unknown(item, _TEST_KEYS, f"test {name!r}: ", line)
        expect = item.get("expect")
        if isinstance(expect, dict):
            self._unknown(expect, _EXPECT_KEYS, f"test {name!r}: expect: ", line)
        try:
            test = _test(item, name, line, shared)
        except _Wrong as mistake:
            self.wrong(f"test {name!r}: {mistake}", line)
            return None
        return test if len(self.problems) == before else None

    def _unknown(self, body: Mapping[str, Any], known: Sequence[str], where: str, line: int) -> None:
        for key in body:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
                self.wrong(f"{where}unknown key {key}; {hint}", line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What a file says for all of its tests."""

    fleet: tuple[ObjectSource, ...]
    server: Server
    now: datetime | None

    @staticmethod
    def of(body: Mapping[str, Any]) -> _Shared:
        return _Shared(fleet=_objects(body, "fleet"), server=_server(body, Server()), now=_instant(body))


def _test(item: Mapping[str, Any], name: str, line: int, shared: _Shared) -> PolicyTest:
    if "object" not in item:
        raise _Wrong("object is missing: a file name, or the object written out")
    if not isinstance(item.get("expect"), dict):
        raise _Wrong("expect is missing: say at least which decision")
    sender = item.get("as", {})
    if not isinstance(sender, dict) or not set(sender) <= {"user", "groups"}:
        raise _Wrong("as must be a mapping with user and groups")
    operation = item.get("operation", "UPDATE" if "old" in item else "CREATE")
    return PolicyTest(
        name=name,
        line=line,
        object=_object(item["object"], "object"),
        old=_object(item["old"], "old") if "old" in item else None,
        operation=_one_of(operation, ("CREATE", "UPDATE"), "operation"),
        user=_text(sender.get("user", ""), "as.user"),
        groups=_texts(sender, "groups"),
        fleet=(*shared.fleet, *_objects(item, "fleet")),
        server=_server(item, shared.server),
        now=_instant(item) or shared.now,
        expect=_expectation(item["expect"]),
    )


def _expectation(body: Mapping[str, Any]) -> Expectation:
    if "decision" not in body:
        raise _Wrong(f"expect.decision is missing: one of {', '.join(DECISIONS)}")
    fields = body.get("fields", {})
    if not isinstance(fields, dict):
        raise _Wrong("expect.fields must be a mapping of field paths to values")
    return Expectation(
        decision=_one_of(body["decision"], DECISIONS, "expect.decision"),
        reasons=_texts(body, "reasons"),
        without_reasons=_texts(body, "withoutReasons"),
        message=_texts(body, "message"),
        warnings=_texts(body, "warnings"),
        fields=fields,
    )


def _one_of(value: Any, known: Iterable[str], name: str) -> Any:
    if value not in known:
        raise _Wrong(f"{name} must be one of {', '.join(known)}, not {value!r}")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"{name} must be text, not {value!r}")
    return value


def _items(body: Mapping[str, Any], key: str) -> list[Any]:
    value = body.get(key, [])
    if not isinstance(value, list):
        raise _Wrong(f"{key} must be a list")
    return value


def _texts(body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """One text, or a list of them."""
    value = body.get(key, [])
    return tuple(_text(item, key) for item in ([value] if isinstance(value, str) else _items(body, key)))


def _policies(body: Mapping[str, Any]) -> tuple[ObjectSource, ...]:
    """Files, folders and policies written out; a single name needs no list."""
    return _texts(body, "policies") if isinstance(body.get("policies"), str) else _objects(body, "policies")


def _object(value: Any, key: str) -> ObjectSource:
    if isinstance(value, str) or (isinstance(value, dict) and "kind" in value):
        return value
    raise _Wrong(f"{key} must be a file name, or a Kubernetes object written out")


def _objects(body: Mapping[str, Any], key: str) -> tuple[ObjectSource, ...]:
    return tuple(_object(item, key) for item in _items(body, key))


def _server(body: Mapping[str, Any], base: Server) -> Server:
    version, gates = body.get("server"), body.get("featureGates", {})
    if not isinstance(gates, dict) or not all(isinstance(on, bool) for on in gates.values()):
        raise _Wrong("featureGates must be a mapping of gates to true or false")
    if version is None:
        return Server(version=base.version, gates={**base.gates, **gates})
    return Server(version=_read(read_version, _text(version, 'server (in quotes: "1.36")')), gates={**base.gates, **gates})


def _instant(body: Mapping[str, Any]) -> datetime | None:
    value = body.get("now")
    return None if value is None else _read(read_instant, _text(value, "now"))


def read_instant(written: str) -> datetime:
    """`2027-01-15T08:00:00Z`, or `2027-01-15` for the beginning of that day in UTC. Raises ValueError for anything else."""
    try:
        if len(written) == len("2027-01-15"):
            return datetime.combine(date.fromisoformat(written), time(), UTC)
        found = datetime.fromisoformat(written)
    except ValueError as error:
        raise ValueError(f"{written!r} is no time; write 2027-01-15T08:00:00Z or 2027-01-15") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _read(reader: Callable[[str], Any], written: str) -> Any:
    try:
        return reader(written)
    except ValueError as error:
        raise _Wrong(str(error)) from error
