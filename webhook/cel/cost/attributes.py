"""Variables, selections, indexings and conditions in a counted evaluation.

The scheduler's library makes one thing of a variable and all that is selected from it: each selection costs one, and the
whole costs one more. A condition passes selections on to both its branches, and what stands in a branch this way is not
charged as a whole. That is why selections are not steps of their own here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from webhook.cel import access
from webhook.cel.cost.amounts import NAME
from webhook.cel.cost.steps import UNSET, Machine, Step, attempted, failed, value_of
from webhook.cel.descent import Task
from webhook.cel.values import MISSING, NONE, Optional, no_such_overload

#: How a variable of the environment is read.
Reader: TypeAlias = Callable[[Machine], Any]


@dataclass(frozen=True, slots=True)
class Key:
    """A selection or an indexing with a constant. `test` only asks whether it is there."""

    id: int
    key: Any
    optional: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """An indexing with what another attribute gives."""

    id: int
    attribute: Attribute
    optional: bool
    relative: bool  # the index is an operation, not a variable


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable of the environment."""

    read: Reader


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A variable of a macro, in its slot; an accumulator knows the step that gives its first value."""

    slot: int
    initial: Step | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Relative:
    """The value of any other step."""

    operand: Step


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """condition ? then : otherwise"""

    condition: Step
    then: Attribute
    otherwise: Attribute


Root: TypeAlias = Variable | Local | Relative | Condition


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A root, and what is selected from it."""

    id: int  # of the root
    root: Root
    qualifiers: tuple[Key | Computed, ...] = ()

    def number(self) -> int:
        """The number under which the meter knows the value."""
        if isinstance(self.root, Condition):
            then = self.root.then.number()
            return then if then == self.root.otherwise.number() else self.id
        return self.qualifiers[-1].id if self.qualifiers else self.id

    def extended(self, qualifier: Key | Computed) -> Attribute:
        """One selection more; of a condition, in both branches."""
        root = self.root
        if isinstance(root, Condition):
            branches = Condition(root.condition, root.then.extended(qualifier), root.otherwise.extended(qualifier))
            return replace(self, root=branches)
        return replace(self, qualifiers=(*self.qualifiers, qualifier))

    def is_direct(self) -> bool:
        """No step is needed that is not direct itself."""
        root = self.root
        plain = isinstance(root, Variable) or (isinstance(root, Local) and (root.initial is None or root.initial.direct))
        return plain and all(isinstance(qualifier, Key) for qualifier in self.qualifiers)

    def read(self, machine: Machine) -> Any:
        """The value of a direct one, or its error."""
        root = self.root
        assert isinstance(root, Variable | Local)
        value = root.read(machine) if isinstance(root, Variable) else machine.frame[root.slot]
        if value is UNSET:
            assert isinstance(root, Local)
            assert root.initial is not None
            value = machine.frame[root.slot] = machine.fresh(root.initial.now(machine))
        return value if failed(value) else _Walk(value).keys(self.qualifiers, machine)

    def resolve(self, machine: Machine) -> Task[Any]:
        """The value, or the error."""
        root = self.root
        if isinstance(root, Condition):
            return (yield from _chosen(root, machine))
        if isinstance(root, Relative):
            value = yield from value_of(root.operand, machine)
        elif isinstance(root, Local):
            value = machine.frame[root.slot]
            if value is UNSET:
                assert root.initial is not None
                value = machine.frame[root.slot] = machine.fresh((yield from value_of(root.initial, machine)))
        else:
            value = root.read(machine)
        if failed(value):
            return value
        walk = _Walk(value)
        for qualifier in self.qualifiers:
            if walk.ended:
                break
            key = qualifier.key if isinstance(qualifier, Key) else (yield qualifier.attribute.resolve(machine))
            if not walk.step(qualifier, key, machine):
                break
        return walk.result()


def _chosen(root: Condition, machine: Machine) -> Task[Any]:
    value = yield from value_of(root.condition, machine)
    if type(value) is not bool:
        return value if failed(value) else no_such_overload()
    branch = root.then if value else root.otherwise
    return branch.read(machine) if branch.is_direct() else (yield branch.resolve(machine))


class _Walk:
    """A value on its way through selections."""

    __slots__ = ("ended", "optional", "value")

    def __init__(self, value: Any) -> None:
        self.optional = type(value) is Optional
        self.value = value.value if self.optional else value
        self.ended = value is NONE

    def keys(self, qualifiers: tuple[Any, ...], machine: Machine) -> Any:
        for qualifier in qualifiers:
            if self.ended or not self.step(qualifier, qualifier.key, machine):
                break
        return self.result()

    def step(self, qualifier: Key | Computed, key: Any, machine: Machine) -> bool:
        """Take one selection; False when there is nothing left to select from."""
        self.optional = self.optional or qualifier.optional
        value = key if failed(key) else self._look_up(qualifier, key)
        if self.optional and (failed(value) or value is MISSING):
            self.value, self.ended = (NONE if value is MISSING else value), True
            return False
        meter = machine.meter
        if isinstance(qualifier, Computed) and qualifier.relative:
            meter.drop(qualifier.id)
        meter.cost += NAME
        meter.push(qualifier.id, value)
        self.value = value
        return not failed(value)

    def _look_up(self, qualifier: Key | Computed, key: Any) -> Any:
        if type(self.value) is Optional or self.value is NONE:  # not at the start: an optional value in a container
            return self._in_optional(qualifier, key)
        if isinstance(qualifier, Key) and qualifier.test and not self.optional:
            return attempted(access.is_present, self.value, key)
        return attempted(access.look_up if self.optional else access.get, self.value, key)

    def _in_optional(self, qualifier: Key | Computed, key: Any) -> Any:
        failure = attempted(access.check_key, key)
        if failed(failure):
            return failure
        if self.optional:
            return MISSING
        return False if isinstance(qualifier, Key) and qualifier.test else access.no_such_key(key)

    def result(self) -> Any:
        """What came out."""
        if self.optional and not self.ended and not failed(self.value):
            return Optional(self.value)
        return self.value


class Read(Step):
    """An attribute as a step."""

    __slots__ = ("attribute", "test")

    def __init__(self, attribute: Attribute, test: int | None = None) -> None:
        initial = attribute.root.initial if isinstance(attribute.root, Local) else None
        super().__init__(attribute.number() if test is None else test, *([initial] if initial is not None else []))
        self.attribute = attribute
        self.test = test is not None
        self.direct = self.direct and attribute.is_direct()

    def now(self, machine: Machine) -> Any:
        """The value of a direct one."""
        return self._observed(self.attribute.read(machine), machine)

    def run(self, machine: Machine) -> Task[Any]:
        """The value."""
        return self._observed((yield self.attribute.resolve(machine)), machine)

    def _observed(self, value: Any, machine: Machine) -> Any:
        if self.test and not failed(value) and type(value) is not bool:
            value = type(value) is Optional  # has() of something optional
        meter, root = machine.meter, self.attribute.root
        if isinstance(root, Condition):
            meter.drop(root.otherwise.number(), root.then.number(), root.condition.id)
            meter.cost -= NAME if self.test else 0
        else:
            meter.drop(self.attribute.number())
            meter.cost += 0 if self.test else NAME
        meter.push(self.id, value)
        return value
