"""`fallgate tiers`: models and fallback lists in a tenant's words."""

from __future__ import annotations

import click
from rich.text import Text

from webhook.cli.console import complain, show
from webhook.cli.inputs.cluster import FleetOptions, read_cluster
from webhook.cli.inputs.policies import read_policies
from webhook.cli.offers import Offer, offers
from webhook.cli.options import DATA_FORMATS, fleet_options, output_option, policy_options
from webhook.cli.outputs.documents import as_documents
from webhook.cli.outputs.tables import aligned
from webhook.cli.tiering import model_rows, tier_document, tier_text, tiers_of
from webhook.errors import InputError

_EPILOG = """\b
Examples:
  fallgate tiers --policies policies/
  fallgate tiers research --policies policies/ --fleet fleet/

Exit codes: 0 printed, 2 bad usage or input.
"""


@click.command(epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[TIER]...")
@fleet_options
@policy_options
@output_option(*DATA_FORMATS)
def command(
    names: tuple[str, ...],
    source: FleetOptions,
    policy_paths: tuple[str, ...],
    packs: tuple[str, ...],
    output: str,
) -> None:
    """Show for each tier what a plain ask falls back to, what must be declared, and which models there are to name.

    With --fleet the table of models says how many devices there are.
    """
    policies = read_policies(policy_paths, packs)
    every = tiers_of(policies)
    chosen = tuple(tier for tier in every if not names or tier.name in names)
    unknown = [name for name in names if name not in {tier.name for tier in every}]
    if unknown:
        known = ", ".join(tier.name for tier in every if tier.name) or "none"
        raise InputError(f"no policy names the tier {', '.join(unknown)}; there are: {known}")
    if output != "text":
        click.echo(as_documents(map(tier_document, chosen), "yaml" if output == "yaml" else "json"), nl=False)
        return
    if not chosen:
        complain("no policy names a tier: no fallbacks are added anywhere", label="note")
    show(*map(tier_text, chosen))
    if policies.catalog:
        offered: tuple[Offer, ...] = ()
        if source.named:
            offered = offers(read_cluster(source).fleet, policies)
        header, *rows = aligned(model_rows(policies.catalog, offered))
        show(Text(header, "bold"), *map(Text, rows))
