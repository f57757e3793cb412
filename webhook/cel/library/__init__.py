"""The function table of the DRA environment: everything that a selector may call, from one place."""

from __future__ import annotations

from webhook.cel.library import (
    authorization,
    conversions,
    format,  # noqa: A004  # the module is named after CEL's function
    kubernetes,
    lists,
    named_formats,
    net,
    operators,
    optional,
    regex,
    strings,
    time,
    url,
)
from webhook.cel.library.table import Function, merge

FUNCTIONS: dict[str, Function] = merge(
    operators.FUNCTIONS,
    conversions.FUNCTIONS,
    strings.FUNCTIONS,
    format.FUNCTIONS,
    regex.FUNCTIONS,
    time.FUNCTIONS,
    lists.FUNCTIONS,
    optional.FUNCTIONS,
    kubernetes.FUNCTIONS,
    net.FUNCTIONS,
    url.FUNCTIONS,
    named_formats.FUNCTIONS,
    authorization.FUNCTIONS,
)
