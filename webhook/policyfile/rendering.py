"""A problem as text: place, message, the line with a caret under the mistake, a hint."""

from __future__ import annotations

from webhook.cel import pointed
from webhook.errors import Problem


def render_problem(problem: Problem) -> str:
    """Plain text over one to four lines, without a line break at its end."""
    place = ":".join(str(part) for part in (problem.source, problem.line, problem.column) if part)
    weight = "warning: " if problem.warning else ""
    lines = [f"{place}: {weight}{problem.message}" if place else f"{weight}{problem.message}"]
    if problem.line and problem.excerpt.strip():
        lines += [f"    {line}" for line in pointed(problem.excerpt, problem.column)]
    if problem.hint:
        lines.append(f"  {problem.hint}")
    return "\n".join(lines)
