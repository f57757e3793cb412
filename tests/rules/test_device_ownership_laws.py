"""Laws of steering, on clusters and pods that nobody wrote by hand."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build import NVIDIA, device_class, device_slice, exactly, fleet_of, gpu, node, node_affinity, pod, template
from tests.ownership import PLUGIN, owner, ownership, view_of
from webhook.fleet.fleet import Fleet
from webhook.model.json_patch import apply_patch
from webhook.rules.device_ownership import case_of, check, steer

KEYS, VALUES = ("stack", "zone"), ("dra", "plugin", "split")
NODES = tuple(f"n{i}" for i in range(6))

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2)


@st.composite
def clusters(draw: Any) -> Fleet:
    objects: list[Any] = [template("one"), template("two", exactly("gpu", count=2))]
    objects.append(device_class(NVIDIA, extended_resource=draw(st.sampled_from(("", PLUGIN)))))
    for name in NODES:
        offered = draw(st.sampled_from((None, "0", "1", "8")))
        objects.append(node(name, draw(labels), allocatable={} if offered is None else {PLUGIN: offered}))
        devices = draw(st.integers(0, 2))
        if devices:
            objects.append(device_slice(name, *(gpu(f"gpu-{i}") for i in range(devices))))
        if draw(st.booleans()):
            objects.append(pod(f"holder-{name}", extended={PLUGIN: "1"}, nodeName=name))
    return fleet_of(*objects, server=draw(st.sampled_from(("1.34", "1.36"))))


requirements = st.builds(
    lambda key, operator, value: {"key": key, "operator": operator, "values": [value]},
    st.sampled_from(KEYS),
    st.sampled_from(("In", "NotIn")),
    st.sampled_from(VALUES),
)
fields = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(("In", "NotIn")),
    st.sampled_from(NODES),
)
terms = st.fixed_dictionaries(
    {}, optional={"matchExpressions": st.lists(requirements, max_size=2), "matchFields": st.lists(fields, max_size=2)}
)
affinities = st.none() | st.builds(lambda items: node_affinity(*items), st.lists(terms, min_size=1, max_size=3))


@st.composite
def pods(draw: Any) -> Any:
    asked = draw(st.sampled_from(({"templates": {"gpu": "one"}}, {"templates": {"gpu": "two"}}, {"extended": {PLUGIN: "1"}})))
    both = draw(st.booleans()) and "templates" in asked
    more = {"extended": {PLUGIN: "1"}} if both else {}
    return pod("p", **asked, **more, affinity=draw(affinities), nodeSelector=draw(labels))


owner_entries = st.builds(
    owner,
    st.sampled_from(("dra", "device-plugin", "split")),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), min_size=1, max_size=2),
)
policies = st.builds(
    lambda entries, default: ownership(*entries, default=default),
    st.lists(owner_entries, max_size=3),
    st.sampled_from(("undecided", "dra", "device-plugin")),
)


def terms_of(body: Any) -> list[Any]:
    node_part = (body["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return (node_part.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []


@settings(max_examples=400, deadline=None)
@given(clusters(), pods(), policies)
def test_laws_of_steering(fleet: Fleet, body: Any, policy: Any) -> None:
    view = view_of(body, fleet)
    case, mutation = case_of(view, policy), steer(view, policy)
    if case is None or not case.found.nodes:
        assert mutation.ops == ()
        assert mutation.findings == ()
        return
    if not mutation.ops:
        # Refused: there is no safe node (six nodes are never too many to name).
        assert not case.found.safe
        assert [finding.severity for finding in check(view, policy) if finding.reason == "double-booking"].count("deny") >= 1
        return
    after_body = apply_patch(body, mutation.ops)
    after = view_of(after_body, fleet)
    # Safe: no conflicting node is feasible any more, no node has become feasible, a safe one is left.
    assert after.feasible & case.found.nodes == 0
    assert after.feasible & ~view.feasible == 0
    assert after.feasible & case.found.safe
    assert [finding for finding in check(after, policy) if finding.reason == "double-booking"] == []
    # Idempotent.
    assert steer(after, policy).ops == ()
    # Minimal: only additions, only to the affinity and the annotations; what was there is there still.
    assert {op["op"] for op in mutation.ops} == {"add"}
    assert {op["path"].split("/")[1:3][0] + "/" + op["path"].split("/")[2] for op in mutation.ops} <= {
        "spec/affinity",
        "metadata/annotations",
    }
    before_terms, after_terms = terms_of(body), terms_of(after_body)
    assert len(after_terms) == max(len(before_terms), 1)
    for old, new in zip(before_terms, after_terms, strict=False):
        for key in ("matchExpressions", "matchFields"):
            assert new.get(key, [])[: len(old.get(key, []))] == old.get(key, [])
        if not old.get("matchExpressions") and not old.get("matchFields"):
            assert new == old
    # Said: one note for each cause, which names what was done.
    assert {finding.severity for finding in mutation.findings} == {"note"}
    assert all(finding.detail.startswith("kept off by node affinity: ") for finding in mutation.findings)
