"""Writes the generated pages: one per rule, from its docstring, its reasons and the first manifest that it refuses; the
reference of the policy format and its JSON Schema, from the definitions that read the files; the functions of CEL, from their
table.

`python -m docs.generate` writes them; the test suite checks that they are what this would write.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from inspect import getmodule
from pathlib import Path

from docs import cel_functions
from webhook.policyfile import json_schema, policy_reference
from webhook.rulekit.rule import Rule
from webhook.rules import ALL

ROOT = Path(__file__).parent.parent
RULES = ROOT / "docs" / "rules"

_INDEX = """# Rules

What Fallgate can say, one page a rule. A rule runs when a policy of its kind matches the namespace; `Checks` switches on the
whole catalogue, and each of its rules can be given another severity or switched off by id or by reason.

| rule | switched on by | reasons (severity) |
|---|---|---|
"""


def pages() -> Iterator[tuple[Path, str]]:
    """Every generated page: where it goes, and its text."""
    yield RULES / "README.md", _INDEX + "".join(_row(rule) for rule in ALL)
    for rule in ALL:
        yield RULES / f"{rule.id}.md", _page(rule)


def policy_format() -> Iterator[tuple[Path, str]]:
    """What is published of the policy format and of CEL: where it goes, and its text."""
    yield ROOT / "docs" / "policy-reference.md", policy_reference()
    yield ROOT / "docs" / "cel-functions.md", cel_functions.page()
    yield ROOT / "policies" / "schema" / "fallgate-policies.schema.json", json.dumps(json_schema(), indent=2) + "\n"


def _row(rule: Rule) -> str:
    reasons = ", ".join(f"`{reason.id}` ({reason.severity})" for reason in rule.reasons)
    return f"| [{rule.id}]({rule.id}.md) | `{rule.policy_kind}` | {reasons} |\n"


def _page(rule: Rule) -> str:
    module = getmodule(rule.check)
    title, _, body = (module.__doc__ or "").strip().partition("\n")
    lines = [
        f"# {rule.id}",
        "",
        title,
        "",
        "```",
        body.strip("\n"),
        "```",
        "",
        f"Switched on by `{rule.policy_kind}`. Asked about {_listed(sorted(rule.subjects))}, "
        f"in the {_listed(sorted(rule.phases))} call.",
        "",
        "| reason | severity | what it means |",
        "|---|---|---|",
        *(f"| `{reason.id}` | {reason.severity} | {reason.summary} |" for reason in rule.reasons),
        "",
        *_example(rule),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _example(rule: Rule) -> list[str]:
    folder = ROOT / "tests" / "rules" / rule.id
    for path in sorted((folder / "fail").glob("*.yaml")):
        comments = [line.removeprefix("# ") for line in path.read_text().splitlines() if line.startswith("#")]
        if "message: |" not in comments:
            continue
        start = comments.index("message: |") + 1
        message = [line.removeprefix("  ") for line in comments[start:] if line.startswith(" ")]
        manifest = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        return ["For example, this", "", "```yaml", *manifest, "```", "", "is answered with", "", "```", *message, "```"]
    return []


def main() -> int:
    """Write all pages; remove those of rules that are gone."""
    wanted = dict(pages())
    RULES.mkdir(parents=True, exist_ok=True)
    for stale in set(RULES.glob("*.md")) - set(wanted):
        stale.unlink()
    for path, text in (*wanted.items(), *policy_format()):
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
