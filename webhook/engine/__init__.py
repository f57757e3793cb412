"""Review + fleet + policies + now -> Decision; Decision -> AdmissionReview. Pure and total."""

from __future__ import annotations

from webhook.engine.admit import Admission, admit
from webhook.engine.decide import decide
from webhook.engine.faults import undecided
from webhook.engine.respond import respond
from webhook.engine.settings import DEFAULTS, EngineSettings

__all__ = ["DEFAULTS", "Admission", "EngineSettings", "admit", "decide", "respond", "undecided"]
