"""The words of refusals and warnings."""

from __future__ import annotations

from dataclasses import replace

from webhook.engine.render import MOST_FINDINGS, WARNING_LENGTH, WARNINGS_LENGTH, denial, warning, warning_lines
from webhook.engine.respond import respond
from webhook.model.finding import Decision, Finding, Judged, Severity

UID = "705ab4f5-0000-4000-8000-000000000000"

FALLBACK = Finding(
    rule="fallback-compatibility",
    reason="shape-undeclared",
    severity="deny",
    headline='pod "trainer-7" may be given devices that its owner has not declared it can run on',
    via=('spec.resourceClaims[0] "accelerator" -> ResourceClaimTemplate h100-else-a100',),
    path="spec.resourceClaims[0]",
    place="spec.spec.devices.requests[0].firstAvailable[1]",
    detail='"a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)',
    remedy="if the program handles it, add to the pod template's annotations:\n"
    '  fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"\n'
    "otherwise remove the alternative a100-pair",
    policy="declared-fallbacks@3f2a91c",
)


def judged(finding: Finding, effect: Severity = "deny") -> Judged:
    return Judged(finding=finding, mode="enforce", effect=effect)


def test_a_refusal_says_what_where_why_and_what_instead() -> None:
    assert denial([judged(FALLBACK)], review=UID) == (
        'pod "trainer-7" may be given devices that its owner has not declared it can run on\n'
        '  spec.resourceClaims[0] "accelerator" -> ResourceClaimTemplate h100-else-a100\n'
        '    spec.spec.devices.requests[0].firstAvailable[1] "a100-pair": 2x a100-40gb is not declared (declared: h100-80gb)\n'
        "  if the program handles it, add to the pod template's annotations:\n"
        '    fallgate.dev/compatible-shapes: "h100-80gb, 2x a100-40gb"\n'
        "  otherwise remove the alternative a100-pair\n"
        "  [fallback-compatibility, policy declared-fallbacks@3f2a91c, review 705ab4f5]"
    )


def test_findings_of_one_place_share_its_lines_and_a_remedy_is_said_once() -> None:
    other = replace(FALLBACK, place="spec.spec.devices.requests[0].firstAvailable[2]", detail='"any": 1x t4 is not declared')
    text = denial([judged(FALLBACK), judged(other)])
    assert text.count("spec.resourceClaims[0]") == 1
    assert text.count("otherwise remove") == 1
    assert text.endswith("[fallback-compatibility, policy declared-fallbacks@3f2a91c]")


def test_two_rules_are_two_blocks_and_the_organisations_line_comes_last() -> None:
    second = Finding(rule="admin-access-label", reason="r", severity="deny", detail="no label", path="spec")
    text = denial(
        [judged(FALLBACK), judged(second), judged(replace(second, detail="a warning"), "warn")], help_line="Ask #gpu."
    )
    assert text.splitlines()[-3:] == ["  spec no label", "  [admin-access-label]", "Ask #gpu."]
    assert "a warning" not in text


def test_twenty_findings_are_spelt_out_and_the_rest_is_counted() -> None:
    assert MOST_FINDINGS == 20
    many = [judged(replace(FALLBACK, place=f"p{i:02}", detail=f"d{i:02}")) for i in range(MOST_FINDINGS + 7)]
    text = denial(many)
    assert "p19 d19" in text
    assert "p20 d20" not in text
    assert text.splitlines()[-1] == "and 7 more findings"
    assert denial(many[: MOST_FINDINGS + 1]).splitlines()[-1] == "and 1 more finding"
    assert "more finding" not in denial(many[:MOST_FINDINGS])


def test_a_warning_is_one_line() -> None:
    assert warning(FALLBACK) == (
        '[fallback-compatibility] spec.resourceClaims[0] "accelerator" -> ResourceClaimTemplate h100-else-a100: '
        'spec.spec.devices.requests[0].firstAvailable[1]: "a100-pair": 2x a100-40gb is not declared (declared: h100-80gb) '
        "(if the program handles it, add to the pod template's annotations: fallgate.dev/compatible-shapes: "
        '"h100-80gb, 2x a100-40gb"; otherwise remove the alternative a100-pair)'
    )
    bare = Finding(rule="r", reason="x", severity="warn", detail="tab\there\nand there")
    assert warning(bare) == "[r] tab here and there"


def test_warnings_fit_what_the_api_server_lets_through() -> None:
    long = Finding(rule="r", reason="x", severity="warn", detail="d" * 1000)
    line = warning(long)
    assert len(line) == WARNING_LENGTH
    assert line.endswith("ddd...")
    lines = warning_lines([judged(long, "warn")] * 50)
    assert len(lines) == WARNINGS_LENGTH // WARNING_LENGTH
    assert warning_lines([judged(long, "note"), judged(long, "deny")]) == ()


def test_the_answer_to_a_refusal() -> None:
    decision = Decision(allowed=False, code=403, message="m", findings=(judged(FALLBACK),), help="Ask #gpu.")
    response = respond(decision, UID)["response"]
    assert response["uid"] == UID
    assert response["allowed"] is False
    assert response["status"]["code"] == 403
    assert response["status"]["reason"] == "Forbidden"
    assert response["status"]["message"].splitlines()[-2:] == [
        "  [fallback-compatibility, policy declared-fallbacks@3f2a91c, review 705ab4f5]",
        "Ask #gpu.",
    ]
    assert response["status"]["details"]["causes"] == [
        {"reason": "shape-undeclared", "message": FALLBACK.detail, "field": "spec.resourceClaims[0]"}
    ]
    assert "patch" not in response


def test_the_answer_with_a_patch_and_warnings() -> None:
    decision = Decision(
        allowed=True,
        patch=({"op": "remove", "path": "/spec/a"},),
        warnings=("one",),
        audit_annotations={"findings": "x"},
    )
    assert respond(decision, UID) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": UID,
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL3NwZWMvYSJ9XQ==",
            "warnings": ["one"],
            "auditAnnotations": {"findings": "x"},
        },
    }


def test_our_own_fault_is_an_internal_error() -> None:
    response = respond(Decision(allowed=False, code=500, message="sorry"), UID)["response"]
    assert response["status"] == {"status": "Failure", "code": 500, "reason": "InternalError", "message": "sorry"}
