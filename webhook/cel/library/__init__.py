"""The function table of the DRA environment: everything that a selector may call, from one place."""

from __future__ import annotations

from webhook.cel.library import conversions, kubernetes, lists, operators, optional, regex, strings, time
from webhook.cel.library.table import Function, merge

FUNCTIONS: dict[str, Function] = merge(
    operators.FUNCTIONS,
    conversions.FUNCTIONS,
    strings.FUNCTIONS,
    regex.FUNCTIONS,
    time.FUNCTIONS,
    lists.FUNCTIONS,
    optional.FUNCTIONS,
    kubernetes.FUNCTIONS,
)
