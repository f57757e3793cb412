"""`fallgate explain`: what may be given, device by device."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.build import (
    alternative,
    claim,
    device,
    device_class,
    device_slice,
    exactly,
    first_available,
    owned_by,
    pod,
    result,
    template,
)

BASE = ("--policies", "policies", "--fleet", "fleet")
BOTH = first_available(
    "gpu",
    alternative("big", "h100.example.com"),
    alternative("pair", "gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].productName.contains("A100")', count=2),
)


@pytest.fixture
def explained(run: Any, write: Callable[..., str]) -> Callable[..., list[Any]]:
    """The JSON of some objects."""

    def explained(*objects: Any) -> list[Any]:
        found = run("explain", write("in.yaml", *objects), *BASE, "-o", "json")
        assert (found.exit_code, found.stderr) == (0, "")
        return [json.loads(line) for line in found.stdout.splitlines()]

    return explained


def test_text_of_a_pod(run: Any, write: Callable[..., str]) -> None:
    declared = {"annotations": {"fallgate.dev/compatible-shapes": "h100-80gb"}}
    trainer = pod("trainer", templates={"acc": "both", "other": "gone"}, meta=declared, nodeSelector={"no": "such"})
    found = run("explain", write("in.yaml", trainer), write("t.yaml", template("both", BOTH)), *BASE)
    assert found.exit_code == 0
    assert found.stdout.startswith(
        "Pod team-a/trainer  in.yaml:1\n"
        "  0 of 2 nodes can be its node\n"
        '  not found: spec.resourceClaims[1] "other" -> ResourceClaimTemplate gone:'
        " it is neither in the input nor in the fleet\n"
        '  request acc/gpu  spec.resourceClaims[0] "acc" -> ResourceClaimTemplate both\n'
        '    declared: "h100-80gb" (Pod trainer)\n'
        "    1. big: 1x h100.example.com  spec.spec.devices.requests[0].firstAvailable[0]\n"
        "      nothing can be given now: none of the devices that match can be used from a feasible node\n"
    )


def test_text_of_a_template(run: Any, write: Callable[..., str]) -> None:
    body = template("both", BOTH, annotations={"fallgate.dev/compatible-shapes": "h100-80gb"})
    found = run("explain", write("in.yaml", body), *BASE)
    assert found.stdout == (
        "ResourceClaimTemplate team-a/both  in.yaml:1\n"
        "  request gpu\n"
        '    declared: "h100-80gb" (ResourceClaimTemplate both)\n'
        "    1. big: 1x h100.example.com  spec.spec.devices.requests[0].firstAvailable[0]\n"
        "      may be given 1x h100-80gb, declared\n"
        "      2 h100-80gb match  on node-h: gpu-0, gpu-1\n"
        "      4 a100-40gb do not match\n"
        '        device.attributes["gpu.nvidia.com"].productName.contains("H100")\n'
        "    2. pair: 2x gpu.nvidia.com  spec.spec.devices.requests[0].firstAvailable[1]\n"
        "      may be given 2x a100-40gb, not declared\n"
        "      4 a100-40gb match  node-a (4)\n"
        "      2 h100-80gb do not match\n"
        '        device.attributes["gpu.nvidia.com"].productName.contains("A100")\n'
        "  if the program runs on all of them, add to its annotations:\n"
        '    fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"\n'
    )


def test_json_of_a_claim(explained: Callable[..., list[Any]]) -> None:
    (found,) = explained(claim("both", BOTH, annotations={"fallgate.dev/compatible-shapes": "h100-80gb"}))
    assert list(found) == ["source", "apiVersion", "kind", "namespace", "name", "requests", "unresolved"]
    (request,) = found["requests"]
    assert list(request) == ["name", "podClaim", "via", "alternatives", "declaration", "allocated"]
    assert (request["name"], request["podClaim"], request["allocated"]) == ("gpu", "", "")
    assert request["declaration"] == {"text": "h100-80gb", "origin": "ResourceClaim both"}
    big, pair = request["alternatives"]
    assert list(big) == [
        "name",
        "path",
        "shapes",
        "matches",
        "devices",
        "errors",
        "uncertain",
        "declared",
        "unreachable",
        "certain",
        "hints",
        "hint",
        "untried",
    ]
    assert (big["name"], big["path"]) == ("big", "spec.devices.requests[0].firstAvailable[0]")
    assert (big["shapes"], big["matches"], big["errors"], big["uncertain"], big["declared"]) == (
        ["1x h100-80gb"],
        2,
        [],
        "",
        True,
    )
    assert (pair["shapes"], pair["matches"], pair["declared"]) == (["2x a100-40gb"], 4, False)
    assert big["devices"][-1] == {
        "driver": "gpu.nvidia.com",
        "pool": "node-h",
        "name": "gpu-1",
        "node": "node-h",
        "model": "h100-80gb",
        "outcome": "match",
        "error": "",
        "hint": "",
    }
    assert [item["outcome"] for item in big["devices"]] == ["no match"] * 4 + ["match"] * 2


def test_what_a_condition_was_not_asked_is_said(run: Any, write: Callable[..., str]) -> None:
    loop = "[1,2,3,4,5,6,7,8,9]"
    slow = f"{loop}.all(a, {loop}.all(b, {loop}.all(c, {loop}.all(d, a + b + c + d > 0)))) && shape.count > 0"
    lists = [first_available(f"r{i}", *(alternative(f"a{j}", "h100.example.com") for j in range(8))) for i in range(32)]
    asked = write("in.yaml", claim("many", *lists, annotations={"fallgate.dev/compatible-when": slow}))
    why = "it takes too many steps to be asked about all devices"
    text = run("explain", asked, *BASE).stdout
    assert text.count(f"      may be given 1x h100-80gb, not declared\n      fallgate.dev/compatible-when: {why}\n") == 256
    found = json.loads(run("explain", asked, *BASE, "-o", "json").stdout)
    assert {item["untried"] for request in found["requests"] for item in request["alternatives"]} == {why}
    few = write("few.yaml", claim("few", lists[0], annotations={"fallgate.dev/compatible-when": slow}))
    assert "compatible-when: it" not in run("explain", few, *BASE).stdout


def test_what_nothing_matches_says_what_is_there_instead(run: Any, write: Callable[..., str]) -> None:
    selector = 'device.attributes["gpu.nvidia.com"].productName == "H100"'
    found = run("explain", write("in.yaml", claim("c", exactly("gpu", "gpu.nvidia.com", selector))), *BASE)
    lines = found.stdout.splitlines()
    at = lines.index("      uncertain: no known device matches DeviceClass gpu.nvidia.com and its selectors")
    assert lines[at + 1] == (
        '        productName of these devices is "NVIDIA H100 80GB HBM3" and "NVIDIA A100-SXM4-40GB":'
        ' write device.attributes["gpu.nvidia.com"].productName.contains("H100")'
    )


GUARDED = (
    "other devices of gpu.nvidia.com have productName: write"
    ' has(device.attributes["gpu.nvidia.com"].productName) &&'
    ' device.attributes["gpu.nvidia.com"].productName.contains("H100")'
)


def test_cel_errors_are_told_by_device(explained: Callable[..., list[Any]], write: Callable[..., str]) -> None:
    write("fleet/odd.yaml", device_slice("node-o", device("odd", {"type": "gpu"})))
    (found,) = explained(claim("both", exactly("gpu", "h100.example.com")))
    (only,) = found["requests"][0]["alternatives"]
    (error,) = only["errors"]
    assert error == "gpu.nvidia.com/node-o/odd: no such key: productName"
    assert only["hints"] == [GUARDED]
    assert [item["hint"] for item in only["devices"]] == [""] * 6 + [GUARDED]
    assert [item["outcome"] for item in only["devices"]] == ["no match"] * 4 + ["match"] * 2 + ["error"]


def test_text_of_cel_errors_shows_the_message_and_the_selector(run: Any, write: Callable[..., str]) -> None:
    write("fleet/odd.yaml", device_slice("node-o", device("odd", {"type": "gpu"})))
    found = run("explain", write("in.yaml", claim("c", exactly("gpu", "h100.example.com"))), *BASE)
    lines = found.stdout.splitlines()
    at = lines.index("      1 ?gpu.nvidia.com/unknown raises a CEL error  on node-o: odd")
    assert lines[at + 1 : at + 4] == [
        "        no such key: productName",
        f"        {GUARDED}",
        '        in device.attributes["gpu.nvidia.com"].productName.contains("H100")',
    ]


def test_what_is_not_known_is_uncertain_and_neither_declared_nor_not(explained: Callable[..., list[Any]]) -> None:
    (found,) = explained(claim("c", exactly("gpu", "gone.example.com")))
    (only,) = found["requests"][0]["alternatives"]
    assert (only["shapes"], only["declared"], only["uncertain"]) == ([], None, "DeviceClass gone.example.com is not known")


def test_what_no_node_has_enough_of_is_known(run: Any, write: Callable[..., str]) -> None:
    asked = claim("c", exactly("gpu", "h100.example.com", count=3), exactly("other", "gpu.nvidia.com", count=5))
    lines = run("explain", write("in.yaml", asked), *BASE).stdout.splitlines()
    assert "      nothing can be given now: no feasible node has 3 matching devices together; the most is 2" in lines
    assert "      nothing can be given now: no feasible node has 5 matching devices together; the most is 4" in lines


def test_a_certain_error_leaves_nothing_uncertain(run: Any, write: Callable[..., str]) -> None:
    asked = claim("c", exactly("gpu", "gpu.nvidia.com", 'device.attributes["gpu.nvidia.com"].index == 0'))
    found = run("explain", write("in.yaml", asked), *BASE).stdout
    assert "uncertain" not in found
    assert "no node gets past the error" in found


def test_a_selector_that_does_not_compile_is_an_error(explained: Callable[..., list[Any]]) -> None:
    (found,) = explained(claim("c", exactly("gpu", "gpu.nvidia.com", "device.nope ==")))
    (only,) = found["requests"][0]["alternatives"]
    assert only["errors"][0].startswith("a selector does not compile: ")
    assert (only["uncertain"], only["hints"]) == ("", [""])
    assert only["devices"] == []


def test_what_would_help_stands_under_a_compile_error(run: Any, write: Callable[..., str]) -> None:
    asked = claim("c", exactly("gpu", "h100.example.com", 'device.attributes["productName"] == "H100"'))
    lines = run("explain", write("in.yaml", asked), *BASE).stdout.splitlines()
    at = lines.index(
        "      a selector does not compile: found no matching overload for '_==_' applied to '(map(string, dyn), string)'"
    )
    assert lines[at + 1 :] == [
        '        the first index is the domain, not the name: write device.attributes["gpu.nvidia.com"].productName'
    ]


def test_requests_of_a_pod_name_its_claim_and_their_origin(explained: Callable[..., list[Any]]) -> None:
    found = explained(template("both", BOTH), pod("p", templates={"acc": "both"}))
    assert [item["kind"] for item in found] == ["ResourceClaimTemplate", "Pod"]
    (request,) = found[1]["requests"]
    assert (request["name"], request["podClaim"]) == ("gpu", "acc")
    assert request["via"] == 'spec.resourceClaims[0] "acc" -> ResourceClaimTemplate both'
    assert request["declaration"] == {"text": "", "origin": ""}


def test_without_policies_devices_have_no_model_names(run: Any, write: Callable[..., str]) -> None:
    found = run("explain", write("in.yaml", claim("c", exactly("gpu", "h100.example.com"))), "--fleet", "fleet", "-o", "json")
    body = json.loads(found.stdout)
    assert body["requests"][0]["alternatives"][0]["shapes"] == ["1x ?gpu.nvidia.com/NVIDIA H100 80GB HBM3"]


def test_an_input_without_anything_to_explain_is_an_error(run: Any, write: Callable[..., str]) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    found = run("explain", write("in.yaml", config), *BASE)
    assert found.exit_code == 2
    assert found.stderr == ("error: there is nothing to explain: the input has no claim, template, pod or workload\n")


def test_text_tells_what_is_allocated_and_whether_it_is_declared(run: Any, write: Callable[..., str]) -> None:
    held = claim("held", BOTH, allocated=[result("gpu-0", "node-h", request="gpu/big")])
    declared = held | {"metadata": {**held["metadata"], "annotations": {"fallgate.dev/compatible-shapes": "h100-80gb"}}}
    name = write("in.yaml", held, declared)
    lines = run("explain", name, *BASE).stdout.splitlines()
    assert [line for line in lines if "allocated" in line] == [
        "    allocated: 1x h100-80gb, NOT declared",
        "    allocated: 1x h100-80gb, declared",
    ]
    found = run("explain", name, *BASE, "-o", "json").stdout.splitlines()
    assert [json.loads(line)["requests"][0]["allocated"] for line in found] == ["1x h100-80gb"] * 2


def test_text_shows_what_is_wrong_with_a_declaration(run: Any, write: Callable[..., str]) -> None:
    odd = claim("odd", BOTH, annotations={"fallgate.dev/compatible-shapes": "2 h100-80gb"})
    lines = run("explain", write("in.yaml", odd), *BASE).stdout.splitlines()
    assert lines[2:4] == [
        '    declared: "" (ResourceClaim odd)',
        '      fallgate.dev/compatible-shapes cannot be read: write the count as "2x"',
    ]


def test_text_of_an_ask_for_all_devices_and_of_a_selector_that_does_not_compile(run: Any, write: Callable[..., str]) -> None:
    every = claim("all", exactly("gpu", "h100.example.com", mode="All"), exactly("bad", "gpu.nvidia.com", "device.x =="))
    lines = run("explain", write("in.yaml", every), *BASE).stdout.splitlines()
    assert lines[3:5] == [
        "    all h100.example.com  spec.devices.requests[0].exactly",
        "      may be given *x h100-80gb, not declared",
    ]
    assert any(line.startswith("      a selector does not compile: ") for line in lines)


def test_text_says_when_shapes_come_from_the_catalogs_examples(run: Any, write: Callable[..., str], folder: Path) -> None:
    catalog = folder / "policies" / "policy.yaml"
    example = "    examples: [{attributes: {type: {string: gpu}, productName: {string: NVIDIA H100 80GB HBM3}}}]\n"
    model = '    selector: device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"\n'
    catalog.write_text(catalog.read_text().replace(model, model + example))
    write("empty/classes.yaml", device_class("h100.example.com", 'device.driver == "gpu.nvidia.com"'))
    text = run("explain", write("in.yaml", claim("c", BOTH)), "--policies", "policies", "--fleet", "empty").stdout
    assert (
        "      may be given 1x h100-80gb, not declared\n"
        "      no live device matches: the shapes are those of the catalog's examples\n"
    ) in text


def test_text_of_a_pod_without_claims_and_of_one_whose_claim_nobody_knows(run: Any, write: Callable[..., str]) -> None:
    strange = pod("strange")
    strange["spec"]["resourceClaims"] = [{"name": "gpu", "clusterResourceClaimTemplateName": "x"}]
    assert run("explain", write("in.yaml", pod("plain"), strange), *BASE).stdout == (
        "Pod team-a/plain  in.yaml:1\n"
        "  it asks for no devices by claim\n"
        "Pod team-a/strange  in.yaml:10\n"
        '  not found: spec.resourceClaims[0] "gpu": it names neither a claim nor a template that this release knows\n'
    )


def test_a_generated_claim_is_explained_by_its_pods_declaration(explained: Callable[..., list[Any]]) -> None:
    owner = pod(
        "trainer",
        templates={"acc": "both"},
        meta={"uid": "u-1", "annotations": {"fallgate.dev/compatible-shapes": "acc/gpu: h100-80gb"}},
    )
    generated = claim(
        "trainer-acc-x",
        BOTH,
        annotations={"resource.kubernetes.io/pod-claim-name": "acc"},
        ownerReferences=owned_by("Pod", "trainer", "u-1"),
    )
    (request,) = explained(generated, owner)[0]["requests"]
    assert (request["podClaim"], request["declaration"]) == ("acc", {"text": "h100-80gb", "origin": "Pod trainer"})


def test_a_bad_document_ends_with_2_and_the_rest_is_explained(run: Any, write: Callable[..., str], folder: Path) -> None:
    name = write("in.yaml", claim("c", BOTH))
    with (folder / name).open("a") as file:
        file.write("---\n- 1\n")
    found = run("explain", name, *BASE, "-o", "json")
    assert (found.exit_code, len(found.stdout.splitlines())) == (2, 1)
    assert found.stderr.startswith("error: in.yaml:")
