"""`fallgate cel`: what a selector says of the devices of a fleet; and, as JSON lines, of any devices."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from webhook.cel import Selector
from webhook.cli.cel_asking import ask, compiled, document, refusal_document
from webhook.cli.cel_lines import answer
from webhook.cli.cel_text import asked_text, problem_of
from webhook.cli.console import complain, show
from webhook.cli.exits import OK, REFUSED
from webhook.cli.inputs.cluster import FleetOptions, read_cluster, server_of
from webhook.cli.inputs.policies import read_optional_policies
from webhook.cli.options import DATA_FORMATS, fleet_options, output_option, policy_options
from webhook.cli.outputs.documents import as_documents, as_json_line
from webhook.errors import InputError
from webhook.model.server_version import Server
from webhook.policyfile.rendering import render_problem

_EPILOG = """\b
Examples:
  fallgate cel 'device.attributes["gpu.nvidia.com"].productName.contains("H100")' --fleet fleet/ --pack nvidia
  fallgate cel 'device.capacity["gpu.nvidia.com"].memory.isGreaterThan(quantity("40Gi"))' --fleet fleet/ --class gpu.nvidia.com
  fallgate cel --jsonl < questions.jsonl > answers.jsonl
  fallgate cel --jsonl --server-version 1.34 < questions.jsonl

Exit codes: 0 it compiles (--jsonl: every line was answered), 1 it does not, 2 bad usage or input.
"""


@click.command(epilog=_EPILOG)
@click.argument("expression", required=False)
@fleet_options
@policy_options
@click.option("--class", "class_name", default="", metavar="NAME", help="Ask only devices that this DeviceClass selects.")
@click.option("--jsonl", is_flag=True, help="Read questions from the standard input, one JSON object a line, and answer each.")
@click.option("--hints", is_flag=True, help="With --jsonl: say in each answer that has an error what would help.")
@output_option(*DATA_FORMATS)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    expression: str | None,
    source: FleetOptions,
    policy_paths: tuple[str, ...],
    packs: tuple[str, ...],
    class_name: str,
    jsonl: bool,
    hints: bool,
    output: str,
) -> None:
    """Show which devices a CEL selector matches, which not, and on which it raises an error.

    The answers are kube-scheduler's own: an error is not "no match", it gives up the pod. Without a fleet the expression is
    only compiled. With --jsonl the devices come with the questions; of the fleet only the server's version and gates count.
    """
    if jsonl:
        if expression is not None:
            raise InputError("--jsonl reads its expressions from the standard input: leave the one on the command line out")
        _answer_lines(read_cluster(source).fleet.server if source.named else server_of(source), hints=hints)
        ctx.exit(OK)
    if hints:
        raise InputError(
            "--hints goes with --jsonl only: without it every error is shown with what would help, leave --hints out"
        )
    if expression is None:
        raise InputError("there is no expression: fallgate cel 'device.driver == \"gpu.nvidia.com\"' --fleet DIR")
    fleet = read_cluster(source).fleet
    selector = compiled(expression, fleet, class_name)
    if not isinstance(selector, Selector):
        if output == "text":
            for problem in selector:
                complain(render_problem(problem_of(problem, expression)))
        else:
            _print(refusal_document(expression, selector), output)
        ctx.exit(REFUSED)
    policies = read_optional_policies(policy_paths, packs)
    asked = ask(selector, fleet, policies, class_name)
    if output == "text":
        show(*asked_text(asked))
    else:
        _print(document(asked), output)


def _print(body: Mapping[str, object], output: str) -> None:
    click.echo(as_documents([body], "yaml" if output == "yaml" else "json"), nl=False)


def _answer_lines(server: Server, *, hints: bool) -> None:
    """Line by line: an answer is out before the next question is read."""
    for line in sys.stdin.buffer:
        if line.strip():
            sys.stdout.write(as_json_line(answer(line, server, hints=hints)) + "\n")
            sys.stdout.flush()
