"""`fallgate dump`: what Fallgate reads of a cluster, as a folder to use as --fleet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
import yaml

from webhook.cli.anonymising import anonymised
from webhook.cli.console import complain
from webhook.cli.inputs.cluster import read_listing
from webhook.cli.inputs.policies import read_optional_policies
from webhook.cli.options import Gates, kubeconfig_options, policy_options
from webhook.errors import InputError
from webhook.folder.server_file import API_VERSION, KIND

if TYPE_CHECKING:
    from webhook.kube.listing import Listing

_EPILOG = """\b
Examples:
  fallgate dump fleet/
  fallgate dump fleet/ --context staging --feature-gates DRAConsumableCapacity=false
  fallgate dump to-show/ --anonymise
  fallgate review deployment.yaml --policies policies/ --fleet fleet/

Feature gates cannot be asked of a server: name those that are not as its version has them, and they are in the folder too.
With --anonymise look the files over before they leave the house: what selectors and labels of nodes say is kept.

Exit codes: 0 written, 2 bad usage, or a cluster or folder that cannot be used.
"""


@click.command(epilog=_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@kubeconfig_options
@click.option("--feature-gates", "gates", type=Gates(), default="", help="Feature gates of the server, to be written down.")
@policy_options
@click.option("--anonymise", is_flag=True, help="Give nodes, namespaces, objects and cards other names.")
def command(
    folder: Path,
    kubeconfig: str,
    context: str,
    gates: Mapping[str, bool],
    policy_paths: tuple[str, ...],
    packs: tuple[str, ...],
    anonymise: bool,
) -> None:
    """Write what Fallgate reads of the current cluster into a folder, for use as --fleet.

    One JSON file for each kind, with what rules read and nothing else: no managedFields, no environment of pods, no status
    of nodes, and only pods that have claims or extended resources. Policies are looked at for the controllers they name.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: this folder is not empty; objects of another time would be mixed with those of now")
    workloads = read_optional_policies(policy_paths, packs).workload_kinds
    listing = read_listing(kubeconfig, context, workloads)
    written = _write(folder, listing, gates, anonymise=anonymise)
    complain(f"{written} objects of Kubernetes {listing.served.git_version} are in {folder}", label="note")


def _write(folder: Path, listing: Listing, gates: Mapping[str, bool], *, anonymise: bool) -> int:
    bodies: list[list[Any]] = [list(listed.objects) for listed in listing.lists]
    if anonymise:
        bodies = _split(anonymised([raw for found in bodies for raw in found]), map(len, bodies))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.yaml").write_text(_server(listing, gates))
        for listed, objects in zip(listing.lists, bodies, strict=True):
            source = listed.source
            path = folder / f"{source.path.rpartition('/')[2]}{_group(source.kind.group)}.json"
            path.write_bytes(_as_list(source.api_version, source.kind.kind, objects))
    except OSError as fault:
        raise InputError(f"{fault.filename}: {(fault.strerror or str(fault)).lower()}") from fault
    return sum(map(len, bodies))


def _split(objects: list[Any], sizes: Iterable[int]) -> list[list[Any]]:
    rest = iter(objects)
    return [[next(rest) for _ in range(size)] for size in sizes]


def _group(group: str) -> str:
    """What keeps kinds of one name apart: nothing for those of Kubernetes."""
    return "" if "." not in group or group.endswith("k8s.io") else f".{group}"


def _as_list(api_version: str, kind: str, objects: Iterable[Any]) -> bytes:
    """A typed List, one object a line: also an empty one says that it was looked for."""
    head = msgspec.json.encode({"apiVersion": api_version, "kind": f"{kind}List"})[:-1]
    items = b",\n".join(map(msgspec.json.encode, objects))
    return head + b',"items":[\n' + items + (b"\n" if items else b"") + b"]}\n"


def _server(listing: Listing, gates: Mapping[str, bool]) -> str:
    spec: dict[str, Any] = {"version": "{}.{}".format(*listing.served.version)}
    if gates:
        spec["featureGates"] = dict(gates)
    return yaml.safe_dump({"apiVersion": API_VERSION, "kind": KIND, "spec": spec}, sort_keys=False)
