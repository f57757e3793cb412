"""Kubernetes' named formats: `format.dns1123Label().validate("x")` gives what is wrong with a text, if anything is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from webhook.cel.equality import register_strict
from webhook.cel.library.table import Function, Overload, held_by
from webhook.cel.library.url import parse_request_uri
from webhook.cel.types import FORMAT, STRING, list_of, optional_of
from webhook.cel.values import NONE, Absent, Optional, register_type, register_unhashable

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + "(\\." + _LABEL + ")*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME})?"

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_NAME_RULE = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")

Check = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class FormatValue:
    """A named format. `pattern_length` is what the scheduler takes its regular expression for when it counts costs."""

    name: str
    check: Check
    pattern_length: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


register_type(FormatValue, FORMAT.name)
register_strict(FormatValue)
register_unhashable(FormatValue)
held_by(FORMAT, FormatValue)


def _regex_error(rule: str, pattern: str, *examples: str) -> str:
    quoted = ",  or ".join(f"'{example}'" for example in examples)
    return f"{rule} (e.g. {quoted}, regex used for validation is '{pattern}')"


def _too_long(text: str, limit: int, unit: str = "bytes") -> list[str]:
    return [f"must be no more than {limit} {unit}"] if len(text.encode("utf-8", "surrogatepass")) > limit else []


def _label(text: str) -> list[str]:
    problems = _too_long(text, 63, "characters")
    if not re.fullmatch(_LABEL, text):
        if re.fullmatch(_SUBDOMAIN, text):
            problems.append("must not contain dots")
        else:
            problems.append(_regex_error(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return problems


def _subdomain(text: str, unit: str = "characters") -> list[str]:
    problems = _too_long(text, 253, unit)
    if not re.fullmatch(_SUBDOMAIN, text):
        problems.append(_regex_error(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return problems


def _label_1035(text: str) -> list[str]:
    problems = _too_long(text, 63, "characters")
    if not re.fullmatch(_LABEL_1035, text):
        problems.append(_regex_error(_LABEL_1035_RULE, _LABEL_1035, "my-name", "abc-123"))
    return problems


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        rule = f"a valid label key {_NAME_RULE}"
        error = _regex_error(rule, _NAME, "MyName", "my.name", "123-abc")
        return [f"{error} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash:
        problems = (
            ["prefix part must be non-empty"] if not prefix else [f"prefix part {p}" for p in _subdomain(prefix, "bytes")]
        )
    return problems + [f"name part {found}" for found in _name(name)]


def _name(name: str) -> list[str]:
    problems = ["must be non-empty"] if not name else _too_long(name, 63)
    if not re.fullmatch(_NAME, name):
        problems.append(_regex_error(_NAME_RULE, _NAME, "MyName", "my.name", "123-abc"))
    return problems


def _label_value(text: str) -> list[str]:
    problems = _too_long(text, 63)
    if not re.fullmatch(_LABEL_VALUE, text):
        problems.append(_regex_error(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return problems


def _prefix_of(check: Check) -> Check:
    """A text that something is appended to may end in a dash."""
    return lambda text: check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date(int(text[:4]) or 4, int(text[5:7]), int(text[8:]))  # the year 0 is a leap year as well
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    day, separator, rest = text.lower().partition("t")
    match = _TIME.fullmatch(rest.partition("t")[0]) if separator and _is_date(day) else None
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _unless(test: Callable[[str], object], complaint: str) -> Check:
    return lambda text: [] if test(text) else [complaint]


FORMATS: dict[str, FormatValue] = {
    name: FormatValue(name, check, length)
    for name, check, length in (
        ("dns1123Label", _label, 30),
        ("dns1123Subdomain", _subdomain, 60),
        ("dns1035Label", _label_1035, 30),
        ("qualifiedName", _qualified_name, 60),
        ("dns1123LabelPrefix", _prefix_of(_label), 30),
        ("dns1123SubdomainPrefix", _prefix_of(_subdomain), 60),
        ("dns1035LabelPrefix", _prefix_of(_label_1035), 30),
        ("labelValue", _label_value, 40),
        ("uri", _uri, 1103),
        ("uuid", _unless(_UUID.fullmatch, "does not match the UUID format"), 70),
        ("byte", _unless(_BASE64.fullmatch, "invalid base64"), 84),
        ("date", _unless(_is_date, "invalid date"), 71),
        ("datetime", _unless(_is_datetime, "invalid datetime"), 71),
    )
}


def _named(name: str) -> Optional | Absent:
    found = FORMATS.get(name)
    return Optional(found) if found is not None else NONE


def _validate(format_: FormatValue, text: str) -> Optional | Absent:
    problems = format_.check(text)
    return Optional(problems) if problems else NONE


def _constant(value: FormatValue) -> Callable[[], FormatValue]:
    return lambda: value


FUNCTIONS: tuple[Function, ...] = (
    Function("format.named", (Overload("format-named", (STRING,), optional_of(FORMAT), _named),)),
    Function(
        "validate",
        (Overload("format-validate", (FORMAT, STRING), optional_of(list_of(STRING)), _validate, member=True),),
    ),
    *(
        Function(f"format.{name}", (Overload(f"format.{name}", (), FORMAT, _constant(value)),))
        for name, value in FORMATS.items()
    ),
)
