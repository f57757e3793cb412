"""JUnit XML, as CI servers read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

#: What XML 1.0 cannot hold.
_NOT_XML: Final = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCase:
    """One thing that was tried. `failure` is its text when it failed, `error` when it could not be tried; `output` is the rest
    there is to say. `group` is what it belongs to: a file."""

    __test__ = False

    name: str
    group: str
    line: int = 0
    failure: str = ""
    failure_type: str = ""
    error: str = ""
    output: str = ""


def as_junit(cases: Sequence[TestCase], *, name: str) -> str:
    """A `testsuites` document with one suite per group, in the order of first appearance."""
    root = ElementTree.Element("testsuites", _counts(name, cases))
    for group in dict.fromkeys(case.group for case in cases):
        members = [case for case in cases if case.group == group]
        suite = ElementTree.SubElement(root, "testsuite", _counts(group, members))
        for case in members:
            _add(suite, case)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _counts(name: str, cases: Sequence[TestCase]) -> dict[str, str]:
    return {
        "name": _xml(name),
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": str(sum(bool(case.error) for case in cases)),
    }


def _add(suite: ElementTree.Element, case: TestCase) -> None:
    fields = {"name": _xml(case.name), "classname": _xml(case.group), "file": _xml(case.group)}
    if case.line:
        fields["line"] = str(case.line)
    element = ElementTree.SubElement(suite, "testcase", fields)
    for tag, text, kind in (("failure", case.failure, case.failure_type), ("error", case.error, "")):
        if text:
            lines = text.splitlines()
            fault = ElementTree.SubElement(element, tag, {"message": _xml(lines[0])})
            if kind:
                fault.set("type", _xml(kind))
            fault.text = _xml(text)
    if case.output:
        ElementTree.SubElement(element, "system-out").text = _xml(case.output)


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
