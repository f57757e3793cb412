"""`fallgate patch`: manifests as the cluster would store them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.text import Text

from webhook.cli.console import complain, complain_about, show
from webhook.cli.exits import FAULT, OK, REFUSED, UNUSABLE, worst
from webhook.cli.inputs.manifests import read_input
from webhook.cli.options import (
    DATA_FORMATS,
    files_argument,
    fleet_options,
    output_option,
    policy_options,
    request_options,
)
from webhook.cli.outputs.documents import as_documents
from webhook.cli.requests import RequestOptions, judged
from webhook.cli.verdicts import changes_text
from webhook.errors import InputError
from webhook.model.review import KIND
from webhook.model.tolerant import mapping
from webhook.rulekit.injection.provenance import INJECTED
from webhook.rulekit.injection.restore import undo

_EPILOG = """\b
Examples:
  fallgate patch claim.yaml --policies policies/ --fleet fleet/ > stored.yaml
  fallgate patch claim.yaml --policies policies/ --fleet fleet/ --diff
  kubectl get resourceclaim gpu -o yaml | fallgate patch --undo -

A denied object is not printed: it would not be stored. Comments and the order of keys inside quotes are not kept; what
Fallgate does not know is.

Exit codes: 0 printed, 1 something is denied, 2 bad usage or input (the rest was printed).
"""


@click.command(epilog=_EPILOG)
@files_argument
@click.option("--undo", "undoing", is_flag=True, help="Take what was injected out again: the object as its author wrote it.")
@click.option("--diff", "diff", is_flag=True, help="Print what would change instead of the whole manifest.")
@fleet_options
@policy_options
@request_options
@output_option(*DATA_FORMATS)
@click.pass_context
def command(ctx: click.Context, /, undoing: bool, diff: bool, output: str, **options: Any) -> None:
    """Print manifests as the cluster would store them, with what Fallgate would change.

    Text output is YAML. With --undo nothing else is needed: no policies, no fleet.
    """
    if diff and output != "text":
        raise click.UsageError("--diff is text for people; leave out -o, or use `fallgate review -o json` for RFC 6902 patches")
    pairs, code = _undone(options["files"]) if undoing else _stored(RequestOptions(**options))
    if diff:
        show(*_differences(pairs))
    else:
        click.echo(as_documents((after for _, after in pairs), "json" if output == "json" else "yaml"), nl=False)
    ctx.exit(code)


def _stored(options: RequestOptions) -> tuple[Sequence[tuple[Any, Any]], int]:
    """Each allowed object as written and as stored; the exit code."""
    found = judged(options)
    for verdict in found.verdicts:
        if not verdict.decision.allowed:
            complain(
                f"{verdict.asked.document.place}: {verdict.asked.label} is denied\n{verdict.decision.message}", label="denied"
            )
        if verdict.decision.internal_error:
            complain(f"{verdict.asked.document.place}: {verdict.decision.internal_error}")
    pairs = [
        (verdict.asked.review.object, verdict.stored)
        for verdict in found.verdicts
        if verdict.decision.allowed and verdict.asked.review.object is not None
    ]
    code = worst(
        REFUSED if found.denied else OK,
        UNUSABLE if found.manifests.unreadable else OK,
        FAULT if found.faulty else OK,
    )
    return pairs, code


def _undone(files: Sequence[str]) -> tuple[Sequence[tuple[Any, Any]], int]:
    manifests = read_input(files)
    complain_about(manifests.problems)
    if any(found.raw.get("kind") == KIND for found in manifests.objects):
        raise InputError(f"--undo takes manifests, not {KIND}s")
    pairs = [(found.raw, undo(found.raw)) for found in manifests.objects]
    stuck = [
        found for found, (before, after) in zip(manifests.objects, pairs, strict=True) if before == after and _marked(before)
    ]
    for found in stuck:
        complain(f"{found.place}: {INJECTED} cannot be read, or does not fit the object: it stays as it is")
    return pairs, UNUSABLE if manifests.unreadable or stuck else OK


def _marked(body: Any) -> bool:
    return INJECTED in mapping(mapping(mapping(body).get("metadata")).get("annotations"))


def _differences(pairs: Sequence[tuple[Any, Any]]) -> Iterator[Text]:
    for before, after in pairs:
        if before is after:
            continue
        meta = mapping(mapping(before).get("metadata"))
        name = meta.get("name") or meta.get("generateName") or "(no name)"
        yield Text(f"{before.get('kind')} {name}", "bold").append_text(changes_text(before, after, indent="  "))
