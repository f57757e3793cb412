"""Options that several commands share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import wraps
from typing import Any, Final, TypeVar

import click

from webhook.cli.inputs.cluster import FleetOptions
from webhook.cli.policytests.format import read_instant
from webhook.model.server_version import read_version

_Command = TypeVar("_Command", bound=Callable[..., Any])

DATA_FORMATS: Final = ("text", "json", "yaml")
REPORT_FORMATS: Final = (*DATA_FORMATS, "junit", "sarif")


class Instant(click.ParamType[datetime]):
    """`2027-01-15T08:00:00Z`, or `2027-01-15` for the beginning of that day in UTC."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """An aware datetime; one without an offset is in UTC."""
        if isinstance(value, datetime):
            return value
        try:
            return read_instant(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Version(click.ParamType[tuple[int, int]]):
    """A Kubernetes version."""

    name = "VERSION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Major and minor number."""
        if isinstance(value, tuple):
            return value
        try:
            return read_version(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Gates(click.ParamType[Mapping[str, bool]]):
    """`A=true,B=false`, as kube-apiserver takes them."""

    name = "GATE=true|false,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Mapping[str, bool]:
        """Gate -> whether it is on."""
        if isinstance(value, Mapping):
            return value
        gates: dict[str, bool] = {}
        for part in filter(None, (part.strip() for part in value.split(","))):
            name, _, setting = part.partition("=")
            if not name or setting.lower() not in ("true", "false"):
                self.fail(f"{part!r} is no feature gate setting; write DRAPrioritizedList=true", param, ctx)
            gates[name.strip()] = setting.lower() == "true"
        return gates


def together(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Several options as one decorator, shown in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


files_argument = click.argument("files", nargs=-1, metavar="[FILE|FOLDER|-]...")

kubeconfig_options = together(
    click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the cluster. Default: as kubectl does."),
    click.option("--context", default="", metavar="NAME", help="A context of the kubeconfig. Default: the current one."),
)

_fleet_options = together(
    click.option(
        "--fleet",
        "fleet_paths",
        multiple=True,
        metavar="DIR",
        help="The cluster: a folder or file of YAML or JSON, as `kubectl get -o yaml` prints it. May be repeated.",
    ),
    click.option("--cluster", "live", is_flag=True, help="The cluster itself, as it is now, instead of --fleet."),
    kubeconfig_options,
    click.option(
        "--server-version",
        type=Version(),
        help="Version of the API server, such as 1.36. Default: what the fleet or the cluster says, else the newest known.",
    ),
    click.option(
        "--feature-gates",
        type=Gates(),
        default="",
        help="Feature gates of the API server that are not as the version has them.",
    ),
)


def fleet_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where the facts about the cluster come from; the command gets them as one `source`."""

    @_fleet_options
    @wraps(command)
    def with_source(*args: Any, **given: Any) -> Any:
        live, kubeconfig, context = given.pop("live"), given.pop("kubeconfig"), given.pop("context")
        paths = given.pop("fleet_paths")
        if live and paths:
            raise click.UsageError("--fleet and --cluster exclude each other: the facts come from folders or from the cluster.")
        if (kubeconfig or context) and not live:
            raise click.UsageError("--kubeconfig and --context are for --cluster.")
        source = FleetOptions(
            paths=paths,
            server_version=given.pop("server_version"),
            gates=given.pop("feature_gates"),
            live=live,
            kubeconfig=kubeconfig,
            context=context,
        )
        return command(*args, source=source, **given)

    return with_source


policy_options = together(
    click.option(
        "--policies",
        "policy_paths",
        multiple=True,
        metavar="DIR",
        help="Policy files: a folder or a file. May be repeated.",
    ),
    click.option(
        "--pack",
        "packs",
        multiple=True,
        metavar="NAME",
        help="A policy pack by its name, such as nvidia. May be repeated.",
    ),
)

now_option = click.option(
    "--now",
    type=Instant(),
    default=None,
    help="The time that counts for expiries: 2027-01-15T08:00:00Z or 2027-01-15. Default: now.",
)

namespace_option = click.option(
    "-n",
    "--namespace",
    default=None,
    metavar="NS",
    help="Namespace of objects that name none. Default: \"default\"; for the fleet's the input's, when that is only one.",
)

request_options = together(
    click.option(
        "--operation",
        type=click.Choice(["CREATE", "UPDATE", "DELETE"], case_sensitive=False),
        default=None,
        help="How manifests are sent. Default: CREATE, with --old UPDATE. An AdmissionReview says it itself.",
    ),
    click.option(
        "--old",
        "old_paths",
        multiple=True,
        metavar="FILE",
        help="The old objects of an UPDATE, found by kind, namespace and name.",
    ),
    click.option("--as", "user", default="", metavar="USER", help="Who sends the manifests."),
    click.option("--as-group", "groups", multiple=True, metavar="GROUP", help="A group of that user. May be repeated."),
    namespace_option,
    now_option,
    click.option("--audit-only", is_flag=True, help="Cap every mode at audit, as `serve --audit-only` does."),
)


def output_option(*forms: str) -> Callable[[_Command], _Command]:
    """`-o`, with these formats; the first is the default."""
    return click.option(
        "-o",
        "--output",
        "output",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="Format of what is printed.",
    )
