"""replicas-may-differ for kinds whose size nobody tells."""

from __future__ import annotations

import pytest

from tests.build import NAMESPACE, alternative, device_class, device_slice, first_available, fleet_of, gpu, pod, template
from tests.harness import NOW, review_of
from webhook.model.meta import Meta
from webhook.model.pod import Pod, PodClaim, Workload
from webhook.model.pod_reading import read_pod
from webhook.rulekit.policies import EMPTY, Checks, Header
from webhook.rulekit.view import View
from webhook.rules.replicas_may_differ import check

CHECKS = Checks(header=Header(kind="Checks", name="c", digest="1a2b3c4"))
POD = Pod(
    meta=Meta(namespace=NAMESPACE),
    claims=(PodClaim(name="gpu", pointer="/spec/template/spec/resourceClaims/0", template_name="t"),),
)


def test_a_pod_is_no_workload() -> None:
    body = pod("p", templates={"gpu": "t"})
    fleet = fleet_of(device_class(), template("t", first_available("gpu", alternative("x"))))
    view = View(review=review_of(body), subject=read_pod(body), fleet=fleet, policies=EMPTY, now=NOW)
    assert list(check(view, CHECKS)) == []


@pytest.mark.parametrize(
    ("replicas", "gang", "detail"),
    [
        (None, True, 'each of its pods picks for itself from "gpu": 1x ?gpu.nvidia.com/A, 1x ?gpu.nvidia.com/B; '
         "they work as one, and the slowest sets the pace"),
        (None, False, ""),
        (1, True, ""),
        (2, False, 'each of its 2 pods picks for itself from "gpu": 1x ?gpu.nvidia.com/A, 1x ?gpu.nvidia.com/B'),
    ],
)  # fmt: skip
def test_the_number_of_pods(replicas: int | None, gang: bool, detail: str) -> None:
    workload = Workload(api_version="example.com/v1", kind="Train", meta=Meta(name="w"), pod=POD, replicas=replicas, gang=gang)
    fleet = fleet_of(
        device_class(), device_slice("n", gpu("a", "A"), gpu("b", "B")), template("t", first_available("gpu", alternative("x")))
    )
    body = {"apiVersion": "example.com/v1", "kind": "Train", "metadata": {"name": "w", "namespace": NAMESPACE}}
    view = View(review=review_of(body), subject=workload, fleet=fleet, policies=EMPTY, now=NOW)
    assert [finding.detail for finding in check(view, CHECKS)] == ([detail] if detail else [])
