"""CEL as Kubernetes' Dynamic Resource Allocation speaks it: selectors of devices, and the policies' own expressions.

The public seam is what this file names. A small compiler stands behind it: frontend (text to tree), checker (types),
validators, the function table in `library`, and two back ends: closures (fast), and the counted program in `cost` (the
scheduler's exact costs and quirks); selector.py chooses. Nothing here does I/O or reads a clock.
"""

from __future__ import annotations

from webhook.cel.dialect import DIALECT_GATES
from webhook.cel.excerpt import excerpt, line_of, pointed
from webhook.cel.expression import Expression, Shared, compile_expression
from webhook.cel.problems import CompileProblem
from webhook.cel.references import Reference
from webhook.cel.selector import MATCH, NO_MATCH, Outcome, Selector, Verdict, compile_selector
from webhook.cel.types import (
    BOOL,
    DEVICE_ATTRIBUTES,
    DEVICE_CAPACITY,
    DYN,
    INT,
    QUANTITY,
    STRING,
    VariableType,
    list_of,
    map_of,
    object_of,
)
from webhook.cel.values import CelError

__all__ = [
    "BOOL",
    "DEVICE_ATTRIBUTES",
    "DEVICE_CAPACITY",
    "DIALECT_GATES",
    "DYN",
    "INT",
    "MATCH",
    "NO_MATCH",
    "QUANTITY",
    "STRING",
    "CelError",
    "CompileProblem",
    "Expression",
    "Outcome",
    "Reference",
    "Selector",
    "Shared",
    "VariableType",
    "Verdict",
    "compile_expression",
    "compile_selector",
    "excerpt",
    "line_of",
    "list_of",
    "map_of",
    "object_of",
    "pointed",
]
