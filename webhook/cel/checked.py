"""What the checker finds out about a tree, for the stages behind it."""

from __future__ import annotations

from dataclasses import dataclass, field

from webhook.cel.ast import Node
from webhook.cel.environment import Environment
from webhook.cel.library.table import Function, Overload
from webhook.cel.messages import Message
from webhook.cel.types import Type
from webhook.cel.values import TypeValue


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a call calls: the function, the overloads that fit, and whether its target is part of the name."""

    function: Function
    overloads: tuple[Overload, ...]
    namespaced: bool = False


@dataclass(slots=True)
class Checked:
    """A checked tree, with what was found out about its nodes.

    `types` has the type of every node, `calls` what calls resolve to, `constants` the names that stand for constants (types,
    mostly), `messages` the kinds of message literals, and `locals` the names of all variables of macros.
    """

    tree: Node
    environment: Environment
    types: dict[Node, Type] = field(default_factory=dict)
    calls: dict[Node, Resolution] = field(default_factory=dict)
    constants: dict[Node, TypeValue | int] = field(default_factory=dict)
    messages: dict[Node, Message] = field(default_factory=dict)
    locals: set[str] = field(default_factory=set)
