"""Timestamps and durations: reading, spelling, and the parts of a time in a time zone.

Both are kept as nanoseconds. There is no clock here: CEL has no "now".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any
from zoneinfo import ZoneInfo

from webhook.cel.library.numbers import format_plain, parse_int
from webhook.cel.library.table import Function, Overload
from webhook.cel.types import DURATION, INT, STRING, TIMESTAMP
from webhook.cel.values import INT_MAX, INT_MIN, Duration, EvaluationError, Timestamp

_SECOND = 10**9
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
# Zones have had their first offset until then, and follow rules that repeat after the Gregorian cycle of 400 years: in its last
# years datetime cannot hold a time in every zone.
_ZONES_FROM, _ZONES_TO = -62_000_000_000, 253_000_000_000
_CYCLE = 146_097 * 86_400
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


def parse_timestamp(text: str) -> tuple[int, int] | None:
    """Nanoseconds since 1970 of an RFC 3339 time and the offset of its zone in seconds, or None."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    offset = _written_offset(match[8])
    valid_day = 1 <= month <= 12 and 1 <= day <= _days_in_month(year, month)
    if offset is None or not valid_day or hour > 23 or minute > 59 or second > 59:
        return None
    seconds = (_day_number(year, month, day) * 24 + hour) * 3600 + minute * 60 + second - offset
    return seconds * _SECOND + int((match[7] or "0")[:9].ljust(9, "0")), offset


def _written_offset(zone: str) -> int | None:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def timestamp_text(value: Timestamp) -> str:
    """A timestamp in RFC 3339, in the zone that it was written in, without trailing zeros."""
    moment = _Moment(value.nanos // _SECOND + value.offset)
    nanos = value.nanos % _SECOND
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    minutes = abs(value.offset) // 60
    zone = f"{'-' if value.offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}" if value.offset else "Z"
    clock = f"{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    return f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}T{clock}{fraction}{zone}"


# The calendar, for any year: zones may move a time out of the years that datetime knows.


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01."""
    before = year - 1
    leaps = before // 4 - before // 100 + before // 400
    in_year = sum(_days_in_month(year, earlier) for earlier in range(1, month)) + day - 1
    return before * 365 + leaps + in_year - 719162


class _Moment:
    """A local time taken apart."""

    def __init__(self, seconds: int) -> None:
        days, rest = divmod(seconds, 86400)
        self.weekday = (days + 4) % 7  # the first of January 1970 was a Thursday
        self.hour, self.minute, self.second = rest // 3600, rest // 60 % 60, rest % 60
        self.year = 1970 + days * 400 // 146097
        while _day_number(self.year, 1, 1) > days:
            self.year -= 1
        while _day_number(self.year + 1, 1, 1) <= days:
            self.year += 1
        self.day_of_year = days - _day_number(self.year, 1, 1)
        self.month, self.day = 1, self.day_of_year + 1
        while self.day > _days_in_month(self.year, self.month):
            self.day -= _days_in_month(self.year, self.month)
            self.month += 1


def _local(value: Timestamp, zone: str) -> _Moment:
    seconds = value.nanos // _SECOND
    return _Moment(seconds + _zone_offset(zone, seconds))


def _zone_offset(zone: str, seconds: int) -> int:
    """How far a zone is ahead of UTC at a time, in seconds."""
    if ":" in zone:
        return _numeric_offset(zone)
    named = _named_zone(zone)
    known = max(seconds, _ZONES_FROM) if seconds <= _ZONES_TO else seconds - _CYCLE
    offset = named.utcoffset((_EPOCH + timedelta(seconds=known)).astimezone(named))
    return int(offset.total_seconds()) if offset is not None else 0


def _numeric_offset(zone: str) -> int:
    hours_text, _, minutes_text = zone.partition(":")
    hours, minutes = (_atoi(text) for text in (hours_text, minutes_text))
    ahead = hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes
    nanos = _wrapped(_wrapped(ahead) * 60 * _SECOND)
    return nanos // _SECOND if nanos >= 0 else -(-nanos // _SECOND)


def _wrapped(number: int) -> int:
    """A number as Go's int64 holds it, in which the library works out offsets without looking for an overflow."""
    return (number - INT_MIN) % 2**64 + INT_MIN


def _atoi(text: str) -> int:
    number = parse_int(text)
    if number is None:
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": invalid syntax')
    if not INT_MIN <= number <= INT_MAX:
        raise EvaluationError(f'strconv.Atoi: parsing "{text}": value out of range')
    return number


@lru_cache(maxsize=256)
def _named_zone(name: str) -> ZoneInfo:
    if name in ("", "Local"):
        return ZoneInfo("UTC")
    # A path as Go opens it: before its end, doubled slashes and dots for the same folder do nothing.
    *folders, last = name.split("/")
    path = name if name.startswith("/") else "/".join([*(part for part in folders if part not in ("", ".")), last])
    try:
        return ZoneInfo(path)
    except (OSError, ValueError, KeyError):
        raise EvaluationError(f"unknown time zone {name}") from None


def _length(unit: int, value: Duration) -> int:
    """A duration in whole units, by way of a float as in Go: close to the next unit it rounds up."""
    sign = -1 if value.nanos < 0 else 1
    whole, rest = divmod(abs(value.nanos), unit)
    return sign * int(whole if unit < _SECOND else float(whole) + float(rest) / unit)


_PARTS: dict[str, Callable[[_Moment], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.day_of_year,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.weekday,
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


def _part(name: str) -> Callable[..., int]:
    read = _PARTS[name]

    def part(value: Timestamp, zone: str = "UTC") -> int:
        return read(_local(value, zone))

    return part


def _milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    _zone_offset(zone, 0)
    return value.nanos % _SECOND // 10**6


def _accessor(name: str) -> Function:
    call: Callable[..., Any] = _milliseconds if name == "getMilliseconds" else _part(name)
    overloads = [
        Overload(f"timestamp_{name}", (TIMESTAMP,), INT, call, member=True),
        Overload(f"timestamp_{name}_with_tz", (TIMESTAMP, STRING), INT, call, member=True),
    ]
    unit = _LENGTHS.get(name)
    if unit is not None:
        overloads.append(Overload(f"duration_{name}", (DURATION,), INT, partial(_length, unit), member=True))
    return Function(name, tuple(overloads))


FUNCTIONS: tuple[Function, ...] = tuple(_accessor(name) for name in [*_PARTS, "getMilliseconds"])
