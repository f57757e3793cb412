"""`fallgate overlap`: who advertises and who holds which cards, node by node."""

from __future__ import annotations

import click

from webhook.cli.console import show
from webhook.cli.exits import OK, REFUSED
from webhook.cli.inputs.cluster import NO_FLEET, FleetOptions, read_cluster
from webhook.cli.inputs.policies import read_policies
from webhook.cli.options import DATA_FORMATS, fleet_options, output_option, policy_options
from webhook.cli.outputs.documents import as_documents
from webhook.cli.overlapping import table_document, table_text
from webhook.errors import InputError
from webhook.rulekit.ownership.table import ownership_table

_EPILOG = """\b
Examples:
  fallgate overlap --fleet fleet/ --policies policies/
  fallgate overlap --fleet fleet/ --pack nvidia --pool-label cloud.google.com/gke-nodepool

A fleet for this holds nodes, ResourceSlices, pods and ResourceClaims:
  kubectl get nodes,resourceslices,deviceclasses -o yaml > fleet/cluster.yaml
  kubectl get pods,resourceclaims -A -o yaml > fleet/used.yaml

Exit codes: 0 no node is handed out twice, 1 some node is, 2 bad usage or input.
"""


@click.command(epilog=_EPILOG)
@fleet_options
@policy_options
@click.option("--pool-label", default="", metavar="KEY", help="Node label that names node pools. Default: node by node.")
@output_option(*DATA_FORMATS)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: FleetOptions,
    policy_paths: tuple[str, ...],
    packs: tuple[str, ...],
    pool_label: str,
    output: str,
) -> None:
    """Show who advertises and who holds which cards, node by node, and in which order to move pools to DRA.

    One table for each DeviceOwnership policy: the nodes that a device plugin and a DRA driver both hand out come first.
    """
    if not source.named:
        raise InputError(NO_FLEET)
    policies = read_policies(policy_paths, packs)
    if not policies.device_ownership:
        raise InputError("no policy says which driver and which extended resources are the same cards: add a DeviceOwnership")
    fleet = read_cluster(source).fleet
    tables = [ownership_table(fleet, policy, pool_label) for policy in policies.device_ownership]
    if output == "text":
        show(*(line for table in tables for line in table_text(table)))
    else:
        click.echo(as_documents(map(table_document, tables), "yaml" if output == "yaml" else "json"), nl=False)
    ctx.exit(REFUSED if any(table.rows_of("conflict") for table in tables) else OK)
