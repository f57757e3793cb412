"""What a selector reads of a device, and whether it makes sure first that it is there.

A read is guarded when a missing attribute cannot fail the selector: inside has(), behind `?`, or beside a has() of the
same attribute whose outcome decides (`has(x) && x > 1`, `!has(x) || x > 1`, `has(x) ? x : 1`; the order of terms does
not matter, because && and || absorb errors).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal as Choice

from webhook.cel.ast import Call, Fold, Ident, Literal, Node, Select, children
from webhook.cel.checked import Checked
from webhook.cel.descent import Task, perform
from webhook.cel.device import Path, resolve
from webhook.cel.dialect import DEVICE
from webhook.cel.types import Kind, Type

ReferenceKind = Choice["attribute", "capacity", "driver", "sharable"]


@dataclass(frozen=True, slots=True)
class Reference:
    """One read. `name` is "" for a whole domain, and `domain` too for all of them.

    `types` are those that the expression takes the value for, as far as its calls say: `x == "a"` takes x for a string. They
    make no difference between reads.
    """

    kind: ReferenceKind
    domain: str = ""
    name: str = ""
    guarded: bool = False
    types: frozenset[str] = field(default=frozenset(), compare=False)


_KINDS: dict[str, ReferenceKind] = {
    "attributes": "attribute",
    "capacity": "capacity",
    "driver": "driver",
    "allowMultipleAllocations": "sharable",
}
_Parts = tuple[str, ...]
_SAME = frozenset({"_==_", "_!=_"})
_ANYTHING = frozenset({Kind.DYN, Kind.ANY, Kind.PARAM, Kind.ERROR})


def references_of(checked: Checked) -> frozenset[Reference]:
    """Everything that the expression reads of `device`."""
    reader = _Reader(checked)
    perform(reader.read(checked.tree, frozenset()))
    return frozenset(replace(read, types=frozenset(reader.types.get(read, ()))) for read in reader.found)


class _Reader:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.found: set[Reference] = set()
        self.types: dict[Reference, set[str]] = {}
        self._taken_for: dict[Node, set[str]] = {}
        self._scopes: list[dict[str, Path | None]] = []
        self._seen: set[tuple[Node, frozenset[_Parts]]] = set()

    def read(self, node: Node, safe: frozenset[_Parts]) -> Task[None]:
        """Note what `node` reads, given the paths that are known to be there."""
        if (node, safe) in self._seen:  # macros may use one node twice, and nested ones then many times
            return
        self._seen.add((node, safe))
        if isinstance(node, Call):
            self._note_types(node)
        path = resolve(node, self._lookup) if not isinstance(node, Literal) else None
        if path is not None:
            self._note(node, path, safe)
        elif isinstance(node, Call) and node.function in ("_&&_", "_||_"):
            yield from self._read_terms(node, safe)
        elif isinstance(node, Call) and node.function == "_?_:_":
            condition, then, otherwise = node.args
            yield self.read(condition, safe)
            yield self.read(then, safe | self._facts(condition, holds=True))
            yield self.read(otherwise, safe | self._facts(condition, holds=False))
        elif isinstance(node, Fold):
            yield from self._read_fold(node, safe)
        elif self._reads_membership(node):
            return
        else:
            for child in children(node):
                yield self.read(child, safe)

    def _note(self, node: Node, path: Path, safe: frozenset[_Parts]) -> None:
        if not path.parts:
            self.found |= {Reference("attribute", guarded=True), Reference("capacity", guarded=True)}
            self.found |= {Reference("driver", guarded=True), Reference("sharable", guarded=True)}
            return
        kind = _KINDS.get(path.parts[0])
        if kind is None:
            return
        tested = isinstance(node, Select) and node.test
        guarded = tested or path.optional or len(path.parts) < 3 or path.parts in safe
        domain, name = (*path.parts[1:], "", "")[:2]
        read = Reference(kind, domain, name, guarded)
        self.found.add(read)
        self.types.setdefault(read, set()).update(self._taken_for.get(node, ()))

    def _note_types(self, node: Call) -> None:
        """What a call takes its arguments for, where it can only be one type each."""
        resolution = self.checked.calls.get(node)
        if resolution is None:
            return
        target = None if resolution.namespaced else node.target
        arguments = node.args if target is None else (target, *node.args)
        if node.function in _SAME and len(arguments) == 2:
            left, right = arguments
            self._take_for(left, self.checked.types[right])
            self._take_for(right, self.checked.types[left])
            return
        for index, argument in enumerate(arguments):
            for overload in resolution.overloads:
                if index < len(overload.params):
                    self._take_for(argument, overload.params[index])

    def _take_for(self, node: Node, type_: Type) -> None:
        tested = isinstance(node, Select) and node.test
        if type_.kind not in _ANYTHING and not tested:
            self._taken_for.setdefault(node, set()).add(type_.name)

    def _reads_membership(self, node: Node) -> bool:
        """`"x" in device.attributes["d"]` reads d/x, safely."""
        path = self._membership(node)
        if path is not None and path.parts:
            self._note(Select(node.at, 1, node, "", True), path, frozenset())
        return path is not None

    def _membership(self, node: Node) -> Path | None:
        if not (isinstance(node, Call) and node.function == "@in"):
            return None
        name, container = node.args
        path = resolve(container, self._lookup)
        if path is None or not isinstance(name, Literal) or type(name.value) is not str or len(path.parts) not in (1, 2):
            return None
        return Path((*path.parts, name.value)) if path.parts[0] in ("attributes", "capacity") else None

    def _read_terms(self, node: Call, safe: frozenset[_Parts]) -> Task[None]:
        holds = node.function == "_&&_"
        facts = [self._facts(term, holds=holds) for term in node.args]
        for index, term in enumerate(node.args):
            others = [fact for other, fact in enumerate(facts) if other != index]
            yield self.read(term, safe.union(*others))

    def _facts(self, condition: Node, *, holds: bool) -> frozenset[_Parts]:
        """The paths that are there when the condition is true (or, not `holds`, false)."""
        found, pending = set(), [(condition, holds)]
        while pending:
            node, holds = pending.pop()
            if isinstance(node, Call) and node.function == "!_":
                pending.append((node.args[0], not holds))
            elif isinstance(node, Call) and node.function == ("_&&_" if holds else "_||_"):
                pending.extend((term, holds) for term in node.args)
            elif holds:
                path = self._tested(node)
                if path is not None:
                    found.add(path.parts)
        return frozenset(found)

    def _tested(self, node: Node) -> Path | None:
        """The path that is there if `node` is true."""
        path = resolve(node, self._lookup) if isinstance(node, Select) and node.test else self._membership(node)
        if path is None and isinstance(node, Call) and node.function == "hasValue" and node.target is not None:
            path = resolve(node.target, self._lookup)
        return path

    def _read_fold(self, node: Fold, safe: frozenset[_Parts]) -> Task[None]:
        yield self.read(node.range_, safe)
        alias = resolve(node.initial, self._lookup) if node.macro == "bind" else None
        if alias is None or len(alias.parts) == 3:
            yield self.read(node.initial, safe)
        self._scopes.append({node.accumulator: alias})
        if node.macro not in ("bind", "opt"):  # those never take a step
            self._scopes.append(dict.fromkeys((node.first, node.second)))
            yield self.read(node.step, safe)
            self._scopes.pop()
        yield self.read(node.result, safe)
        self._scopes.pop()

    def _lookup(self, node: Ident) -> Path | None:
        if not node.absolute:
            for scope in reversed(self._scopes):
                if node.name in scope:
                    return scope[node.name]
        return Path() if node.name == DEVICE and node not in self.checked.constants else None
