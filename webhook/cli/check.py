"""`fallgate check`: policy files by themselves."""

from __future__ import annotations

import click

from webhook.cli.app import own_version
from webhook.cli.checking import (
    SARIF_RULES,
    Checked,
    check_files,
    checked_document,
    checked_text,
    junit_cases,
    sarif_results,
)
from webhook.cli.console import show
from webhook.cli.exits import OK, REFUSED
from webhook.cli.inputs.cluster import FleetOptions, read_cluster
from webhook.cli.inputs.policies import policy_files
from webhook.cli.namespace_labels import complain_about_labels
from webhook.cli.options import REPORT_FORMATS, output_option
from webhook.cli.outputs.documents import as_documents
from webhook.cli.outputs.junit import as_junit
from webhook.cli.outputs.sarif import as_sarif
from webhook.errors import InputError

_EPILOG = """\b
Examples:
  fallgate check policies/
  fallgate check base/ team-overrides.yaml     (both together are one policy set)
  fallgate check --pack nvidia -o json

Exit codes: 0 the files can be loaded, 1 they have mistakes, 2 bad usage or a file that cannot be read.
"""


@click.command(epilog=_EPILOG)
@click.argument("paths", nargs=-1, metavar="[DIR|FILE]...")
@click.option("--pack", "packs", multiple=True, metavar="NAME", help="A policy pack by its name. May be repeated.")
@click.option("--fleet", "fleets", multiple=True, metavar="DIR", help="A cluster whose namespaces' labels are checked too.")
@output_option(*REPORT_FORMATS)
@click.pass_context
def command(
    ctx: click.Context, /, paths: tuple[str, ...], packs: tuple[str, ...], fleets: tuple[str, ...], output: str
) -> None:
    """Check policy files: every mistake at once, each with file, line, column and what to write instead.

    All files together are one policy set, as the server would load them; a pack's tests.yaml is left out. With --fleet,
    labels of its namespaces that name no mode, rule or tier are warned of on the standard error output.
    """
    if not paths and not packs:
        raise InputError("there is nothing to check: name a folder of policy files, a file, or a pack with --pack")
    checked = check_files(policy_files(paths, packs))
    if fleets and checked.policies is not None:
        complain_about_labels(read_cluster(FleetOptions(paths=fleets)).fleet, checked.policies)
    if output == "text":
        show(*checked_text(checked))
    else:
        click.echo(_report(checked, output), nl=False)
    ctx.exit(OK if checked.ok else REFUSED)


def _report(checked: Checked, output: str) -> str:
    match output:
        case "junit":
            return as_junit(junit_cases(checked), name="fallgate check")
        case "sarif":
            return as_sarif(sarif_results(checked), rules=SARIF_RULES, version=own_version())
        case "yaml":
            return as_documents([checked_document(checked)], "yaml")
        case _:
            return as_documents([checked_document(checked)], "json")
