"""What `format.uri().validate()` says of a text, in the words of Kubernetes' own library."""

from __future__ import annotations

import pytest

from tests.oracle.values import answers
from webhook.cel.library.named_formats import FORMATS
from webhook.model.device import Device

#: A text, and what is said behind `parse "<text>": `; "" of what is a URI. The answers are those of the judge of parity.md.
TABLE = [
    ("http://[v1.a]", 'invalid host: ParseAddr("v1.a"): unexpected character (at "v1.a")'),
    ("http://[::1]", ""),
    ("http://[fe80::1%25en0]", ""),
    ("http://[::ffff:1.2.3.4]", ""),
    ("http://[::1%25%20x]", ""),
    ("http://[]", 'invalid host: ParseAddr(""): unable to parse IP'),
    ("http://[a]", 'invalid host: ParseAddr("a"): unable to parse IP'),
    ("http://[1.2.3.4]", "invalid IP-literal"),
    ("http://[%2541]", 'invalid host: ParseAddr("%41"): missing IPv6 address'),
    ("http://[1:2]", 'invalid host: ParseAddr("1:2"): address string too short'),
    ("http://[1:]", 'invalid host: ParseAddr("1:"): colon must be followed by more characters (at ":")'),
    ("http://[:1]", 'invalid host: ParseAddr(":1"): each colon-separated field must have at least one digit (at ":1")'),
    ("http://[1:::2]", 'invalid host: ParseAddr("1:::2"): each colon-separated field must have at least one digit (at ":2")'),
    ("http://[::1::2]", 'invalid host: ParseAddr("::1::2"): multiple :: in address (at ":2")'),
    ("http://[::1]]", 'invalid host: ParseAddr("::1]"): unexpected character, want colon (at "]")'),
    ("http://[12345::]", 'invalid host: ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")'),
    ("http://[g::]", 'invalid host: ParseAddr("g::"): each colon-separated field must have at least one digit (at "g::")'),
    (
        "http://[::\xfc]",
        'invalid host: ParseAddr("::\xfc"): each colon-separated field must have at least one digit (at "\xfc")',
    ),
    (
        "http://[::%ff]",
        'invalid host: ParseAddr("::\\xff"): each colon-separated field must have at least one digit (at "\\xff")',
    ),
    ("http://[\u2028]", 'invalid host: ParseAddr("\\u2028"): unable to parse IP'),
    ("http://[1:2:3:4:5:6:7:8:9]", 'invalid host: ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")'),
    (
        "http://[1:2:3:4:5:6:7::8]",
        'invalid host: ParseAddr("1:2:3:4:5:6:7::8"): the :: must expand to at least one field of zeros',
    ),
    ("http://[::1%25]", 'invalid host: ParseAddr("::1%"): zone must be a non-empty string'),
    ("http://[::1%25|]", 'invalid character "|" in host name'),
    ("http://[::1%25|%2]", 'invalid character "|" in host name'),
    ("http://[::1%25%7c]", 'invalid URL escape "%7c"'),
    ("http://[::1%25%zz]", 'invalid URL escape "%zz"'),
    ("http://[::ffff:1.2.3.4.5]", 'invalid host: ParseAddr("::ffff:1.2.3.4.5"): IPv4 address too long'),
    ("http://[::ffff:1.2.3]", 'invalid host: ParseAddr("::ffff:1.2.3"): IPv4 address too short'),
    ("http://[::ffff:1.2.3.256]", 'invalid host: ParseAddr("::ffff:1.2.3.256"): IPv4 field has value >255'),
    ("http://[::ffff:1.2.3.04]", 'invalid host: ParseAddr("::ffff:1.2.3.04"): IPv4 field has octet with leading zero'),
    ("http://[::1..2.3]", 'invalid host: ParseAddr("::1..2.3"): IPv4 field must have at least one digit (at ".2.3")'),
    ("http://[::1.2.3.4:5]", 'invalid host: ParseAddr("::1.2.3.4:5"): unexpected character (at ":5")'),
    (
        "http://[1:2:3:4:5:6:7:1.2.3.4]",
        'invalid host: ParseAddr("1:2:3:4:5:6:7:1.2.3.4"): embedded IPv4 address must replace the final'
        ' 2 fields of the address (at "1.2.3.4")',
    ),
    (
        "http://[::2:3:4:5:6:7:8.1.1.1]",
        'invalid host: ParseAddr("::2:3:4:5:6:7:8.1.1.1"): the :: must expand to at least one field of zeros',
    ),
    ("http://[1.2.3.4.]", 'invalid host: ParseAddr("1.2.3.4."): IPv4 field must have at least one digit (at ".")'),
    ("http://[.]", 'invalid host: ParseAddr("."): IPv4 field must have at least one digit (at ".")'),
    ("http://[::1", "missing ']' in host"),
    ("http://a[::1]", "invalid IP-literal"),
    ("http://[::1]x", 'invalid port "x" after host'),
    ("http://[::1]:\\", 'invalid port ":\\\\" after host'),
    ("http://a\\b", 'invalid character "\\\\" in host name'),
    ("http://a b", 'invalid character " " in host name'),
    ("http://a|%zz", 'invalid character "|" in host name'),
    ("http://a%zz|", 'invalid URL escape "%zz"'),
    ("http://a%41b", 'invalid URL escape "%41"'),
    ('http://a%2"', 'invalid URL escape "%2\\""'),
    ("http://a:\u200b", 'invalid port ":\\u200b" after host'),
    ("http://a:80:90", 'invalid port ":80:90" after host'),
    ("/%a\xe9", 'invalid URL escape "%a\\xc3"'),
    ("/%\U0001f600", 'invalid URL escape "%\\xf0\\x9f"'),
    ("\x01", "net/url: invalid control character in URL"),
    ("", "empty url"),
]


@pytest.mark.parametrize(("text", "complaint"), TABLE, ids=[ascii(text) for text, _ in TABLE])
def test_complaint(text: str, complaint: str) -> None:
    found = FORMATS["uri"].check(text)
    assert [item.partition('": ')[2] for item in found] == ([complaint] if complaint else [])


def test_the_text_is_repeated_as_go_quotes_it(gpu: Device) -> None:
    said = r'optional.of(["parse \"http://a\\\\b\": invalid character \"\\\\\" in host name"])'
    assert answers(r'format.uri().validate("http://a\\b")', gpu) == [{"value": said}] * 2
