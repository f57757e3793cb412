"""One value of a document on its way to becoming a policy: the node, its path, and where problems are gathered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from webhook.errors import Problem
from webhook.policyfile.rule_names import RuleNames
from webhook.policyfile.source import Place
from webhook.policyfile.yaml_nodes import Mapping, Node, Scalar, Sequence, find

#: Words that a hint still lists.
_FEW = 20


class Reported(Exception):
    """A value could not be read, and the problem has been noted. Never leaves this package."""


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A name and where it is written."""

    name: str
    place: Place


@dataclass(slots=True)
class Reading:
    """What is gathered while a set of files is read.

    `model_uses` are names of single models, `shape_uses` names and globs in declaration entries, `policy_uses` names of
    policies: whether they mean anything is known when all files have been read.
    """

    rules: RuleNames
    problems: list[Problem] = field(default_factory=list)
    model_uses: list[NamedPlace] = field(default_factory=list)
    shape_uses: list[NamedPlace] = field(default_factory=list)
    policy_uses: list[NamedPlace] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Origin:
    """The document a value is in: `digest` is 7 hex digits over its content, `place` its first character."""

    kind: str = ""
    name: str = ""
    digest: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """A node, how one gets there from the document's root, and the reading it belongs to."""

    node: Node
    reading: Reading
    path: str = ""
    origin: Origin = field(default_factory=Origin)

    @property
    def place(self) -> Place:
        """Where the node begins."""
        return self.node.place

    @property
    def shown(self) -> str:
        """The path for messages."""
        return self.path or "the document"

    def below(self, node: Node, step: str) -> Spot:
        """A node within this one: `step` is `.key` or `[0]`."""
        return replace(self, node=node, path=(self.path + step).removeprefix("."))

    def item(self, index: int) -> Place:
        """Where an item of this list begins."""
        return find(self.node, index).place

    def error(self, message: str, hint: str = "", *, place: Place | None = None) -> None:
        """Note a mistake here, and go on."""
        self.reading.problems.append((place or self.place).problem(message, hint))

    def warn(self, message: str, hint: str = "", *, place: Place | None = None) -> None:
        """Note something that is allowed and probably not meant."""
        self.reading.problems.append((place or self.place).problem(message, hint, warning=True))

    def fault(self, message: str, hint: str = "", *, place: Place | None = None) -> Reported:
        """Note a mistake that leaves nothing to be read here. What is returned is to be raised."""
        self.error(message, hint, place=place)
        return Reported()


def describe(node: Node) -> str:
    """What a node is, for `must be X, not Y`."""
    match node:
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case Scalar(value=None):
            return "empty"
        case Scalar(value=bool()):
            return f"the boolean {node.text}"
        case Scalar(value=int() | float()):
            return f"the number {node.text}"
        case _:
            return f'the text "{shortened(node.text)}"'


def shortened(text: str, limit: int = 60) -> str:
    """`text` on one line, cut to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, or ""."""
    by_lower = {option.lower(): option for option in sorted(known)}
    found = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    found = found or [option for option in by_lower if len(word) > 3 and option.startswith(word.lower())]
    return by_lower[found[0]] if found else ""


def meant_hint(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?`, or ""."""
    meant = nearest(word, known)
    return f'did you mean "{meant}"?' if meant else ""


def choice_hint(word: str, known: Iterable[str]) -> str:
    """`did you mean "x"?`, else the words there are, as long as they are few."""
    options = list(known)
    few = f"write one of {', '.join(options)}" if 0 < len(options) <= _FEW else ""
    return meant_hint(word, options) or few
