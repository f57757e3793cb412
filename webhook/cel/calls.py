"""Compiling strict calls: all arguments first, then the one implementation that takes their types.

Where the checker knows the types nothing is tested at run time. Where it does not, the tests are as cheap as the call
allows; they are hot paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webhook.cel.code import MAX_STEPS, Closure, Code, Frame, constant, measured
from webhook.cel.equality import equal, equal_or_false
from webhook.cel.library.table import Function, Overload, accepts, python_type, signature
from webhook.cel.types import BOOL, DOUBLE, DURATION, DYN, INT, TIMESTAMP, UINT, Kind, Type, is_dyn
from webhook.cel.values import AbortedError, EvaluationError, no_such_overload

_NEVER_LARGE = {BOOL, INT, UINT, DOUBLE, TIMESTAMP, DURATION}
_LARGE = (list, dict)


def compile_call(
    function: Function,
    overloads: Sequence[Overload],
    args: Sequence[Code],
    types: Sequence[Type],
    sure: Sequence[bool],
    result: Type,
    *,
    in_loop: bool,
) -> Code:
    """The code of a call whose arguments are compiled. In loops what the arguments weigh is charged at each turn.

    `sure` says of which arguments the types are certain to hold.
    """
    foldable = bool(args) and all(arg.is_constant and type(arg.constant) not in _LARGE for arg in args)
    args = [_weighed(arg, type_, in_loop=in_loop) for arg, type_ in zip(args, types, strict=True)]
    if function.takes_frame:
        run = _with_frame(function, overloads, args)
    elif function.shared is not None:
        run = _shared(function, args)
    elif len(overloads) == 1:
        run = _guarded(
            function, overloads[0], args, [type_ if known else DYN for type_, known in zip(types, sure, strict=True)]
        )
    else:
        run = _dispatched(function, args, function.overloads)
    if function.grows or (function.name == "_+_" and result not in _NEVER_LARGE):
        return Code(measured(run))
    return _folded(run) if foldable else Code(run)


def _weighed(argument: Code, type_: Type, *, in_loop: bool) -> Code:
    if argument.is_constant and (not in_loop or type(argument.constant) not in _LARGE):
        return argument
    if type_.kind in (Kind.LIST, Kind.MAP) or (in_loop and type_ not in _NEVER_LARGE):
        return Code(measured(argument.run))
    return argument


def _with_frame(function: Function, overloads: Sequence[Overload], args: Sequence[Code]) -> Closure:
    """A call of a function that takes steps off the frame."""
    if function.shared is None:
        return _dispatched(function, args, overloads if len(overloads) == 1 else function.overloads)
    call, left, right = function.shared, args[0].run, args[1].run
    fast = _FAST.get(function.name)
    specialised = fast(left, args[1].constant) if fast is not None and args[1].is_constant else None
    return specialised or (lambda frame: call(frame, left(frame), right(frame)))


def _folded(run: Closure) -> Code:
    """A call of constants, worked out now; if it fails it fails each time it is run."""
    try:
        return constant(run([None, MAX_STEPS]))
    except (EvaluationError, AbortedError):
        return Code(run)


def _shared(function: Function, args: Sequence[Code]) -> Closure:
    call = function.shared
    assert call is not None
    fast = _FAST.get(function.name)
    if fast is not None and args[1].is_constant:
        specialised = fast(args[0].run, args[1].constant)
        if specialised is not None:
            return specialised
    return plain_call(call, args)


def plain_call(call: Callable[..., Any], args: Sequence[Code]) -> Closure:
    """A call without type tests."""
    if len(args) == 1:
        only = args[0].run
        return lambda frame: call(only(frame))
    if len(args) == 2 and args[1].is_constant:
        left, value = args[0].run, args[1].constant
        return lambda frame: call(left(frame), value)
    if len(args) == 2:
        left, right = args[0].run, args[1].run
        return lambda frame: call(left(frame), right(frame))
    runs = tuple(arg.run for arg in args)
    return lambda frame: call(*[run(frame) for run in runs])


def _guarded(function: Function, overload: Overload, args: Sequence[Code], types: Sequence[Type]) -> Closure:
    """A call of one overload, testing only the arguments whose types are not certain."""
    call = overload.call
    assert call is not None, overload.id
    if function.plain_errors:  # the implementation tests for itself
        return plain_call(call, args)
    unsure = [index for index, pair in enumerate(zip(overload.params, types, strict=True)) if _needs_test(*pair)]
    if not unsure:
        return plain_call(call, args)
    if unsure == [0] and len(args) <= 2:
        return _first_guarded(function.name, overload, call, args)
    return _all_guarded(function.name, overload, call, args)


def _needs_test(parameter: Type, argument: Type) -> bool:
    if parameter.kind in (Kind.DYN, Kind.PARAM):
        return False
    if is_dyn(argument) or argument.kind is Kind.NULL:
        return True
    return any(map(_needs_test, parameter.params, argument.params))


def _first_guarded(name: str, overload: Overload, call: Callable[..., Any], args: Sequence[Code]) -> Closure:
    """One or two arguments, the first one to be tested: `attribute.lowerAscii()`, `attribute.compareTo(q)`."""
    parameter = overload.params[0]
    expected = python_type(parameter) if not parameter.params else None
    target = args[0].run
    if len(args) == 1:

        def run_one(frame: Frame) -> Any:
            value = target(frame)
            if type(value) is expected or accepts(parameter, value):
                return call(value)
            raise no_such_overload(signature(name, value))

        return run_one

    other = args[1].run
    if args[1].is_constant:
        known = args[1].constant

        def run_known(frame: Frame) -> Any:
            value = target(frame)
            if type(value) is expected or accepts(parameter, value):
                return call(value, known)
            raise no_such_overload(signature(name, value, known))

        return run_known

    def run_two(frame: Frame) -> Any:
        value, second = target(frame), other(frame)
        if type(value) is expected or accepts(parameter, value):
            return call(value, second)
        raise no_such_overload(signature(name, value, second))

    return run_two


def _all_guarded(name: str, overload: Overload, call: Callable[..., Any], args: Sequence[Code]) -> Closure:
    runs, params = tuple(arg.run for arg in args), overload.params

    def run_all(frame: Frame) -> Any:
        values = [run(frame) for run in runs]
        if all(map(accepts, params, values)):
            return call(*values)
        raise no_such_overload(signature(name, *values))

    return run_all


def _dispatched(function: Function, args: Sequence[Code], overloads: Sequence[Overload]) -> Closure:
    """The first overload that takes the values is called. Simple types are remembered."""
    runs, name, takes_frame = tuple(arg.run for arg in args), function.name, function.takes_frame
    candidates = [overload for overload in overloads if len(overload.params) == len(args)]
    simple = not any(parameter.params for overload in candidates for parameter in overload.params)
    known: dict[tuple[type, ...], Callable[..., Any]] = {}

    def run(frame: Frame) -> Any:
        values = [argument(frame) for argument in runs]
        types = tuple(map(type, values))
        call = known.get(types)
        if call is None:
            call = _select(name, candidates, values)
            if simple:
                known[types] = call
        return call(frame, *values) if takes_frame else call(*values)

    return run


def _select(name: str, candidates: Sequence[Overload], values: Sequence[Any]) -> Callable[..., Any]:
    for overload in candidates:
        if overload.call is not None and all(map(accepts, overload.params, values)):
            return overload.call
    raise no_such_overload(signature(name, *values))


# Operators with a constant on the right, the commonest case by far: `attribute == "x"`, `index < 4`.


def _equals(left: Closure, wanted: Any) -> Closure | None:
    kind = type(wanted)
    if kind not in (str, int, bool):
        return None

    def run(frame: Frame) -> bool:
        value = left(frame)
        return value == wanted if type(value) is kind else equal(frame, value, wanted)

    return run


def _differs(left: Closure, wanted: Any) -> Closure | None:
    kind = type(wanted)
    if kind not in (str, int, bool):
        return None

    def run(frame: Frame) -> bool:
        value = left(frame)
        return value != wanted if type(value) is kind else not equal_or_false(frame, value, wanted)

    return run


def _order_by(name: str, test: Callable[[Any, Any], bool], slow: Callable[[Any, Any], bool]) -> Any:
    def specialise(left: Closure, limit: Any) -> Closure | None:
        kind = type(limit)
        if kind not in (str, int):
            return None

        def run(frame: Frame) -> bool:
            value = left(frame)
            return test(value, limit) if type(value) is kind else slow(value, limit)

        return run

    return specialise


def _orderings() -> dict[str, Any]:
    import operator

    from webhook.cel.library import FUNCTIONS

    tests = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
    return {name: _order_by(name, test, FUNCTIONS[name].shared) for name, test in tests.items()}  # type: ignore[arg-type]


_FAST: dict[str, Callable[[Closure, Any], Closure | None]] = {"_==_": _equals, "_!=_": _differs} | _orderings()
