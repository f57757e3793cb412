"""Our own faults: a rule that crashed, a decision that failed. What is answered then, and what the log is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from traceback import extract_tb

from webhook.engine.settings import EngineSettings
from webhook.model.finding import Decision

APOLOGY = "Fallgate could not judge this object because of a fault of its own; its log has the details"
INTERNAL = 500


def with_faults(decision: Decision, faults: Sequence[str], settings: EngineSettings) -> Decision:
    """What is answered when part of a judgement failed: what the other rules denied stays denied, otherwise the stance answers.

    Nothing is changed in the object. All that was found stays in the decision, its audit annotations and warnings.
    """
    told = replace(decision, patch=(), internal_error="; ".join(faults))
    if not decision.allowed:
        return told
    return _by_stance(told, APOLOGY, settings)


def undecided(why: str, settings: EngineSettings) -> Decision:
    """The answer to a request that was not judged at all, by the stance. `why` is for its sender."""
    return _by_stance(Decision(allowed=True, internal_error=why), why, settings)


def _by_stance(decision: Decision, why: str, settings: EngineSettings) -> Decision:
    if settings.stance == "deny":
        return replace(decision, allowed=False, code=INTERNAL, message=why)
    return replace(decision, warnings=(*decision.warnings, why))


def fault_text(crash: Exception) -> str:
    """The exception and where it was raised, in one line: `KeyError: 'x' (claim_rule.py:42 in check)`."""
    frames = extract_tb(crash.__traceback__)
    if not frames:
        return f"{type(crash).__name__}: {crash}"
    file = frames[-1].filename.replace("\\", "/").rpartition("/")[2]
    return f"{type(crash).__name__}: {crash} ({file}:{frames[-1].lineno} in {frames[-1].name})"
