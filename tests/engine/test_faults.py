"""What is answered when something of ours failed: all of it, or part of it."""

from __future__ import annotations

from webhook.engine import EngineSettings, undecided
from webhook.engine.faults import APOLOGY, fault_text, with_faults
from webhook.model.finding import Decision

DENY = EngineSettings(stance="deny")
PATCH = ({"op": "remove", "path": "/spec"},)


def test_what_was_not_judged_is_answered_by_the_stance() -> None:
    assert undecided("too late", EngineSettings()) == Decision(allowed=True, warnings=("too late",), internal_error="too late")
    assert undecided("too late", DENY) == Decision(allowed=False, code=500, message="too late", internal_error="too late")


def test_a_part_that_failed_changes_nothing_and_takes_back_no_denial() -> None:
    judged = Decision(allowed=True, warnings=("w",), patch=PATCH)
    assert with_faults(judged, ["a", "b"], EngineSettings()) == Decision(
        allowed=True, warnings=("w", APOLOGY), internal_error="a; b"
    )
    assert with_faults(judged, ["a"], DENY) == Decision(
        allowed=False, code=500, message=APOLOGY, warnings=("w",), internal_error="a"
    )
    denied = Decision(allowed=False, code=403, message="no", patch=PATCH)
    for settings in (EngineSettings(), DENY):
        assert with_faults(denied, ["a"], settings) == Decision(allowed=False, code=403, message="no", internal_error="a")


def test_a_fault_is_told_with_its_place() -> None:
    assert fault_text(ValueError("x")) == "ValueError: x"
    try:
        int("x")
    except ValueError as crash:
        told = fault_text(crash)
    assert told.startswith("ValueError: invalid literal for int() with base 10: 'x' (test_faults.py:")
    assert told.endswith(" in test_a_fault_is_told_with_its_place)")
