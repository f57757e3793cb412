"""`fallgate certs`: issue and show certificates. Everything is done by the package certs."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from certs.folder import AUTHORITY, CERTIFICATE, issue_into
from certs.model import CertificateError, Facts, facts_of, read_certificates
from certs.outlook import outlook, secret_in
from webhook.cli.options import DATA_FORMATS, output_option
from webhook.cli.outputs.documents import as_documents
from webhook.errors import InputError

_EPILOG = """\b
Examples:
  fallgate certs issue certs/ --name fallgate.fallgate-system.svc
  fallgate certs show certs/ -o json
  kubectl -n fallgate-system get secret fallgate-certs -o json | fallgate certs show -

Exit codes: 0 done, 2 bad usage, or a file that cannot be read or written.
"""


@click.group(epilog=_EPILOG)
def command() -> None:
    """Issue and show certificates of the webhook server. Private keys are never printed."""


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--name",
    "names",
    multiple=True,
    required=True,
    help="DNS name or IP address of the server, such as fallgate.fallgate-system.svc. May be repeated.",
)
@click.option("--days", type=click.IntRange(1, 3650), default=90, show_default=True, help="Validity of the certificate.")
@click.option("--new-ca", is_flag=True, help="Replace the folder's authority as well.")
@output_option(*DATA_FORMATS)
def issue(folder: Path, names: tuple[str, ...], days: int, new_ca: bool, output: str) -> None:
    """Issue a server certificate into FOLDER: tls.crt, tls.key, and an authority (ca.crt, ca.key) when it has none."""
    now = datetime.now(UTC)
    try:
        facts = issue_into(folder, names, now=now, valid_for=timedelta(days=days), new_authority=new_ca)
    except CertificateError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from error
    _print([(folder / CERTIFICATE, facts)], now, output)
    if output == "text":
        click.echo(f"give {folder / AUTHORITY} to clients (caBundle of the webhook configuration, base64)")


@command.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True, allow_dash=True))
@output_option(*DATA_FORMATS)
def show(path: Path, output: str) -> None:
    """Show the certificates in PATH: a folder with tls.crt and ca.crt, a PEM file, or a Secret as JSON; - is standard input.

    Of a Secret that Fallgate keeps, also what will be done to it next.
    """
    now = datetime.now(UTC)
    if path.is_dir():
        _print([item for name in (CERTIFICATE, AUTHORITY) for item in _all_in(path / name, _read(path / name))], now, output)
        return
    text = sys.stdin.buffer.read() if str(path) == "-" else _read(path)
    contents = secret_in(text)
    if contents is None:
        _print(_all_in(path, text), now, output)
        return
    parts = ((CERTIFICATE, contents.leaf.certificate), (AUTHORITY, contents.authorities))
    _print([item for name, part in parts if part for item in _all_in(Path(name), part)], now, output)
    if output == "text":
        click.echo(f"next: {outlook(contents, now)}")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error


def _all_in(file: Path, text: bytes) -> list[tuple[Path, Facts]]:
    try:
        return [(file, facts_of(certificate)) for certificate in read_certificates(text)]
    except CertificateError as error:
        raise InputError(f"{file}: {error}") from error


def _print(found: list[tuple[Path, Facts]], now: datetime, output: str) -> None:
    if output == "text":
        click.echo("\n".join(line for path, facts in found for line in _lines(path, facts, now)))
    else:
        documents = [_document(path, facts, now) for path, facts in found]
        click.echo(as_documents(documents, "yaml" if output == "yaml" else "json"), nl=False)


def _lines(path: Path, facts: Facts, now: datetime) -> list[str]:
    state = f"{(facts.not_after - now).days} days left" if now < facts.not_after else "EXPIRED"
    return [
        f"{path}: {facts.subject}{' (certificate authority)' if facts.authority else ''}",
        *([f"  names    {', '.join(facts.names)}"] if facts.names else []),
        f"  issuer   {facts.issuer}",
        f"  valid    {_instant(facts.not_before)} to {_instant(facts.not_after)}, {state}",
        f"  key      {facts.key}",
        f"  sha256   {facts.fingerprint}",
    ]


def _document(path: Path, facts: Facts, now: datetime) -> dict[str, Any]:
    return {
        "file": str(path),
        "subject": facts.subject,
        "issuer": facts.issuer,
        "names": list(facts.names),
        "notBefore": _instant(facts.not_before),
        "notAfter": _instant(facts.not_after),
        "expired": now >= facts.not_after,
        "key": facts.key,
        "authority": facts.authority,
        "sha256": facts.fingerprint,
    }


def _instant(when: datetime) -> str:
    return f"{when:%Y-%m-%dT%H:%M:%SZ}"
