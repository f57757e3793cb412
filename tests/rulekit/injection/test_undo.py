"""Taking an injection out again, and leaving alone what the record does not fit."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from webhook.rulekit.injection.provenance import INJECTED
from webhook.rulekit.injection.undo import undo

Raw = dict[str, Any]
ASK = {"deviceClassName": "c", "count": 1}
LIST = [{"name": "requested", "deviceClassName": "c"}, {"name": "pair", "deviceClassName": "d"}]


def record(*, config: Any = None, **changes: Any) -> str:
    request = {"name": "gpu", "policy": "p@1", "exactly": ASK, "author": "requested", "added": ["pair"], **changes}
    extra = {key: request.pop(key) for key in ("annotations",) if key in request}
    return json.dumps({"requests": [request], **({} if config is None else {"config": config}), **extra})


def claim(*, injected: str = "", requests: Any = None, version: str = "v1", **devices: Any) -> Raw:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "annotations": {INJECTED: injected or record()}},
        "spec": {"devices": {"requests": requests or [{"name": "gpu", "firstAvailable": LIST}], **devices}, "other": 1},
        "status": {},
    }


def test_a_claim() -> None:
    body = claim(constraints=[{"requests": ["gpu"]}])
    before = deepcopy(body)
    assert undo(body) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": ASK}], "constraints": [{"requests": ["gpu"]}]},
            "other": 1,
        },
        "status": {},
    }
    assert body == before


def test_a_flat_claim() -> None:
    listed = {"name": "gpu", "deviceClassName": "", "firstAvailable": LIST}
    done = undo(claim(version="v1beta1", requests=[listed, {"name": "nic", "deviceClassName": "n"}]))
    assert done["spec"]["devices"]["requests"] == [{"name": "gpu", **ASK}, {"name": "nic", "deviceClassName": "n"}]


def test_a_template() -> None:
    body = claim()
    template = {**body, "kind": "ResourceClaimTemplate", "spec": {"metadata": {"labels": {"a": "b"}}, "spec": body["spec"]}}
    done = undo(template)
    assert done["spec"] == {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": ASK}]}, "other": 1},
    }
    assert done["metadata"] == {"name": "c"}


@pytest.mark.parametrize(
    ("recorded", "before"),
    [
        ({"index": 1, "requests": ["gpu"]}, {"requests": ["gpu"], "opaque": {}}),
        ({"index": 1, "requests": []}, {"requests": [], "opaque": {}}),
        ({"index": 1, "requests": None}, {"requests": None, "opaque": {}}),
        ({"index": 1}, {"opaque": {}}),
    ],
)
def test_config(recorded: Raw, before: Raw) -> None:
    config = [{"opaque": {"driver": "x"}}, {"requests": ["gpu/requested"], "opaque": {}}]
    done = undo(claim(injected=record(config=[recorded]), config=config))
    assert done["spec"]["devices"]["config"] == [{"opaque": {"driver": "x"}}, before]


def test_no_config_is_made_up() -> None:
    assert "config" not in undo(claim())["spec"]["devices"]
    assert undo(claim(config=[]))["spec"]["devices"]["config"] == []


@pytest.mark.parametrize("empty", [{}, None])
def test_an_empty_map_of_annotations(empty: Any) -> None:
    assert undo(claim(injected=record(annotations=empty)))["metadata"] == {"name": "c", "annotations": empty}


def test_other_annotations_stay() -> None:
    body = claim(injected=record(annotations={}))
    body["metadata"]["annotations"]["a"] = "b"
    assert undo(body)["metadata"] == {"name": "c", "annotations": {"a": "b"}}


@pytest.mark.parametrize("empty", [[], None])
def test_an_empty_list_beside_the_ask(empty: Any) -> None:
    done = undo(claim(injected=record(firstAvailable=empty)))
    assert done["spec"]["devices"]["requests"] == [{"name": "gpu", "exactly": ASK, "firstAvailable": empty}]


def test_an_ask_that_was_replaced() -> None:
    body = claim(injected=record(author=None), requests=[{"name": "gpu", "firstAvailable": LIST[1:]}])
    assert undo(body)["spec"]["devices"]["requests"] == [{"name": "gpu", "exactly": ASK}]


@pytest.mark.parametrize(
    "body",
    [
        claim(injected="{}"),
        claim(requests=[{"name": "other", "firstAvailable": LIST}]),
        claim(requests=[{"name": "gpu", "firstAvailable": LIST}, {"name": "gpu", "exactly": ASK}]),
        claim(requests=[{"name": "gpu", "exactly": ASK}]),
        claim(requests=[{"name": "gpu", "firstAvailable": LIST[:1]}]),
        claim(requests=[{"name": "gpu", "firstAvailable": [LIST[0], {"name": "other"}]}]),
        claim(requests=[{"name": "gpu", "firstAvailable": [*LIST, LIST[0]]}]),
        claim(requests=[{"name": "gpu", "firstAvailable": [*LIST, {"name": "third"}]}]),
        claim(requests=[{"name": "gpu", "firstAvailable": "text"}]),
        claim(requests=["gpu"]),
        claim(injected=record(config=[{"index": 0}])),
        claim(injected=record(config=[{"index": 1}]), config=[{}]),
        claim(injected=record(config=[{"index": 0}]), config=["text"]),
        {**claim(), "spec": None},
        {**claim(), "metadata": {"name": "c"}},
        {**claim(), "metadata": None},
        {},
    ],
)
def test_what_does_not_fit_is_left_alone(body: Raw) -> None:
    assert undo(body) is body
