"""`fallgate explain`: what a claim, template or pod may be given, device by device."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from webhook.cli.asking import Manner, ask_all, only_namespace
from webhook.cli.console import complain_about, show
from webhook.cli.exits import OK, UNUSABLE
from webhook.cli.explaining import explain, explanation_document
from webhook.cli.explanation_text import explanation_text
from webhook.cli.inputs.cluster import FleetOptions, read_cluster
from webhook.cli.inputs.manifests import read_input
from webhook.cli.inputs.policies import read_optional_policies
from webhook.cli.judging import applied
from webhook.cli.options import (
    DATA_FORMATS,
    files_argument,
    fleet_options,
    namespace_option,
    output_option,
    policy_options,
)
from webhook.cli.outputs.documents import as_documents
from webhook.errors import InputError, Problem
from webhook.fleet.build import DEFAULT_NAMESPACE, with_objects

_EPILOG = """\b
Examples:
  fallgate explain claim.yaml --fleet fleet/ --policies policies/
  fallgate explain deployment.yaml template.yaml --fleet fleet/ --pack nvidia
  kubectl get pod trainer-7 -n team-a -o yaml | fallgate explain - --fleet fleet/ --policies policies/ -o json

Without policies devices have no model names, and shapes are those of `?driver/product`.

Exit codes: 0 explained, 2 bad usage or input (the rest was explained).
"""


@click.command(epilog=_EPILOG)
@files_argument
@fleet_options
@policy_options
@namespace_option
@output_option(*DATA_FORMATS)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    source: FleetOptions,
    policy_paths: tuple[str, ...],
    packs: tuple[str, ...],
    namespace: str | None,
    output: str,
) -> None:
    """Show what a claim, template, pod or workload may be given.

    Alternative by alternative: the shapes that are possible on the pod's feasible nodes, whether they are declared, and
    device by device whether it matches, does not, or raises a CEL error. Other objects of the input are looked at, not
    explained.
    """
    policies = read_optional_policies(policy_paths, packs)
    manifests = read_input(files)
    cluster = read_cluster(
        source,
        namespace=namespace or only_namespace(manifests.objects),
    )
    asked, faults = ask_all(manifests.objects, Manner(namespace=namespace or DEFAULT_NAMESPACE))
    wrong = [Problem(message=text, source=document.source, line=document.line) for document, text in faults]
    complain_about((*manifests.problems, *wrong))
    bodies = (applied(item, item.review.object) for item in asked)
    fleet = with_objects(cluster.fleet, (body for body in bodies if body is not None))
    found = [item for item in (explain(item, fleet, policies, datetime.now(UTC)) for item in asked) if item is not None]
    if not found and not manifests.unreadable and not wrong:
        raise InputError("there is nothing to explain: the input has no claim, template, pod or workload")
    if output == "text":
        show(*(explanation_text(item) for item in found))
    else:
        documents = as_documents(map(explanation_document, found), "yaml" if output == "yaml" else "json")
        click.echo(documents, nl=False)
    ctx.exit(UNUSABLE if manifests.unreadable or wrong else OK)
