"""An explanation as a person reads it: what may be given, which devices match, which do not and why, what to declare. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.text import Text

from webhook.cli.console import STYLES
from webhook.cli.explaining import AskedDevice, ExplainedAlternative, ExplainedRequest, Explanation, Outcome
from webhook.model.pod import Pod, Workload
from webhook.model.pointer import field_path
from webhook.rulekit.compatibility.declared import Level
from webhook.rulekit.compatibility.text import Wanted, as_annotation, shortest_declaration
from webhook.rulekit.shapes.shape import Shape
from webhook.rulekit.subject import subject_kind

#: Nodes and devices that are named; the rest is counted.
_NAMED: Final = 3
#: Characters of a selector that are shown.
_SELECTOR: Final = 120

_OUTCOMES: Final[dict[Outcome, tuple[str, str, str]]] = {
    "match": ("matches", "match", "green"),
    "error": ("raises a CEL error", "raise a CEL error", "red"),
}


def explanation_text(explanation: Explanation) -> Text:
    """The whole explanation of one object."""
    asked = explanation.asked
    text = Text().append(asked.label, "bold").append(f"  {asked.document.place}", "dim")
    if explanation.nodes != explanation.all_nodes:
        text.append(f"\n  {explanation.nodes} of {_counted(explanation.all_nodes, 'node')} can be its node")
    for line in explanation.unresolved:
        text.append("\n  not found: ", STYLES["warn"]).append(line)
    if not explanation.requests and not explanation.unresolved:
        text.append("\n  it asks for no devices by claim")
    for request in explanation.requests:
        text.append_text(_request(request))
    return text.append_text(_advice(explanation))


def _request(explained: ExplainedRequest) -> Text:
    name = f"{explained.pod_claim}/{explained.request.name}" if explained.pod_claim else explained.request.name
    text = Text().append(f"\n  request {name}", "bold")
    if explained.via:
        text.append(f"  {explained.via}", "dim")
    text.append("\n    declared: ")
    if explained.declared.present:
        text.append(f'"{explained.declared.text}"').append(f" ({explained.declared.origin})", "dim")
        for fault in explained.declared.statement.faults:
            text.append(f"\n      {fault.annotation} cannot be read: {fault.message}", "red")
    else:
        text.append("nothing", "yellow")
    if explained.allocated is not None:
        state = "declared" if explained.allocated_declared else "NOT declared"
        text.append(f"\n    allocated: {explained.allocated}, {state}")
    for number, alternative in enumerate(explained.alternatives, 1):
        text.append_text(_alternative(number, alternative))
    return text


def _alternative(number: int, explained: ExplainedAlternative) -> Text:
    alternative = explained.alternative
    name = f"{number}. {alternative.name}: {explained.ask}" if alternative.name else explained.ask
    text = Text().append(f"\n    {name}", "bold").append(f"  {field_path(alternative.pointer)}", "dim")
    uncovered = set(explained.uncovered)
    for shape in explained.shapes.shapes:
        good = shape not in uncovered
        text.append(f"\n      may be given {shape}, ")
        text.append("declared" if good else "not declared", "green" if good else "yellow")
    if explained.untried:
        text.append(f"\n      fallgate.dev/compatible-when: {explained.untried}", "yellow")
    if explained.shapes.by_example:
        text.append("\n      no live device matches: the shapes are those of the catalog's examples")
    if explained.uncertain:
        text.append(f"\n      {_doubt(explained)}", "yellow")
    if explained.hint:
        text.append(f"\n        {explained.hint}", "cyan")
    for shape, why in explained.shapes.unreachable:
        text.append(f"\n      never {shape}: {why}")
    for problem, hint in zip(explained.shapes.problems, explained.problem_hints, strict=True):
        text.append(f"\n      a selector does not compile: {problem.message}", "red")
        text.append(f"\n        {hint}" if hint else "", "cyan")
    for group in _grouped(item for item in explained.devices if item.outcome != "no match"):
        text.append_text(_asked(group))
    if explained.certain:
        text.append("\n      no node gets past the error: no pod with this claim is ever scheduled", "red")
    for group in _refused(explained.devices):
        text.append_text(_refusal(group))
    return text


def _doubt(explained: ExplainedAlternative) -> str:
    """What cannot be known; or, where devices match, why nothing can be given as they are: that is known."""
    if not explained.shapes.matches or explained.shapes.shapes:
        return f"uncertain: {explained.uncertain}"
    return f"nothing can be given now: {explained.uncertain.removeprefix('nothing can be given: ')}"


def _grouped(devices: Iterable[AskedDevice]) -> list[list[AskedDevice]]:
    """Devices with the same outcome for the same reason, by model; matching ones first."""
    groups: dict[tuple[bool, str, str, str, str], list[AskedDevice]] = {}
    for device in devices:
        key = (device.outcome == "error", device.model, device.error, device.selector, device.hint)
        groups.setdefault(key, []).append(device)
    return [groups[key] for key in sorted(groups)]


def _asked(group: Sequence[AskedDevice]) -> Text:
    first = group[0]
    one, many, style = _OUTCOMES[first.outcome]
    text = Text(f"\n      {len(group)} {first.model} ")
    text.append(one if len(group) == 1 else many, style).append(f"  {_places(group)}", "dim")
    if first.error:
        text.append(f"\n        {first.error}", "red")
        text.append(f"\n        {first.hint}", "cyan")
        text.append(f"\n        in {_cut(first.selector)}")
    return text


def _refused(devices: Iterable[AskedDevice]) -> list[list[AskedDevice]]:
    """Devices that do not match, by the selector that says so."""
    groups: dict[str, list[AskedDevice]] = {}
    for device in devices:
        if device.outcome == "no match":
            groups.setdefault(device.selector, []).append(device)
    return list(groups.values())


def _refusal(group: Sequence[AskedDevice]) -> Text:
    counts: dict[str, int] = {}
    for device in group:
        counts[device.model] = counts.get(device.model, 0) + 1
    models = ", ".join(f"{count} {model}" for model, count in sorted(counts.items()))
    verb = "does not match" if len(group) == 1 else "do not match"
    text = Text(f"\n      {models} {verb}")
    return text.append(f"\n        {_cut(group[0].selector)}", "dim")


def _places(group: Sequence[AskedDevice]) -> str:
    """`node-1 (8), node-2 (8) and 3 more nodes`; devices by name when they are few and on one node."""
    counts: dict[str, int] = {}
    for device in group:
        counts[device.node] = counts.get(device.node, 0) + 1
    named = [f"{node or 'shared by several nodes'} ({count})" for node, count in list(counts.items())[:_NAMED]]
    if len(counts) == 1 and len(group) <= _NAMED:
        where = f"on {first}" if (first := group[0].node) else "shared by several nodes"
        return f"{where}: {', '.join(device.device.name for device in group)}"
    more = len(counts) - len(named)
    return ", ".join(named) + (f" and {_counted(more, 'more node')}" if more > 0 else "")


def _advice(explanation: Explanation) -> Text:
    wanted = [Wanted(item.declared, tuple(_missing(item))) for item in explanation.requests]
    if not any(item.missing for item in wanted):
        return Text()
    level: Level = "pod" if isinstance(explanation.subject, Pod | Workload) else "claim"
    whose = {"Pod": "the pod's", "Workload": "the pod template's"}.get(subject_kind(explanation.subject), "its")
    text = Text(f"\n  if the program runs on all of them, add to {whose} annotations:")
    return text.append(f"\n    {as_annotation(shortest_declaration(wanted, level, explanation.catalog))}", "cyan")


def _missing(explained: ExplainedRequest) -> Iterator[Shape]:
    for alternative in explained.alternatives:
        yield from alternative.uncovered


def _cut(selector: str) -> str:
    line = " ".join(selector.split())
    return line if len(line) <= _SELECTOR else line[: _SELECTOR - 3] + "..."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
