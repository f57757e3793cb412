"""`fallgate explain` on the problem cases about selectors and constraints: which devices match, which do not, which err."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.build import claim, device, device_slice, exactly
from tests.case_files import Case, cases, in_version
from tests.harness import NOW, server
from webhook.cli.asking import Manner, ask_all
from webhook.cli.explaining import explain, explanation_document
from webhook.fleet.build import build_fleet
from webhook.folder.manifests import FileObject
from webhook.policyfile import parse_policies

#: Case -> for each alternative of its claim: devices that match, do not match, raise an error, and whether that is certain.
VERDICTS = {
    "L01": [(0, 1, 8, True)],
    "L04": [(0, 0, 8, True)],
    "L07": [(0, 0, 6, True)],
    "L09": [(0, 0, 8, True)],
    "L11": [(0, 8, 0, False)],
    "L14": [(0, 4, 0, False)],
    "L15": [(0, 0, 0, False)],
    "L16": [(0, 8, 0, False)],
    "L19": [(1, 7, 0, False)],
    "L20": [(1, 4, 0, False)],
    "L22": [(1, 0, 4, True)],
    "K01": [(4, 0, 0, False), (4, 0, 0, False)],
    "K03": [(8, 0, 0, False), (8, 0, 0, False)],
    "K06": [(4, 0, 0, False), (6, 0, 0, False)],
    "P05": [(0, 0, 8, True), (8, 0, 0, False)],
}
#: The cases of which nothing certain can be said: devices may come, or be published otherwise.
UNCERTAIN = {"L11", "L14", "L15", "L16", "K01", "K06"}


def alternatives(case: Case, version: str) -> list[Any]:
    cluster = case.body.get("cluster", {})
    fleet = build_fleet(case.cluster, server=server(str(cluster.get("version", "1.36")), cluster.get("featureGates")))
    documents = [FileObject(in_version(item, version), "in.yaml", 1) for item in case.inputs]
    asked, _ = ask_all(documents, Manner())
    found = [explain(item, fleet, parse_policies(case.policy_files), NOW) for item in asked]
    explained = [explanation_document(item) for item in found if item is not None]
    return [alternative for item in explained for request in item["requests"] for alternative in request["alternatives"]]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("case", [case for case in cases() if case.id in VERDICTS], ids=lambda case: case.id)
def test_verdicts(case: Case, version: str) -> None:
    said = []
    for alternative in alternatives(case, version):
        outcomes = Counter(device["outcome"] for device in alternative["devices"])
        said.append((outcomes["match"], outcomes["no match"], outcomes["error"], alternative["certain"]))
        assert bool(alternative["uncertain"]) == (case.id in UNCERTAIN and not alternative["shapes"])
        assert not (alternative["uncertain"] and alternative["certain"])
    assert said == VERDICTS[case.id]


def test_an_error_that_is_not_certain(run: Any, write: Any) -> None:
    write("fleet/more.yaml", device_slice("node-o", device("gpu-9", {"model": "x"})))
    selector = 'device.attributes["gpu.nvidia.com"].productName.contains("H100")'
    body = claim("c", exactly("gpu", "gpu.nvidia.com", selector))
    found = run("explain", write("in.yaml", body), "--fleet", "fleet", "--policies", "policies")
    assert "1 ?gpu.nvidia.com/x raises a CEL error" in found.stdout
    assert "no node gets past" not in found.stdout


def test_a_certain_error_in_words(run: Any, write: Any) -> None:
    body = claim("c", exactly("gpu", "gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].index == 0'))
    found = run("explain", write("in.yaml", body), "--fleet", "fleet", "--policies", "policies")
    assert "      no node gets past the error: no pod with this claim is ever scheduled\n" in found.stdout
