"""`fallgate review`: judge manifests or AdmissionReviews as the webhook would."""

from __future__ import annotations

from typing import Any

import click

from webhook.cli.app import own_version
from webhook.cli.console import placed, show
from webhook.cli.exits import FAULT, OK, REFUSED, UNUSABLE, worst
from webhook.cli.options import (
    REPORT_FORMATS,
    files_argument,
    fleet_options,
    output_option,
    policy_options,
    request_options,
)
from webhook.cli.outputs.documents import as_documents
from webhook.cli.outputs.junit import as_junit
from webhook.cli.outputs.sarif import as_sarif
from webhook.cli.requests import Judgement, RequestOptions, judged
from webhook.cli.verdicts import junit_case, sarif_results, sarif_rules, summary, verdict_document, verdict_text

_EPILOG = """\b
Examples:
  fallgate review claim.yaml --policies policies/ --fleet fleet/
  helm template . | fallgate review - --policies policies/ --fleet fleet/ -n team-a
  fallgate review new.yaml --old old.yaml --policies policies/      (an UPDATE)
  fallgate review captured.jsonl --policies policies/ -o json       (AdmissionReviews)
  fallgate review . --pack starter --pack nvidia --fleet fleet/ -o sarif

An UPDATE without --old is judged against the object of the same kind, namespace and name in the fleet; when there is
none, the object is taken as unchanged, and then nothing is judged.

Exit codes: 0 everything is allowed, 1 something is denied, 2 bad usage or input (the rest was judged).
"""


@click.command(epilog=_EPILOG)
@files_argument
@fleet_options
@policy_options
@request_options
@output_option(*REPORT_FORMATS)
@click.pass_context
def command(ctx: click.Context, /, output: str, **options: Any) -> None:
    """Judge manifests or AdmissionReviews as the webhook would.

    Reads YAML or JSON, many documents, Lists, gzip, from files, folders or the standard input (-). The objects of one
    input see each other: a pod finds the template in the same file. An AdmissionReview brings its own operation, user,
    old object and namespace.
    """
    found = judged(RequestOptions(**options))
    if output == "text":
        show(*(verdict_text(verdict) for verdict in found.verdicts), summary(found.verdicts))
    else:
        click.echo(_report(found, output), nl=False)
    ctx.exit(
        worst(
            REFUSED if found.denied else OK,
            UNUSABLE if found.manifests.unreadable else OK,
            FAULT if found.faulty else OK,
        )
    )


def _report(found: Judgement, output: str) -> str:
    match output:
        case "junit":
            return as_junit([junit_case(verdict) for verdict in found.verdicts], name="fallgate review")
        case "sarif":
            return _sarif(found)
        case "yaml":
            return as_documents(map(verdict_document, found.verdicts), "yaml")
        case _:
            return as_documents(map(verdict_document, found.verdicts), "json")


def _sarif(found: Judgement) -> str:
    manifests = found.manifests
    lines = {source: manifests.line_index(source) for source in {item.asked.document.source for item in found.verdicts}}
    results = [
        result
        for verdict in found.verdicts
        for result in sarif_results(
            verdict, lambda item, path: lines[item.asked.document.source].line_of(item.asked.document.line, path)
        )
    ]
    failed = [placed(problem) for problem in manifests.problems if not problem.warning]
    return as_sarif(results, rules=sarif_rules(), version=own_version(), failed=failed)
