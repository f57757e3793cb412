"""`fallgate shapes`: what the fleet offers, and a catalog to begin with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.text import Text

from webhook.cli.console import STYLES, complain, show
from webhook.cli.exits import OK
from webhook.cli.inputs.cluster import NO_FLEET, FleetOptions, read_cluster
from webhook.cli.inputs.policies import read_optional_policies
from webhook.cli.offers import Offer, PoolFault, offer_document, offers, pool_faults
from webhook.cli.options import DATA_FORMATS, fleet_options, output_option, policy_options
from webhook.cli.outputs.documents import as_documents
from webhook.cli.outputs.tables import aligned
from webhook.cli.suggestion import suggested_catalog
from webhook.errors import InputError
from webhook.rulekit.shapes.catalog import catalog_for

_EPILOG = """\b
Examples:
  fallgate shapes --fleet fleet/ --policies policies/
  fallgate shapes --fleet fleet/ --suggest > catalog.yaml
  fallgate shapes --fleet fleet/ --pack nvidia --suggest      (only what the pack has no name for)

Exit codes: 0 printed, 2 bad usage or input.
"""


@click.command(epilog=_EPILOG)
@fleet_options
@policy_options
@click.option("--suggest", is_flag=True, help="Print a ShapeCatalog for the devices that no model of the policies fits.")
@output_option(*DATA_FORMATS)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    source: FleetOptions,
    policy_paths: tuple[str, ...],
    packs: tuple[str, ...],
    suggest: bool,
    output: str,
) -> None:
    """Show what the fleet offers: models with their devices and nodes, taints, pools that give out nothing.

    With --suggest: a policy file that names every device, to begin a catalog with.
    """
    if not source.named:
        raise InputError(NO_FLEET)
    policies = read_optional_policies(policy_paths, packs)
    fleet = read_cluster(source).fleet
    if suggest:
        text = suggested_catalog(fleet.inventory, catalog_for(policies))
        if text:
            click.echo(text, nl=False)
        else:
            complain("every published device has a model already: there is nothing to suggest", label="note")
        ctx.exit(OK)
    found = offers(fleet, policies)
    if output == "text":
        show(*_text(found, pool_faults(fleet)))
    else:
        click.echo(as_documents(map(offer_document, found), "yaml" if output == "yaml" else "json"), nl=False)


def _text(found: Sequence[Offer], faults: Sequence[PoolFault]) -> Iterator[Text]:
    if not found:
        yield Text("the fleet publishes no devices (no ResourceSlice with devices)")
    else:
        rows = [("MODEL", "DRIVER", "DEVICES", "ALLOCATED", "TAINTED", "NODES"), *map(_row, found)]
        for row, offer in zip(aligned(rows), (None, *found), strict=True):
            yield Text(row, "bold" if offer is None else "" if offer.known else STYLES["warn"])
    for offer in found:
        if offer.taints:
            yield Text(f"tainted {offer.model}: {', '.join(offer.taints)}", STYLES["warn"])
    for fault in faults:
        yield Text(f"pool {fault.pool} of {fault.driver} gives out nothing: {fault.why}", STYLES["warn"])
    unnamed = sum(offer.total("devices") for offer in found if not offer.known)
    if unnamed:
        yield Text(
            f"{unnamed} device{' has' if unnamed == 1 else 's have'} no model: `fallgate shapes --suggest` proposes names"
        )


def _row(offer: Offer) -> tuple[str, ...]:
    named = [f"{node.node or 'shared'} ({node.devices})" for node in offer.nodes[:3]]
    more = f" and {len(offer.nodes) - 3} more" if len(offer.nodes) > 3 else ""
    numbers = (str(offer.total(part) or "-") for part in ("devices", "allocated", "tainted"))
    return (offer.model, offer.driver, *numbers, ", ".join(named) + more)
