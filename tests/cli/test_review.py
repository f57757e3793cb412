"""`fallgate review`: what it prints, word by word, and its exit codes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from tests.build import alternative, claim, controller, exactly, first_available, namespace, pod, pod_spec, template
from webhook.engine import Admission
from webhook.model.finding import Decision

BASE = ("--policies", "policies", "--fleet", "fleet", "--now", "2027-01-01")
BOTH = first_available("gpu", alternative("big", "h100.example.com"), alternative("pair", "a100.example.com", count=2))
DECLARED = {"fallgate.dev/compatible-shapes": "h100-80gb, 2x a100-40gb"}

KEYS = [
    "source",
    "apiVersion",
    "kind",
    "namespace",
    "name",
    "operation",
    "allowed",
    "code",
    "message",
    "warnings",
    "findings",
    "patch",
    "auditAnnotations",
]


def json_of(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def without_digest(text: str) -> str:
    """The policy's digest changes with the file: only that there is one matters."""
    head, at, tail = text.partition("@")
    return head + at + tail[7:] if at else text


@pytest.fixture
def judge(run: Any, write: Callable[..., str]) -> Callable[..., list[Any]]:
    """The JSON of some objects."""

    def judge(*objects: Any, args: tuple[str, ...] = ()) -> list[Any]:
        return json_of(run("review", write("in.yaml", *objects), *BASE, *args, "-o", "json"))

    return judge


def test_text_of_a_denial(run: Any, write: Callable[..., str]) -> None:
    result = run("review", write("claim.yaml", claim("both", BOTH)), *BASE)
    assert result.exit_code == 1
    assert without_digest(result.stdout) == (
        "deny   ResourceClaim team-a/both  claim.yaml:1\n"
        '  ResourceClaim "both" may hand out devices that its owner has not declared the program can run on\n'
        '    spec.devices.requests[0].firstAvailable[0] "big": 1x h100-80gb is not declared (nothing is declared)\n'
        '    spec.devices.requests[0].firstAvailable[1] "pair": 2x a100-40gb is not declared (nothing is declared)\n'
        "    if the program handles it, add to its annotations:\n"
        '      fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"\n'
        "    otherwise leave only alternatives that it runs on\n"
        "    [fallback-compatibility, policy declared-fallbacks@]\n"
        "1 object: 1 denied\n"
    )
    assert result.stderr == ""


def test_text_of_a_change(run: Any, write: Callable[..., str]) -> None:
    plain = claim("plain", exactly(), namespace="dev-a", annotations=DECLARED)
    result = run("review", write("claim.yaml", plain), *BASE)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "mutate ResourceClaim dev-a/plain  claim.yaml:1"
    assert lines[2:4] == ["  stored as:", "    metadata.annotations"]
    assert lines[4].startswith('      + fallgate.dev/injected: \'{"requests":')
    assert lines[5:] == [
        '    spec.devices.requests[0] "gpu"',
        "      - exactly:",
        "      -   deviceClassName: gpu.nvidia.com",
        "      + firstAvailable:",
        "      + - name: requested",
        "      +   deviceClassName: gpu.nvidia.com",
        "      +   allocationMode: ExactCount",
        "      +   count: 1",
        "      + - name: a100-pair",
        "      +   deviceClassName: a100.example.com",
        "      +   allocationMode: ExactCount",
        "      +   count: 2",
        "1 object: 1 changed",
    ]


def test_text_of_kinds_that_no_rule_reads_and_of_excluded_namespaces(run: Any, write: Callable[..., str]) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team-a"}}
    result = run("review", write("in.yaml", config, claim("x", BOTH, namespace="kube-system")), *BASE)
    assert result.exit_code == 0
    assert result.stdout == (
        "allow  ConfigMap team-a/c  in.yaml:1  (no rule reads this kind)\n"
        "allow  ResourceClaim kube-system/x  in.yaml:7  (namespace kube-system is excluded)\n"
        "2 objects: 2 allowed\n"
    )


def test_json_keys_and_values_of_a_denial(judge: Callable[..., list[Any]]) -> None:
    (found,) = judge(claim("both", first_available("gpu", alternative("big", "h100.example.com"))))
    assert list(found) == KEYS
    assert [found[key] for key in KEYS[:8]] == [
        "in.yaml:1",
        "resource.k8s.io/v1",
        "ResourceClaim",
        "team-a",
        "both",
        "CREATE",
        False,
        403,
    ]
    (finding,) = found["findings"]
    assert list(finding) == ["rule", "reason", "detail", "severity", "mode", "path", "remedy", "policy"]
    assert finding["rule"] == "fallback-compatibility"
    assert finding["reason"] == "shape-undeclared"
    assert finding["severity"] == "deny"
    assert finding["mode"] == "enforce"
    assert finding["path"] == "spec.devices.requests[0].firstAvailable[0]"
    assert finding["detail"] in found["message"]
    assert found["patch"] == []
    assert found["warnings"] == []
    assert found["auditAnnotations"]["findings"].startswith("deny fallback-compatibility/shape-undeclared ")


def test_json_of_a_change_has_the_patch(judge: Callable[..., list[Any]]) -> None:
    (found,) = judge(claim("plain", exactly(), namespace="dev-a", annotations=DECLARED))
    assert (found["allowed"], found["code"], found["message"]) == (True, 200, "")
    touched = {(op["op"], op["path"]) for op in found["patch"]}
    assert ("add", "/spec/devices/requests/0/firstAvailable") in touched
    assert ("remove", "/spec/devices/requests/0/exactly") in touched


def test_severity_is_the_effect_after_modes(judge: Callable[..., list[Any]]) -> None:
    (found,) = judge(claim("both", BOTH), args=("--audit-only",))
    assert found["allowed"]
    assert {(item["severity"], item["mode"]) for item in found["findings"]} == {("note", "audit")}


def test_text_of_a_capped_denial_says_what_it_would_be(run: Any, write: Callable[..., str]) -> None:
    result = run("review", write("in.yaml", claim("both", BOTH)), *BASE, "--audit-only")
    assert result.exit_code == 0
    assert "  note (mode audit, would deny): [fallback-compatibility] " in result.stdout


def test_audit_mode_shows_what_would_be_stored(run: Any, write: Callable[..., str]) -> None:
    plain = claim("plain", exactly(), namespace="dev-a", annotations=DECLARED)
    result = run("review", write("in.yaml", plain), *BASE, "--audit-only")
    assert result.stdout.startswith("allow  ResourceClaim dev-a/plain")
    assert "  would be stored as, were the mode enforce:\n    metadata.annotations\n" in result.stdout


def test_objects_of_one_input_see_each_other_whatever_their_order(judge: Callable[..., list[Any]]) -> None:
    first, second = judge(
        pod("trainer", templates={"gpu": "both"}, meta={"annotations": {"fallgate.dev/compatible-shapes": "h100-80gb"}}),
        template("both", BOTH, annotations=DECLARED),
    )
    assert (first["kind"], first["allowed"]) == ("Pod", False)
    assert "2x a100-40gb is not declared (declared: h100-80gb)" in first["message"]
    assert (second["kind"], second["allowed"]) == ("ResourceClaimTemplate", True)


def test_pods_see_templates_as_they_are_stored(judge: Callable[..., list[Any]]) -> None:
    # The template of the tier namespace gets a list; the pod's own, nearer declaration does not cover what was added.
    first, second = judge(
        pod(
            "trainer",
            namespace="dev-a",
            templates={"gpu": "plain"},
            meta={"annotations": {"fallgate.dev/compatible-shapes": "h100-80gb, a100-40gb"}},
        ),
        template("plain", exactly(), namespace="dev-a", annotations={"fallgate.dev/compatible-shapes": "*-*, 2x a100-40gb"}),
    )
    assert second["patch"]
    assert "2x a100-40gb" in first["message"]


def test_the_input_wins_over_the_fleet(judge: Callable[..., list[Any]]) -> None:
    plain = claim("plain", exactly(), namespace="dev-a", annotations=DECLARED)
    assert judge(plain)[0]["patch"]
    assert not judge(plain, namespace("dev-a"))[0]["patch"]


def test_a_namespace_is_filled_in_for_namespaced_kinds_only(judge: Callable[..., list[Any]]) -> None:
    plain = claim("plain", exactly(), namespace="", annotations=DECLARED)
    found = judge(plain, namespace("dev-b"), args=("--namespace", "dev-a"))
    assert [item["namespace"] for item in found] == ["dev-a", ""]
    assert found[0]["patch"]


def test_a_generated_name_is_shown_as_written(judge: Callable[..., list[Any]]) -> None:
    body = claim("", exactly())
    body["metadata"] = {"generateName": "notebook-gpu-", "namespace": "team-a"}
    assert judge(body)[0]["name"] == "notebook-gpu-"


def test_an_update_is_judged_against_the_old_object(judge: Callable[..., list[Any]], write: Callable[..., str]) -> None:
    write("shared.yaml", template("both", BOTH))
    new = controller("Deployment", "web", pod_spec(templates={"gpu": "both"}), replicas=2)
    old = controller("Deployment", "web", pod_spec(), replicas=2)
    write("old.yaml", old)
    changed = judge(new, template("both", BOTH), args=("--old", "old.yaml"))[0]
    assert changed["operation"] == "UPDATE"
    assert [item["reason"] for item in changed["findings"]] == ["shape-undeclared"] * 2
    # Without an old object nothing has changed, so nothing is judged.
    assert judge(new, template("both", BOTH), args=("--operation", "UPDATE"))[0]["findings"] == []
    # One of the same name in the fleet is the old one.
    write("fleet/old.yaml", old)
    assert judge(new, template("both", BOTH), args=("--operation", "UPDATE"))[0]["findings"] == changed["findings"]


def review_document(body: Any, **request: Any) -> dict[str, Any]:
    group, _, version = body["apiVersion"].rpartition("/")
    fields = {
        "uid": "u-1",
        "kind": {"group": group, "version": version, "kind": body["kind"]},
        "namespace": "team-a",
        "operation": "CREATE",
        "userInfo": {"username": "jane"},
        "object": body,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": fields | request}


def test_admission_reviews_as_json_lines_bring_their_own_operation_user_and_namespace(run: Any) -> None:
    special = claim("special", exactly(), namespace="", annotations={"resource.kubernetes.io/extended-resource-claim": "true"})
    both = claim("both", BOTH, namespace="")
    lines = "\n".join(
        json.dumps(document)
        for document in (
            review_document(both),
            review_document(both, operation="DELETE", object=None, name="both"),
            review_document(special, operation="UPDATE", oldObject=special),
        )
    )
    result = run("review", "-", *BASE, "-o", "json", stdin=lines)
    assert result.exit_code == 1
    shown = [(item["source"], item["operation"], item["namespace"], item["name"], item["allowed"]) for item in json_of(result)]
    assert shown == [
        ("stdin:1", "CREATE", "team-a", "both", False),
        ("stdin:2", "DELETE", "team-a", "both", True),
        ("stdin:3", "UPDATE", "team-a", "special", True),
    ]


def test_manifests_and_admission_reviews_may_be_mixed(run: Any, write: Callable[..., str]) -> None:
    name = write("in.yaml", review_document(claim("one", BOTH)), claim("two", BOTH))
    result = run("review", name, *BASE, "-o", "json")
    assert [(item["name"], item["allowed"]) for item in json_of(result)] == [("one", False), ("two", False)]


def test_an_admission_review_that_is_none_is_a_bad_document(run: Any, write: Callable[..., str]) -> None:
    broken = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "x"}}
    result = run("review", write("in.yaml", broken, claim("plain", exactly())), *BASE, "-o", "json")
    assert result.exit_code == 2
    assert result.stderr == "error: in.yaml:1: request.kind.kind is missing\n"
    assert [item["name"] for item in json_of(result)] == ["plain"]


def test_a_bad_document_is_reported_with_its_line_and_the_others_are_judged(run: Any, folder: Path) -> None:
    text = yaml.safe_dump(claim("one", exactly())) + "---\nkind: [oops\n---\n" + yaml.safe_dump(claim("two", BOTH))
    (folder / "in.yaml").write_text(text)
    result = run("review", "in.yaml", *BASE, "-o", "json")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: in.yaml:")
    assert [(item["name"], item["allowed"]) for item in json_of(result)] == [("one", True), ("two", False)]


def test_folders_lists_gzip_and_json_are_read(run: Any, folder: Path) -> None:
    (folder / "in" / "sub").mkdir(parents=True)
    listed = {"apiVersion": "v1", "kind": "List", "items": [claim("one", exactly()), claim("two", exactly())]}
    (folder / "in" / "a.json").write_text(json.dumps(listed, indent=1))
    (folder / "in" / "sub" / "b.yaml.gz").write_bytes(gzip.compress(yaml.safe_dump(claim("three", exactly())).encode()))
    (folder / "in" / "notes.txt").write_text("not a manifest")
    result = run("review", "in", *BASE, "-o", "json")
    assert [item["name"] for item in json_of(result)] == ["one", "two", "three"]
    assert [item["source"] for item in json_of(result)] == ["in/a.json:5", "in/a.json:25", "in/sub/b.yaml.gz:1"]


def test_yaml_output_is_the_same_as_json(run: Any, write: Callable[..., str]) -> None:
    name = write("in.yaml", claim("both", BOTH))
    as_yaml = run("review", name, *BASE, "-o", "yaml").stdout
    assert list(yaml.safe_load_all(as_yaml)) == json_of(run("review", name, *BASE, "-o", "json"))


def test_junit_output_has_a_failure_per_denial(run: Any, write: Callable[..., str]) -> None:
    result = run("review", write("in.yaml", claim("both", BOTH), claim("plain", exactly())), *BASE, "-o", "junit")
    assert result.exit_code == 1
    assert '<testsuites name="fallgate review" tests="2" failures="1" errors="0">' in result.stdout
    assert '<testcase name="ResourceClaim team-a/both" classname="in.yaml" file="in.yaml" line="1">' in result.stdout
    assert 'type="shape-undeclared"' in result.stdout


def test_sarif_output_points_to_the_line_of_the_alternative(run: Any, write: Callable[..., str], folder: Path) -> None:
    name = write("in.yaml", claim("plain", exactly()), claim("both", BOTH))
    result = run("review", name, *BASE, "-o", "sarif")
    assert result.exit_code == 1
    log = json.loads(result.stdout)
    places = [item["locations"][0]["physicalLocation"]["region"]["startLine"] for item in log["runs"][0]["results"]]
    written = (folder / name).read_text().splitlines()
    assert [written[line - 1].strip() for line in places] == ["- name: big", "- name: pair"]
    assert {item["level"] for item in log["runs"][0]["results"]} == {"error"}
    names = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert "fallback-compatibility" in names
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (
            ["in.yaml", "--fleet", "fleet"],
            2,
            "error: no policies are named, so nothing would be enforced: add --policies DIR (a folder of policy files) or"
            " --pack NAME (to begin with: --pack starter)\n",
        ),
        (["gone.yaml", *BASE], 2, "error: gone.yaml: there is no such file or folder\n"),
        (["in.yaml", "--policies", "gone"], 2, "error: gone: no such policy folder or file\n"),
        (["in.yaml", "--policies", "policies", "--fleet", "gone"], 2, "error: gone: no such folder or file\n"),
        (["empty", *BASE], 2, "error: empty: there is no manifest in this folder"),
        (["in.yaml", *BASE, "--now", "tomorrow"], 2, "'tomorrow' is no time; write 2027-01-15T08:00:00Z or 2027-01-15"),
        (["in.yaml", *BASE, "--server-version", "new"], 2, "'new' is no Kubernetes version; write it as 1.36"),
        (["in.yaml", *BASE, "--feature-gates", "X"], 2, "'X' is no feature gate setting; write DRAPrioritizedList=true"),
        (["in.yaml", *BASE, "--operation", "PATCH"], 2, "Invalid value for '--operation'"),
        (["in.yaml", *BASE, "-o", "xml"], 2, "Invalid value for '-o'"),
    ],
)
def test_bad_usage_ends_with_2_and_a_message(
    run: Any, write: Callable[..., str], folder: Path, args: list[str], code: int, message: str
) -> None:
    write("in.yaml", claim("plain", exactly()))
    (folder / "empty").mkdir()
    result = run("review", *args)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


def test_policies_with_mistakes_are_not_used(run: Any, write: Callable[..., str], folder: Path) -> None:
    policy = folder / "policies" / "policy.yaml"
    policy.write_text(policy.read_text().replace("kind: FallbackCompatibility", "kind: FallbackCompatability"))
    result = run("review", write("in.yaml", claim("plain", exactly())), *BASE)
    assert result.exit_code == 2
    first, excerpt, caret, *_, last = result.stderr.splitlines()
    assert first.startswith('policies/policy.yaml:14:7: kind: "FallbackCompatability" is none of ')
    assert (excerpt, caret) == ("    kind: FallbackCompatability", "          ^")
    assert last == "error: the policies have 1 mistake and are not in force: nothing was judged"
    assert result.stdout == ""


def test_an_unknown_feature_gate_is_a_warning(run: Any, write: Callable[..., str]) -> None:
    result = run("review", write("in.yaml", claim("p", exactly())), *BASE, "--feature-gates", "DRAPrioritisedList=false")
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: --feature-gates: no rule knows the gate DRAPrioritisedList: it changes nothing; did you mean"
        " DRAPrioritizedList?\n"
    )


def test_the_servers_version_comes_from_the_option_else_from_the_fleet(run: Any, write: Callable[..., str]) -> None:
    write("fleet/server.yaml", {"apiVersion": "fallgate.dev/v1alpha1", "kind": "Server", "spec": {"version": "1.33"}})
    # Before 1.34 the server would drop firstAvailable: nothing is injected.
    name = write("in.yaml", claim("plain", exactly(), namespace="dev-a", annotations=DECLARED))
    assert json_of(run("review", name, *BASE, "-o", "json"))[0]["patch"] == []
    assert json_of(run("review", name, *BASE, "-o", "json", "--server-version", "1.36"))[0]["patch"] != []


def test_what_is_wrong_in_the_fleet_is_said_and_the_rest_used(run: Any, write: Callable[..., str], folder: Path) -> None:
    (folder / "fleet" / "broken.yaml").write_text("- 1\n")
    result = run("review", write("in.yaml", claim("both", BOTH)), *BASE, "-o", "json")
    assert result.exit_code == 1
    assert result.stderr.startswith("warning: broken.yaml:1: the fleet: ")


def test_a_pack_that_is_not_there_is_named_with_those_that_are(run: Any, write: Callable[..., str]) -> None:
    result = run("review", write("in.yaml", claim("p", exactly())), "--pack", "nvidiaa", "--fleet", "fleet")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: --pack nvidiaa: there is no such pack; there are amd, ")


def test_no_colours_in_a_pipe(run: Any, write: Callable[..., str]) -> None:
    assert "\x1b" not in run("review", write("in.yaml", claim("both", BOTH)), *BASE).stdout


def test_a_missing_fleet_is_said(run: Any, write: Callable[..., str]) -> None:
    result = run("review", write("in.yaml", claim("p", exactly())), "--policies", "policies")
    assert result.exit_code == 0
    assert result.stderr == "note: no fleet is named: nothing is known of the cluster but what the input holds\n"


def test_packs_are_found_by_name_beside_and_below(
    run: Any, write: Callable[..., str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.cli.inputs.policies._PACK_FOLDERS", (folder / "away", folder / "policies"))
    (folder / "policies" / "mine").mkdir()
    (folder / "policies" / "policy.yaml").rename(folder / "policies" / "mine" / "policy.yaml")
    name = write("in.yaml", claim("both", BOTH))
    assert run("review", name, "--pack", "mine", "--fleet", "fleet").exit_code == 1
    monkeypatch.setattr("webhook.cli.inputs.policies._PACK_FOLDERS", (folder / "away",))
    found = run("review", name, "--pack", "mine", "--fleet", "fleet")
    assert (found.exit_code, found.stderr) == (
        2,
        "error: --pack mine: no packs are installed; name the folder of a pack with --policies\n",
    )


def test_a_crashed_rule_is_a_fault_that_shows_in_the_text_and_the_exit_code(
    run: Any, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(review: Any, *_: Any, **__: Any) -> Admission:
        return Admission(object=review.object, decision=Decision(allowed=True, internal_error="rule x failed:\nKeyError"))

    monkeypatch.setattr("webhook.cli.judging.admit", faulty)
    name = write("in.yaml", claim("both", BOTH))
    found = run("review", name, *BASE)
    assert (found.exit_code, found.stdout.splitlines()[1]) == (3, "  fault: rule x failed: KeyError")
    assert '<error message="rule x failed:">' in run("review", name, *BASE, "-o", "junit").stdout
    found = run("patch", name, *BASE)
    assert (found.exit_code, found.stderr) == (3, "error: in.yaml:1: rule x failed:\nKeyError\n")


def test_fleet_objects_without_a_namespace_are_in_the_only_one_of_the_input(
    judge: Callable[..., list[Any]], write: Callable[..., str]
) -> None:
    write("fleet/template.yaml", template("both", BOTH, namespace=""))
    trainer = pod("trainer", templates={"gpu": "both"})
    assert not judge(trainer)[0]["allowed"]
    assert judge(trainer, args=("-n", "elsewhere"))[0]["allowed"]
