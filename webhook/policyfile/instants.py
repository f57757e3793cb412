"""Dates and instants: a date alone means its first or its last instant, in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from webhook.policyfile.field_types import FieldType, Json
from webhook.policyfile.spot import Spot, describe, shortened
from webhook.policyfile.yaml_nodes import Scalar

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT = _DATE + "T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[-+][0-9]{2}:[0-9]{2})"
_DAY = timedelta(days=1)
_LAST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """A date (`2027-06-30`) or an instant (`2027-06-30T12:00:00Z`).

    `end_of_day`: a date means the end of that day (something holds until then), else its beginning.
    """

    end_of_day: bool
    parts: tuple[FieldType[Any], ...] = ()

    @property
    def phrase(self) -> str:
        """`date`"""
        return "date"

    def read(self, spot: Spot) -> datetime:
        """The instant, in UTC."""
        node = spot.node
        written = node.text if isinstance(node, Scalar) and isinstance(node.value, str) else None
        if written is None:
            raise spot.fault(f"{spot.shown} must be a date, it is {describe(node)}", "write it as 2027-06-30")
        try:
            if re.fullmatch(_DATE, written):
                day = datetime.strptime(written, "%Y-%m-%d").replace(tzinfo=UTC)
                return day + _DAY - _LAST if self.end_of_day else day
            if re.fullmatch(_INSTANT, written):
                return datetime.fromisoformat(written).astimezone(UTC)
        except (ValueError, OverflowError):
            raise spot.fault(f'{spot.shown}: there is no day or time "{written}"') from None
        raise spot.fault(
            f'{spot.shown}: "{shortened(written)}" is no date',
            f"write it as 2027-06-30, which means the {'end' if self.end_of_day else 'beginning'} of that day in UTC, "
            "or as 2027-06-30T12:00:00Z",
        )

    def schema(self) -> Json:
        """Text with the pattern of a date or an instant."""
        return {"type": "string", "pattern": f"^(?:{_DATE}|{_INSTANT})$"}
