"""What hints say of numbers and texts that are compared with capacities."""

from __future__ import annotations

from typing import Final

from webhook.cel.ast import Literal, Node
from webhook.cel.spelling import spelt
from webhook.model.quantity import parse_quantity

#: A bare number below is hardly meant for an amount of bytes.
_SMALL: Final = 10_000


def without_unit(node: Node) -> str:
    """A remark on a bare number, to stand behind another one; "" where there is none to make."""
    value = node.value if isinstance(node, Literal) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _SMALL:
        return ""
    return f', and {spelt(node)} has no unit (with one: quantity("{spelt(node)}Gi"))'


def is_amount(node: Node) -> bool:
    """Whether it is a text that is a quantity."""
    if not isinstance(node, Literal) or type(node.value) is not str:
        return False
    try:
        parse_quantity(node.value)
    except ValueError:
        return False
    return True
