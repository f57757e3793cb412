"""No JSON, however odd, makes a reader raise: what cannot be read reads as absent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import ReviewError
from webhook.model.claim_reading import read_claim, read_claim_template
from webhook.model.cluster_reading import read_namespace, read_node, read_quota, read_taint_rule
from webhook.model.device_reading import read_class, read_slice
from webhook.model.meta import read_meta
from webhook.model.pod_reading import read_pod, read_workload
from webhook.model.pointer import field_path
from webhook.model.review import read_review
from webhook.model.workload_kinds import BUILT_IN_WORKLOADS

READERS: dict[str, Callable[[object], object]] = {
    "claim": read_claim,
    "template": read_claim_template,
    "slice": read_slice,
    "class": read_class,
    "pod": read_pod,
    "node": read_node,
    "namespace": read_namespace,
    "quota": read_quota,
    "taint rule": read_taint_rule,
    "meta": read_meta,
    **{kind.kind: lambda raw, kind=kind: read_workload(raw, kind) for kind in BUILT_IN_WORKLOADS},
}

# The keys that readers look for, so that odd values turn up where something is read and not only beside it.
KEYS = re.findall(
    r"\S+",
    """
    apiVersion kind metadata name namespace labels annotations ownerReferences controller spec status devices
    requests exactly firstAvailable deviceClassName selectors cel expression allocationMode count adminAccess
    tolerations capacity constraints config opaque driver parameters matchAttribute distinctAttribute allocation
    results reservedFor pool device basic attributes string int bool version strings value taints consumesCounters
    counterSet counters sharedCounters nodeName allNodes nodeSelector perDeviceNodeSelection nodeSelectorTerms
    generation resourceSliceCount bindingConditions resourceClaims resourceClaimName source containers
    initContainers resources limits claims request affinity nodeAffinity
    requiredDuringSchedulingIgnoredDuringExecution matchExpressions restartPolicy template jobTemplate replicas
    parallelism allocatable hard used deviceSelector taint key operator effect phase extendedResourceClaimStatus
    requestMappings resourceClaimStatuses nvidia.com/gpu uid
    """,
)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
words = st.sampled_from(["ExactCount", "All", "Always", "v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3", "1k", "8"])
anything: st.SearchStrategy[Any] = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)


def nested(value: Any, path: tuple[str, ...]) -> Any:
    """`value` behind a chain of keys; a `[]` in it is a list of one."""
    for key in reversed(path):
        value = [value] if key == "[]" else {key: value}
    return value


PATHS = (
    ("spec", "devices", "requests", "[]"),
    ("spec", "devices", "requests", "[]", "firstAvailable", "[]"),
    ("spec", "spec", "devices", "requests", "[]", "exactly"),
    ("spec", "devices", "[]", "basic"),
    ("spec", "devices", "[]", "attributes"),
    ("spec", "containers", "[]", "resources"),
    ("spec", "template", "spec"),
    ("spec", "taints", "[]"),
    ("status", "allocation", "devices", "results", "[]"),
    ("metadata",),
    (),
)


@pytest.mark.parametrize("reader", READERS)
@given(value=anything, path=st.sampled_from(PATHS), version=st.sampled_from(["v1", "v1beta1", "v1alpha3", ""]))
def test_readers_never_raise(reader: str, value: Any, path: tuple[str, ...], version: str) -> None:
    raw = nested(value, path)
    if isinstance(raw, dict):
        raw = {"apiVersion": f"resource.k8s.io/{version}", **raw}
    first, second = READERS[reader](raw), READERS[reader](raw)
    assert first == second


@given(anything)
def test_a_review_is_read_or_refused(request: Any) -> None:
    document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    try:
        read = read_review(document)
    except ReviewError:
        return
    assert read.uid
    assert read.kind


@given(st.text())
def test_any_pointer_prints(pointer: str) -> None:
    assert isinstance(field_path(pointer), str)
