"""The command `fallgate`: its commands, and how their errors end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import click

from webhook.cli.console import complain
from webhook.cli.exits import FAULT, UNUSABLE
from webhook.errors import FallgateError

#: Command -> what it does, in the order of the help. Its code is loaded when it is used: webhook.cli.<command>.
COMMANDS: Final[Mapping[str, str]] = {
    "review": "Judge manifests or AdmissionReviews.",
    "explain": "Show what a claim, template or pod may be given, device by device.",
    "cel": "Ask the devices of a fleet a CEL selector.",
    "patch": "Print manifests as the cluster would store them.",
    "check": "Check policy files.",
    "test": "Run the tests of policy packs.",
    "shapes": "Show what the fleet offers, or suggest a catalog for it.",
    "tiers": "Show models and fallback lists in a tenant's words.",
    "overlap": "Show who advertises and who holds which cards, node by node.",
    "dump": "Write what is read of a cluster into a folder.",
    "serve": "Run the webhook server.",
    "certs": "Issue and show certificates.",
}

_EPILOG: Final = """Exit codes: 0 nothing was refused, 1 something was, 2 bad usage or input, 3 a fault of Fallgate itself.

\b
Try:
  fallgate review deployment.yaml --policies policies/ --fleet fleet/
  fallgate explain pod.yaml --policies policies/ --fleet fleet/
  fallgate check policies/
"""


class Commands(click.Group):
    """Loads a command when it is asked for, and turns every error into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"webhook.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their summaries, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; see docs/exit-codes.md for what its errors come to."""
        try:
            return super().invoke(ctx)
        except FallgateError as error:
            complain(str(error))
            ctx.exit(UNUSABLE)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as fault:
            if os.environ.get("FALLGATE_DEBUG"):
                raise
            complain(f"a fault of Fallgate itself: {type(fault).__name__}: {fault} (FALLGATE_DEBUG=1 shows where)")
            ctx.exit(FAULT)


def own_version() -> str:
    """The version of the installed distribution."""
    try:
        return version("fallgate")
    except PackageNotFoundError:
        return "0+uninstalled"


@click.group(
    cls=Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(version=own_version(), prog_name="fallgate", message="%(prog)s %(version)s")
def app() -> None:
    """Fallgate judges Kubernetes device claims (DRA) by the organisation's policies.

    The commands give offline, from files, the same answers as the webhook gives in the cluster.
    """


def main() -> None:
    """The console script."""
    if sys.argv[1:2] == ["serve"]:
        # The server takes a second to load, and hears signals only then: until then they wait, and at the very end nobody does.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGHUP))
    app(prog_name="fallgate")
