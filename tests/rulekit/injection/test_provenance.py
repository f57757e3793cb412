"""The record: its text, reading it back, and everything that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from webhook.rulekit.injection.provenance import (
    ABSENT,
    INJECTED,
    InjectedRequest,
    Provenance,
    RescopedConfig,
    read_provenance,
    write_provenance,
)

REQUEST = InjectedRequest(
    name="gpu",
    policy="research@1234567",
    exactly={"deviceClassName": "c", "count": 2},
    author="requested",
    added=("pair", "big"),
)
RECORDS = [
    (
        Provenance(requests=(REQUEST,)),
        '{"requests":[{"name":"gpu","policy":"research@1234567","exactly":{"deviceClassName":"c","count":2},'
        '"author":"requested","added":["pair","big"]}]}',
    ),
    (
        Provenance(
            requests=(InjectedRequest(name="a", policy="p", exactly={}, author=None, added=("x",), empty_list=None),),
            configs=(RescopedConfig(index=0, requests=["a"]), RescopedConfig(index=2), RescopedConfig(index=3, requests=None)),
            empty_annotations={},
        ),
        '{"requests":[{"name":"a","policy":"p","exactly":{},"author":null,"added":["x"],"firstAvailable":null}],'
        '"config":[{"index":0,"requests":["a"]},{"index":2},{"index":3,"requests":null}],"annotations":{}}',
    ),
    (
        Provenance(
            requests=(InjectedRequest(name="a", policy="p", exactly={}, author="x", added=(), empty_list=[]),),
            empty_annotations=None,
        ),
        '{"requests":[{"name":"a","policy":"p","exactly":{},"author":"x","added":[],"firstAvailable":[]}],"annotations":null}',
    ),
]


@pytest.mark.parametrize(("record", "text"), RECORDS)
def test_written_and_read_back(record: Provenance, text: str) -> None:
    assert write_provenance(record) == text
    assert read_provenance({INJECTED: text}) == record


def test_finds_a_request() -> None:
    record = Provenance(requests=(REQUEST,))
    assert record.request("gpu") is REQUEST
    assert record.request("nic") is None
    assert REQUEST.names == {"requested", "pair", "big"}
    assert InjectedRequest(name="a", policy="p", exactly={}, author=None, added=("x",)).names == {"x"}


def request(**changes: Any) -> dict[str, Any]:
    fields = {"name": "gpu", "policy": "p@1", "exactly": {}, "author": "requested", "added": ["x"], **changes}
    return {key: value for key, value in fields.items() if value is not ABSENT}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        "text",
        {},
        {"requests": []},
        {"requests": {}},
        {"requests": [1]},
        {"requests": [request(), request()]},
        {"requests": [request(name=ABSENT)]},
        {"requests": [request(name=1)]},
        {"requests": [request(policy=None)]},
        {"requests": [request(exactly=[])]},
        {"requests": [request(author=ABSENT)]},
        {"requests": [request(author=1)]},
        {"requests": [request(added="x")]},
        {"requests": [request(added=[1])]},
        {"requests": [request(firstAvailable=[{}])]},
        {"requests": [request(firstAvailable={})]},
        {"requests": [request()], "config": {}},
        {"requests": [request()], "config": ["a"]},
        {"requests": [request()], "config": [{}]},
        {"requests": [request()], "config": [{"index": "0"}]},
        {"requests": [request()], "config": [{"index": True}]},
        {"requests": [request()], "config": [{"index": -1}]},
        {"requests": [request()], "config": [{"index": 0}, {"index": 0}]},
        {"requests": [request()], "config": [{"index": 0, "requests": "gpu"}]},
        {"requests": [request()], "annotations": {"a": "b"}},
        {"requests": [request()], "annotations": []},
    ],
)
def test_is_no_record(document: Any) -> None:
    assert read_provenance({INJECTED: json.dumps(document)}) is None


@pytest.mark.parametrize("text", ["", "{", "NaN", "[" * 100_000, None, 5])
def test_is_no_json(text: Any) -> None:
    assert read_provenance({INJECTED: text}) is None


def test_no_annotation() -> None:
    assert read_provenance({}) is None
    assert repr(ABSENT) == "ABSENT"


def test_unknown_fields_of_a_later_version_do_not_matter() -> None:
    document = {"requests": [request(someday=1)], "someday": 2}
    assert read_provenance({INJECTED: json.dumps(document)}) is not None
