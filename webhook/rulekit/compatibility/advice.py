"""What the author of a pod, workload, claim or template is told about shapes that are not declared: headline and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webhook.model.claim import Alternative, Request
from webhook.model.pod import Workload
from webhook.rulekit.compatibility.declared import UNIFORM_ANNOTATION, Declared, Level
from webhook.rulekit.compatibility.judged_claims import JudgedClaim
from webhook.rulekit.compatibility.text import Wanted, as_annotation, shortest_declaration
from webhook.rulekit.shapes.catalog import Catalog, catalog_for
from webhook.rulekit.shapes.shape import Shape
from webhook.rulekit.view import View


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judged alternative: what is declared, what it may be given, and which of that is not covered.

    `alternative` is None for a claim that has its devices already: then the shape is what it was given. `plain`: the author
    asked for it plainly, be it that a list was made of it. `untried` is that of Uncovered.
    """

    judged: JudgedClaim
    request: Request
    alternative: Alternative | None
    declared: Declared
    possible: tuple[Shape, ...]
    uncovered: tuple[Shape, ...]
    plain: bool = False
    untried: str = ""

    @property
    def pointer(self) -> str:
        """Where the alternative (or the request) is written."""
        return self.alternative.pointer if self.alternative is not None else self.request.pointer

    @property
    def scope(self) -> str:
        """How a declaration says that an entry is meant for this request alone."""
        claim = f"{self.judged.pod_claim}/" if self.judged.pod_claim else ""
        return f"{claim}{self.request.name}: "

    @property
    def who(self) -> str:
        """What goes in front of the shapes: the alternative's name, for want of one a verb."""
        if self.alternative is None:
            return "has been given "
        return f'"{self.alternative.name}": ' if self.alternative.name else "may give "


def own_level(view: View) -> Level:
    """The level at which the owner of the object under review declares: the pod's wherever there is a pod."""
    return "pod" if view.pod is not None or view.owner_pod is not None else "claim"


def who(view: View) -> str:
    """Whom it is about: `pod "trainer-7"` (also for its generated claim), `Deployment "web"`, `ResourceClaim "pair"`."""
    subject, pod = view.subject, view.pod or view.owner_pod
    if isinstance(subject, Workload):
        return f'{subject.kind} "{subject.meta.display_name}"'
    return f'pod "{pod.meta.display_name}"' if pod is not None else f'{view.kind} "{view.meta.display_name}"'


def headline(view: View) -> str:
    """What a denial starts with."""
    if isinstance(view.subject, Workload):
        return f"the pods of {who(view)} may be given devices that their owner has not declared they can run on"
    if own_level(view) == "pod":
        return f"{who(view)} may be given devices that its owner has not declared it can run on"
    return f"{who(view)} may hand out devices that its owner has not declared the program can run on"


def uniform_headline(view: View) -> str:
    """What a denial starts with when pods that must not differ may."""
    pods = f"the pods of {who(view)} are" if isinstance(view.subject, Workload) else f"{who(view)} is"
    return f"{pods} to get the same devices every time ({UNIFORM_ANNOTATION}), but may get different ones"


def remedy(view: View, verdicts: Sequence[Verdict]) -> str:
    """One remedy for everything that is not covered: the declaration that would pass, and the way out without one."""
    level, catalog = own_level(view), catalog_for(view.policies)
    wanted = [Wanted(item.declared, _missing(item, level, catalog), item.scope) for item in verdicts]
    return "\n".join(
        (
            f"if the program handles it, add to {_place(view)}:",
            f"  {as_annotation(shortest_declaration(wanted, level, catalog))}",
            f"otherwise {_way_out([item for item in verdicts if item.uncovered])}",
        )
    )


def _missing(verdict: Verdict, level: Level, catalog: Catalog) -> tuple[Shape, ...]:
    """The shapes a declaration at `level` has to add. Nearer than a `compatible-when`, it takes its place."""
    if verdict.declared.level == level:
        return verdict.uncovered
    return tuple(shape for shape in verdict.possible if not verdict.declared.statement.lists(shape, catalog))


def _place(view: View) -> str:
    if isinstance(view.subject, Workload):
        return "the pod template's annotations"
    pod = view.pod or view.owner_pod
    if pod is None:
        # A controller makes a generated claim: nobody can annotate it before it is judged.
        return "spec.metadata.annotations of its template" if view.generated else "its annotations"
    return "the pod template's annotations" if pod.meta.controller is not None else "the pod's annotations"


def _way_out(uncovered: Sequence[Verdict]) -> str:
    if any(item.alternative is None for item in uncovered):
        return "let the pod use another claim"
    if any(item.plain for item in uncovered):
        return "add a selector that leaves only models it runs on"
    names = list(dict.fromkeys(item.alternative.name for item in uncovered if item.alternative is not None))
    if _nothing_left(uncovered):
        return "leave only alternatives that it runs on"
    if len(names) == 1:
        return f"remove the alternative {names[0]}"
    return f"remove the alternatives {', '.join(names[:-1])} and {names[-1]}"


def _nothing_left(uncovered: Sequence[Verdict]) -> bool:
    """Whether some request has no alternative that is covered."""
    struck: dict[int, int] = {}
    for item in uncovered:
        struck[id(item.request)] = struck.get(id(item.request), 0) + 1
    return any(struck[id(item.request)] == len(item.request.alternatives) for item in uncovered)
