"""Timestamps and durations: reading, spelling, and the parts of a time in a time zone.

Both are kept as nanoseconds. There is no clock here: CEL has no "now".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from webhook.cel.library.numbers import format_plain
from webhook.cel.library.table import Function, Overload
from webhook.cel.types import DURATION, INT, STRING, TIMESTAMP
from webhook.cel.values import INT_MAX, INT_MIN, Duration, EvaluationError, Timestamp

_SECOND = 10**9
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> int | None:
    """Nanoseconds of a duration such as "1h15m", or None."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest):
        match = _PART.match(rest, position)
        if match is None or not (match[1] or match[2]) or len(match[1]) > 20:
            return None
        total += int(match[1] or 0) * _UNITS[match[3]]
        if match[2]:
            total += int(Fraction(int(match[2][:30]), 10 ** len(match[2][:30])) * _UNITS[match[3]])
        position = match.end()
    in_range = INT_MIN <= sign * total <= INT_MAX
    return sign * total if rest and in_range else None


def duration_text(value: Duration) -> str:
    """A duration in seconds, such as "1.5s"."""
    whole, nanos = divmod(abs(value.nanos), _SECOND)
    return format_plain((whole + nanos / 1e9) * (-1 if value.nanos < 0 else 1)) + "s"


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds since 1970 of an RFC 3339 time, or None."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    try:
        moment = datetime(max(year, 1), month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    offset = _offset(match[8])
    if offset is None:
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset - (366 * 86400 if year == 0 else 0)
    return seconds * _SECOND + int((match[7] or "0")[:9].ljust(9, "0"))


def _offset(zone: str) -> int | None:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def timestamp_text(value: Timestamp) -> str:
    """A timestamp in RFC 3339 and UTC, without trailing zeros."""
    seconds, nanos = divmod(value.nanos, _SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}T{moment:%H:%M:%S}{fraction}Z"


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    if ":" in name:
        match = re.fullmatch(r"([+-]?)([0-9]{1,4}):([0-9]{1,4})", name)
        if match is None:
            raise EvaluationError(f"invalid timezone: {name}")
        minutes = int(match[2]) * 60 + int(match[3])
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(name or "UTC")
    except (OSError, ValueError, KeyError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _local(value: Timestamp, zone: str) -> datetime:
    moment = _EPOCH + timedelta(seconds=value.nanos // _SECOND)
    try:
        return moment.astimezone(_zone(zone))
    except (OverflowError, ValueError):
        raise EvaluationError("timestamp overflow") from None


def _whole(nanos: int, unit: int) -> int:
    return abs(nanos) // unit * (-1 if nanos < 0 else 1)


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}
_LENGTHS = {
    "getHours": 3600 * _SECOND,
    "getMinutes": 60 * _SECOND,
    "getSeconds": _SECOND,
    "getMilliseconds": 10**6,
}


def _part(name: str) -> Callable[[Timestamp, str], int]:
    read = _PARTS[name]
    return lambda value, zone="UTC": read(_local(value, zone))


def _milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    _zone(zone)
    return value.nanos % _SECOND // 10**6


def _accessor(name: str) -> Function:
    call: Callable[..., Any] = _milliseconds if name == "getMilliseconds" else _part(name)
    overloads = [
        Overload(f"timestamp_{name}", (TIMESTAMP,), INT, call, member=True),
        Overload(f"timestamp_{name}_with_tz", (TIMESTAMP, STRING), INT, call, member=True),
    ]
    unit = _LENGTHS.get(name)
    if unit is not None:
        length = lambda value: _whole(value.nanos, unit)  # noqa: E731
        overloads.append(Overload(f"duration_{name}", (DURATION,), INT, length, member=True))
    return Function(name, tuple(overloads))


FUNCTIONS: tuple[Function, ...] = tuple(_accessor(name) for name in [*_PARTS, "getMilliseconds"])
