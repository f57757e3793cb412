"""A comparison that takes a capacity for a number or a text, written as one of amounts."""

from __future__ import annotations

import re
from typing import Final

from webhook.cel import Reference
from webhook.model.quantity import cached_quantity
from webhook.rulekit.selectors.paths import path_of, spellings_of

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_OPERATOR: Final = r"([=!]=|[<>]=?)"
_AMOUNT: Final = r"(-?[0-9]+(?:\.[0-9]+)?(?![\w.])|\"[^\"\\]*\"|'[^'\\]*')"
#: What a term begins behind, and what it ends before.
_BEGIN: Final = re.compile(r"(?:^|&&|\|\||[(,?:])\s*$")
_END: Final = re.compile(r"\s*(?:$|&&|\|\||[),?:])")
#: A bare number below is hardly meant for an amount of bytes.
_SMALL: Final = 10_000


def as_amount(expression: str, read: Reference, held: tuple[str, str]) -> tuple[str, str]:
    """The capacity `held` (domain and name), compared as `expression` compares the attribute that is `read`.

    The capacity alone where that is no simple comparison. Before it comes a remark on a number without a unit, or "".
    """
    path = path_of("capacity", *held)
    found = _comparison(expression, spellings_of("attribute", read.domain, read.name).pattern)
    if found is None:
        return "", path
    operator, written = found
    amount = written.strip("\"'")
    remark = f'{amount} has no unit (with one: quantity("{amount}Gi"))' if written == amount and _is_small(amount) else ""
    return remark, f'{path}.compareTo(quantity("{amount}")) {operator} 0'


def _comparison(expression: str, path: str) -> tuple[str, str] | None:
    """The operator behind the path, and the amount."""
    for pattern, flipped in ((rf"{path}\s*{_OPERATOR}\s*{_AMOUNT}", False), (rf"{_AMOUNT}\s*{_OPERATOR}\s*{path}", True)):
        for found in re.finditer(pattern, expression):
            if not _BEGIN.search(expression[: found.start()]) or not _END.match(expression, found.end()):
                continue
            amount, operator = (found[1], _FLIPPED[found[2]]) if flipped else (found[2], found[1])
            if _is_amount(amount.strip("\"'")):
                return operator, amount
    return None


def _is_amount(text: str) -> bool:
    try:
        cached_quantity(text)
    except ValueError:
        return False
    return True


def _is_small(amount: str) -> bool:
    return 0 < float(amount) < _SMALL
