"""Functions of strings. Positions count characters, not bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webhook.cel.library.operators import MAX_ELEMENTS, MAX_LENGTH, MAX_UNCHARGED
from webhook.cel.library.table import Function, Overload
from webhook.cel.types import BOOL, INT, STRING, Type, list_of
from webhook.cel.values import EvaluationError, limit_exceeded, no_such_overload, take

_STRINGS = list_of(STRING)
_LETTERS_PER_STEP = 500
_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
_GO_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_QUOTED = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _both_strings(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def checked(text: Any, part: Any) -> bool:
        if type(text) is not str or type(part) is not str:
            raise no_such_overload()
        return test(text, part)

    return checked


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(_: list[Any], text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset) if offset < len(text) else -1


def _last_index_of(_: list[Any], text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


# Before Kubernetes 1.37 the empty string was found at any offset.


def _index_of_old(_: list[Any], text: str, part: str, offset: int = 0) -> int:
    return offset if not part and offset >= 0 else _index_of(_, text, part, offset)


def _last_index_of_old(_: list[Any], text: str, part: str, offset: int | None = None) -> int:
    return offset if offset is not None and not part and offset >= 0 else _last_index_of(_, text, part, offset)


def _substring(text: str, start: int, end: int | None = None) -> str:
    last = len(text) if end is None else end
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= last <= len(text):
        raise _out_of_range(last)
    return text[start:last]


def _replace(frame: list[Any], text: str, old: str, new: str, limit: int = -1) -> str:
    count = len(text) + 1 if not old else text.count(old)
    count = count if limit < 0 else min(count, limit)
    length = len(text) + count * len(new)
    if length > max(len(text), MAX_UNCHARGED):
        raise limit_exceeded()
    take(frame, length // _LETTERS_PER_STEP)  # nobody charges a cost for what comes out
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if len(text) > MAX_ELEMENTS and (limit < 0 or limit > MAX_ELEMENTS):
        raise limit_exceeded()
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _join(parts: list[Any], separator: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {part}")
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_LENGTH:
        raise limit_exceeded()
    return separator.join(parts)


def _quote(text: str) -> str:
    return '"' + text.translate(_QUOTED) + '"'


# indexOf and lastIndexOf get the frame because those of lists do.


def _member(
    name: str,
    *signatures: tuple[tuple[Type, ...], Type],
    call: Callable[..., Any],
    grows: bool = False,
    takes_frame: bool = False,
) -> Function:
    overloads = tuple(
        Overload("_".join((name, *(type_.name for type_ in params))), params, result, call, member=True)
        for params, result in signatures
    )
    return Function(name, overloads, grows=grows, takes_frame=takes_frame)


def _test(name: str, id_: str, test: Callable[[str, str], bool]) -> Function:
    overload = Overload(id_, (STRING, STRING), BOOL, _both_strings(test), member=True)
    return Function(name, (overload,), plain_errors=True)


_S, _I = STRING, INT

FUNCTIONS: tuple[Function, ...] = (
    _test("contains", "contains_string", lambda text, part: part in text),
    _test("startsWith", "starts_with_string", str.startswith),
    _test("endsWith", "ends_with_string", str.endswith),
    _member("charAt", ((_S, _I), _S), call=_char_at),
    _member("indexOf", ((_S, _S), _I), ((_S, _S, _I), _I), call=_index_of),
    _member("lastIndexOf", ((_S, _S), _I), ((_S, _S, _I), _I), call=_last_index_of),
    _member("lowerAscii", ((_S,), _S), call=lambda text: text.translate(_LOWER)),
    _member("upperAscii", ((_S,), _S), call=lambda text: text.translate(_UPPER)),
    _member("trim", ((_S,), _S), call=lambda text: text.strip(_GO_SPACE)),
    _member("substring", ((_S, _I), _S), ((_S, _I, _I), _S), call=_substring),
    _member("replace", ((_S, _S, _S), _S), ((_S, _S, _S, _I), _S), call=_replace, grows=True, takes_frame=True),
    _member("split", ((_S, _S), _STRINGS), ((_S, _S, _I), _STRINGS), call=_split, grows=True),
    _member("join", ((_STRINGS,), _S), ((_STRINGS, _S), _S), call=_join, grows=True),
    Function("strings.quote", (Overload("strings_quote", (_S,), _S, _quote),), grows=True),
)

#: Functions as they were before Kubernetes 1.37, without their overloads for lists.
OLDER: tuple[Function, ...] = (
    _member("indexOf", ((_S, _S), _I), ((_S, _S, _I), _I), call=_index_of_old),
    _member("lastIndexOf", ((_S, _S), _I), ((_S, _S, _I), _I), call=_last_index_of_old),
)
