"""`fallgate serve`: run the webhook server. Its options are those of webhook.settings."""

from __future__ import annotations

import os
from typing import Any

import click

from webhook.cli.exits import FAULT, OK, UNUSABLE
from webhook.run import serve
from webhook.run.exits import CANNOT_START, DONE
from webhook.run.exits import FAULT as PART_FAILED
from webhook.settings import OPTIONS, Option, Settings

_EPILOG = """\b
Example:
  fallgate serve --policies policies/ --fleet fleet/ --certs certs/ --self-signed localhost

Every option can be set in the environment: FALLGATE_LISTEN for --listen; the command line wins. SIGTERM ends the server
after the calls in flight. Exit codes: 0 ended as asked, 2 bad usage or settings, 3 a fault.
"""


_EXITS = {DONE: OK, CANNOT_START: UNUSABLE, PART_FAILED: FAULT}


def _click_option(option: Option) -> click.Option:
    default = f" [default: {option.default}]" if option.default and not option.is_flag else ""
    return click.Option(
        [f"--{option.name}"],
        is_flag=option.is_flag,
        metavar=None if option.is_flag else option.metavar,
        default=None,
        help=option.help[:1].upper() + option.help[1:] + "." + default,
    )


def _run(**given: Any) -> None:
    options = {name.replace("_", "-"): value for name, value in given.items() if value is not None}
    ended = serve(Settings.from_sources(options, os.environ))
    click.get_current_context().exit(_EXITS[ended])


command = click.Command(
    "serve",
    callback=_run,
    params=[_click_option(option) for option in OPTIONS],
    help="Run the webhook server: POST /validate and /mutate over TLS, /healthz, /readyz, /metrics.\n\n"
    "Policies and fleet are watched and swapped whole when their files change; a bad policy set never replaces a good one.",
    epilog=_EPILOG,
)
