"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from webhook.cli.outputs.junit import TestCase, as_junit


def test_cases_are_grouped_into_suites_with_counts() -> None:
    cases = [
        TestCase(name="Pod a/x", group="one.yaml", line=3, failure="no\nbecause", failure_type="shape-undeclared"),
        TestCase(name="Pod a/y", group="two.yaml", output="warning: soon"),
        TestCase(name="Pod a/z", group="one.yaml", error="it broke"),
    ]
    assert as_junit(cases, name="fallgate review") == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="fallgate review" tests="3" failures="1" errors="1">\n'
        '  <testsuite name="one.yaml" tests="2" failures="1" errors="1">\n'
        '    <testcase name="Pod a/x" classname="one.yaml" file="one.yaml" line="3">\n'
        '      <failure message="no" type="shape-undeclared">no\nbecause</failure>\n'
        "    </testcase>\n"
        '    <testcase name="Pod a/z" classname="one.yaml" file="one.yaml">\n'
        '      <error message="it broke">it broke</error>\n'
        "    </testcase>\n"
        "  </testsuite>\n"
        '  <testsuite name="two.yaml" tests="1" failures="0" errors="0">\n'
        '    <testcase name="Pod a/y" classname="two.yaml" file="two.yaml">\n'
        "      <system-out>warning: soon</system-out>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_what_xml_cannot_hold_is_replaced_and_the_rest_escaped() -> None:
    text = as_junit([TestCase(name="a\x00\ud800<b>&", group="g", failure="\x1b[31m")], name="n")
    case = ElementTree.fromstring(text).find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "a��<b>&"
    assert case.findtext("failure") == "�[31m"


def test_no_cases_are_a_valid_document() -> None:
    root = ElementTree.fromstring(as_junit([], name="n"))
    assert (root.tag, root.get("tests"), len(root)) == ("testsuites", "0", 0)
