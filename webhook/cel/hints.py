"""What to write instead: hints for the usual mistakes in calls, selections and results. They change no answer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from webhook.cel import optional_hints
from webhook.cel.amounts import is_amount, without_unit
from webhook.cel.ast import Call, Ident, Literal, Node, Select
from webhook.cel.library.table import Function
from webhook.cel.pattern_hints import for_pattern
from webhook.cel.spelling import spelt
from webhook.cel.types import BOOL, DOUBLE, INT, QUANTITY, SEMVER, STRING, UINT, Kind, Type, format_type, is_dyn, is_optional

_ATTRIBUTES, _CAPACITY = "device.attributes[", "device.capacity["
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_COMPARISONS: Final = {f"_{operator}_": operator for operator in _FLIPPED}
_COMPARING: Final = frozenset({"compareTo", "isGreaterThan", "isLessThan"})
_NUMBERS: Final = (INT, UINT, DOUBLE)
_CONSTRUCTORS: Final = ((QUANTITY, "quantity", "a capacity is a quantity"), (SEMVER, "semver", "this is a version"))
#: For what cannot be one.
_EXAMPLES: Final = {"quantity": 'quantity("40Gi")', "semver": 'semver("1.2.3")'}
#: What other languages, or newer servers, call it.
_ELSEWHERE: Final = {
    "len": "write size()",
    "length": "write size()",
    "count": "write size()",
    "lower": "write lowerAscii()",
    "toLower": "write lowerAscii()",
    "toLowerCase": "write lowerAscii()",
    "upper": "write upperAscii()",
    "toUpper": "write upperAscii()",
    "toUpperCase": "write upperAscii()",
    "hasPrefix": "write startsWith()",
    "startswith": "write startsWith()",
    "hasSuffix": "write endsWith()",
    "endswith": "write endsWith()",
    "regex": "write matches()",
    "any": "write exists(x, ...)",
    "some": "write exists(x, ...)",
    "every": "write all(x, ...)",
    "version": 'write semver("1.2.3")',
    "isEmpty": "write size() == 0",
    "isGreaterThanOrEqualTo": "write compareTo(...) >= 0",
    "isLessThanOrEqualTo": "write compareTo(...) <= 0",
    "get": "write [?key].orValue(...)",
    "includes": "Kubernetes has includes() from 1.36 on",
    "getOrDefault": "write [?key].orValue(...)",
}
_IN_TEXT: Final = "in wants a list or a map on its right, as in x in [...]; of a text ask x.contains(...)"
#: For what stands in the place of a condition.
_CONDITION: Final = "&&, || and ?: take true or false: compare the value with something"
#: For a list or map literal with entries of several types.
MIXED: Final = "a literal has entries of one type: wrap those of other types in dyn(...)"
#: For constant arguments that cannot be read.
_UNREADABLE: Final = {
    "matches": "RE2 cannot read this pattern: every bracket closed, no look-around, no back references, no huge repetitions",
    "duration": 'write a duration as in duration("1h30m")',
    "timestamp": 'write a time as in timestamp("2027-01-31T12:00:00Z")',
}
_BY_NAME: Final = re.compile(r"[^./]+")
#: What the devices' maps hold, with a name that stands for any.
_WHOLE: Final = {"device.attributes": "model", "device.capacity": "memory"}
#: A name that can stand behind a dot.
_PLAIN: Final = re.compile(r"(?!(?:true|false|null|in)$)[A-Za-z_][A-Za-z0-9_]*")


def for_function(name: str) -> str:
    """For a function that there is not."""
    return _ELSEWHERE.get(name, "")


def for_call(node: Call, function: Function, types: Sequence[Type], *, member: bool) -> str:
    """For a call that no overload fits; `types` are those of the receiver, if there is one, and of the arguments."""
    nodes = (node.target, *node.args) if member and node.target is not None else node.args
    if not nodes:
        return ""
    if node.function in _COMPARISONS:
        return _comparison(_COMPARISONS[node.function], nodes, types)
    if node.function == "!_":
        return (
            _negated(nodes[0], types[0])
            or "! binds more tightly than a comparison: write != or put the comparison in parentheses, as in !(a == b)"
        )
    if node.function == "_?_:_":
        return for_condition(nodes[0], types[0]) if is_optional(types[0]) else ""
    if node.function == "@in":
        return _IN_TEXT if types[1] == STRING else optional_hints.for_listed(nodes, types)
    return (
        _domain(nodes, types)
        or optional_hints.for_called(node, function, nodes, types, member=member)
        or _receiver(node, function, nodes, member=member)
        or _argument(node, nodes, types)
        or _on_quantity(node, nodes, types)
    )


def _negated(node: Node, type_: Type) -> str:
    """`!x.?flag`"""
    return optional_hints.for_condition(node, type_).replace("write ", "write !")


def _comparison(operator: str, nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """`operator` stands between the first node and the second."""
    if any(type_.kind is Kind.ERROR for type_ in types):
        return ""  # what is wrong with one side has been said
    said = (
        optional_hints.for_compared(operator, nodes, types)
        or _by_name_compared(operator, nodes, types)
        or _by_name_compared(_FLIPPED[operator], nodes[::-1], types[::-1])
    )
    if said:
        return said
    if QUANTITY in types and SEMVER in types:
        return _version_and_amount(operator, nodes, types)
    for type_, constructor, what in _CONSTRUCTORS:
        if type_ in types:
            first = types[0] == type_
            value, other = (nodes[0], nodes[1]) if first else (nodes[1], nodes[0])
            if type_ == QUANTITY and (mistaken := _mistaken(value, other, _FLIPPED[operator] if first else operator)):
                return mistaken
            against = _constructed(constructor, other, types[1] if first else types[0])
            what += without_unit(other) if type_ == QUANTITY else ""
            return f"{what}: write {_shown(value)}.compareTo({against}) {operator if first else _FLIPPED[operator]} 0"
    if any(map(is_dyn, types)):
        return ""
    if all(type_ in _NUMBERS for type_ in types):
        return f"both sides need one type: write {format_type(types[0])}({_shown(nodes[1])})"
    return f"compare values of one type: {format_type(types[0])} and {format_type(types[1])} are never equal"


def _version_and_amount(operator: str, nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """`device.capacity["d"].firmware >= semver("1.2.3")`"""
    if types[0] != QUANTITY:
        nodes, operator = nodes[::-1], _FLIPPED[operator]
    amount, version = nodes
    path = spelt(amount)
    if not path.startswith(_CAPACITY) or not spelt(version):
        return "compare values of one type: an amount and a version are never equal"
    attribute = path.replace(_CAPACITY, _ATTRIBUTES, 1)
    return f"a capacity is a quantity, never a version: write {attribute}.compareTo({spelt(version)}) {operator} 0"


def _by_name_compared(operator: str, nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """`device.capacity.memory == quantity("40Gi")`: the whole comparison where it is another one with the domain in it."""
    placed = _placed(nodes[0], types[0])
    if placed is None:
        return ""
    lead, path = placed
    other, type_ = nodes[1], types[1]
    of_amount = path.startswith(_CAPACITY)
    second = _placed(other, type_)
    if second is not None:
        return f"{lead} {path}.compareTo({second[1]}) {operator} 0" if of_amount else f"{lead} {path}"
    if spelt(other) and type_ in (QUANTITY, SEMVER):
        path = path.replace(*((_ATTRIBUTES, _CAPACITY) if type_ == QUANTITY else (_CAPACITY, _ATTRIBUTES)), 1)
        return f"{lead} {path}.compareTo({spelt(other)}) {operator} 0"
    if not isinstance(other, Literal) or not (type_ in _NUMBERS or is_amount(other)):
        return f"{lead} {path}"
    if of_amount:
        return f"{_noted(lead, without_unit(other))} {path}.compareTo({_constructed('quantity', other, type_)}) {operator} 0"
    return f"{lead} {path} {operator} {spelt(other)}" if type_ in _NUMBERS else f"{lead} {path}"


def _noted(lead: str, note: str) -> str:
    what, colon, verb = lead.rpartition(":")
    return f"{what}{note}{colon}{verb}"


def _mistaken(quantity: Node, other: Node, operator: str) -> str:
    """Attributes and capacities taken for each other: `device.capacity["d"].type == "gpu"`, or the other way round.

    `operator` is as with `other` on its left.
    """
    capacity, attribute = spelt(quantity), spelt(other)
    if attribute.startswith(_ATTRIBUTES):
        return (
            f"no attribute is a quantity, capacities are: write {attribute.replace(_ATTRIBUTES, _CAPACITY, 1)}"
            f".compareTo({_shown(quantity)}) {operator} 0"
        )
    is_text = isinstance(other, Literal) and type(other.value) is str and not is_amount(other)
    if is_text and capacity.startswith(_CAPACITY):
        return (
            f"a capacity is a quantity, never a text such as {attribute}: write {capacity.replace(_CAPACITY, _ATTRIBUTES, 1)}"
        )
    return ""


def _domain(nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """`device.capacity["memory"].compareTo(...)`: the first that has a name where the domain is wanted."""
    return next((" ".join(placed) for node, type_ in zip(nodes, types, strict=False) if (placed := _placed(node, type_))), "")


def _placed(node: Node, type_: Type) -> tuple[str, str] | None:
    """`device.capacity["memory"]`, `device.capacity.memory`: what is wrong, and what to write in its place."""
    if type_.kind is not Kind.MAP:
        return None
    if spelt(node) in _WHOLE:
        return f"{spelt(node)} holds all domains: say what of it, as in", f'{spelt(node)}["<driver>"].{_WHOLE[spelt(node)]}'
    if isinstance(node, Select) and spelt(node.operand) in _WHOLE:
        what = "what comes first is the domain, not the name: write"
        return what, f'{spelt(node.operand)}["<driver>"].{node.field}'
    if not isinstance(node, Call) or node.function != "_[_]":
        return None
    (whole, key), name = node.args, spelt(node.args[0])
    if name not in _WHOLE or not isinstance(key, Literal) or type(key.value) is not str:
        return None
    domain, _, bare = key.value.rpartition("/")
    if not domain and _BY_NAME.fullmatch(bare) is None:
        named = f"{spelt(whole)}[{spelt(key)}]"
        return f"{named} is a whole domain: say what of it, as in", f"{named}.{_WHOLE[name]}"
    shown = json.dumps(domain or "<driver>", ensure_ascii=False)
    return "the first index is the domain, not the name: write", _path_behind(f"{name}[{shown}]", bare)


def _path_behind(domain: str, name: str) -> str:
    """What is called `name` in a domain, both as a selector writes them."""
    return f"{domain}.{name}" if _PLAIN.fullmatch(name) else f"{domain}[{json.dumps(name, ensure_ascii=False)}]"


def _receiver(node: Call, function: Function, nodes: Sequence[Node], *, member: bool) -> str:
    """`contains(x, "y")`, `x.sign()`: the right function in the wrong place."""
    fits = {overload.member for overload in function.overloads if len(overload.params) == len(nodes)}
    if fits == {True} and not member:
        arguments = ", ".join(map(_shown, nodes[1:]))
        return f"{node.function} is called on its value: write {_shown(nodes[0])}.{node.function}({arguments})"
    if fits == {False} and member:
        return f"{node.function} is called on nothing: write {node.function}({', '.join(map(_shown, nodes))})"
    return ""


def _argument(node: Call, nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """`compareTo("40Gi")`: the constructor is missing; `quantity(40)`: the quotes are."""
    if node.function in ("quantity", "semver") and types and types[-1] in _NUMBERS:
        return f'it takes a text: write {node.function}("{_shown(nodes[-1])}")'
    if node.function not in _COMPARING or len(types) != 2 or types[1] not in (STRING, *_NUMBERS):
        return ""
    constructor = next((name for type_, name, _ in _CONSTRUCTORS if types[0] == type_), "")
    if constructor:
        return f"write {_constructed(constructor, nodes[1], types[1])}"
    versions, amounts = (_constructed(name, nodes[1], types[1]) for name in ("semver", "quantity"))
    return f"compare a version with {versions}, a capacity with {amounts}" if is_dyn(types[0]) else ""


def _on_quantity(node: Call, nodes: Sequence[Node], types: Sequence[Type]) -> str:
    """`memory.startsWith("4")`, `memory.compareTo(true)`"""
    if not types or types[0] != QUANTITY:
        return ""
    if node.function in _COMPARING:
        return 'a quantity is compared with another one, as in x.compareTo(quantity("40Gi")) >= 0'
    return f"a capacity is a quantity, not a text: {_compared_amount(nodes[0])}"


def _compared_amount(node: Node) -> str:
    """Only what a device has is worth comparing: of constants the answer is always the same."""
    path = spelt(node)
    if not path.startswith(_CAPACITY):
        return 'compare it, as in x.compareTo(quantity("40Gi")) >= 0'
    return f'write {path}.compareTo(quantity("40Gi")) >= 0'


def _constructed(constructor: str, node: Node, type_: Type) -> str:
    if type_ == STRING:
        return f"{constructor}({_shown(node)})"
    if type_ in _NUMBERS:
        return f'{constructor}("{_shown(node)}")'
    return _EXAMPLES[constructor] if type_ == BOOL else _shown(node)


def _shown(node: Node) -> str:
    return spelt(node) or "..."


def for_unreadable(node: Call) -> str:
    """For a constant argument, the first one, that its function cannot read."""
    value, pattern = spelt(node.target) if node.target is not None else "", node.args[0]
    meant = (
        for_pattern(str(pattern.value), value) if node.function == "matches" and value and isinstance(pattern, Literal) else ""
    )
    return meant or _UNREADABLE[node.function]


def for_selection(operand: Node, target: Type, name: str) -> str:
    """For a field that its operand's type does not have."""
    if target == QUANTITY and name == "value":
        return f"a capacity stands for its amount: {_compared_amount(operand)}"
    if isinstance(operand, Ident) and operand.name == "device" and target.kind is Kind.STRUCT:
        return f'write device.attributes["<driver>"].{name}, or device.capacity["<driver>"].{name} for an amount'
    return ""


def for_has(argument: Node) -> str:
    """For a `has()` of anything but a selection."""
    if isinstance(argument, Call) and argument.function == "_[_]":
        container, key = argument.args
        of = spelt(container)
        if of in _WHOLE:
            domain, slash, name = (
                key.value.rpartition("/") if isinstance(key, Literal) and type(key.value) is str else ("", "", "")
            )
            if slash and _PLAIN.fullmatch(name):
                return f'the domain and the name are two keys: write has({of}["{domain}"].{name})'
            return f"it takes a name behind a dot: write {_shown(key)} in {of}"
        if isinstance(key, Literal) and type(key.value) is str and key.value.isidentifier():
            return f"it takes a name behind a dot: write has({_shown(container)}.{key.value})"
        return f"it takes a name behind a dot: write {_shown(key)} in {_shown(container)}"
    return 'it takes a name behind a dot, as in has(device.attributes["gpu.example.com"].model)'


def for_condition(node: Node, type_: Type) -> str:
    """For what stands in the place of a condition."""
    return optional_hints.for_condition(node, type_) or _CONDITION


def for_result(node: Node, type_: Type) -> str:
    """For an expression whose result is not true or false."""
    if is_optional(type_):
        return optional_hints.for_condition(node, type_)
    if type_ == QUANTITY and not spelt(node).startswith(_CAPACITY):
        return f"it has to say true or false: {_compared_amount(node)}"
    example = {STRING: '== "..."', QUANTITY: '.compareTo(quantity("40Gi")) >= 0'}.get(type_)
    if example is None:
        return "it has to say true or false: compare the value with something" if type_ != BOOL else ""
    return f"it has to say true or false: compare it, as in {spelt(node)}{'' if example[0] == '.' else ' '}{example}"
