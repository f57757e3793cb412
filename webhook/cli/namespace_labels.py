"""What is said of labels on the fleet's namespaces that mean nothing, although they decide how all in them is judged."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.cli.console import complain
from webhook.fleet.fleet import Fleet
from webhook.rulekit.namespace_labels import label_problems
from webhook.rulekit.policies import PolicySet
from webhook.rules import ALL


def complain_about_labels(fleet: Fleet, policies: PolicySet) -> None:
    """One warning on the standard error output for each."""
    for line in label_lines(fleet, policies):
        complain(line, label="warning")


def label_lines(fleet: Fleet, policies: PolicySet) -> Iterator[str]:
    """`Namespace team-a, fallgate.dev/mode: "enfroce" is no mode ...: ... (write ...)`, by namespace."""
    rules = {rule.id: {reason.id for reason in rule.reasons} for rule in ALL}
    for name in sorted(fleet.namespaces):
        for problem in label_problems(fleet.namespaces[name].labels, policies, rules):
            yield f"Namespace {name}, label {problem.key}: {problem.why} ({problem.remedy})"
