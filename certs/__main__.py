"""`python -m certs`: issue a certificate into a folder, show what is in one. Private keys are never printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from certs.folder import AUTHORITY, CERTIFICATE, issue_into
from certs.model import CertificateError, Facts, facts_of, read_certificates
from certs.outlook import outlook, secret_in


def main(arguments: Sequence[str]) -> int:
    """Run one command. Exit code 0: done; 2: bad usage, unreadable or unwritable files."""
    options = _parser().parse_args(arguments)
    try:
        lines: list[str] = options.run(options, datetime.now(UTC))
    except CertificateError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}\n")
        return 2
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m certs", description="Certificates for a webhook server.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    issue = commands.add_parser(
        "issue", help="issue a server certificate into a folder, with a certificate authority of its own when it has none"
    )
    issue.add_argument("folder", type=Path, help="gets tls.crt, tls.key, ca.crt and ca.key")
    issue.add_argument(
        "--name",
        dest="names",
        action="append",
        required=True,
        metavar="NAME",
        help="DNS name or IP address of the server, e.g. fallgate.fallgate-system.svc (repeat for more)",
    )
    issue.add_argument("--days", type=int, default=90, help="validity of the certificate (default 90)")
    issue.add_argument("--new-ca", action="store_true", help="replace the folder's authority as well")
    issue.set_defaults(run=_issue)

    show = commands.add_parser("show", help="show the certificates of a folder, a PEM file or a Secret")
    show.add_argument(
        "path", type=Path, help="a folder with tls.crt and ca.crt, a PEM file, or a Secret as JSON; - is standard input"
    )
    show.set_defaults(run=_show)
    return parser


def _issue(options: argparse.Namespace, now: datetime) -> list[str]:
    facts = issue_into(
        options.folder, options.names, now=now, valid_for=timedelta(days=options.days), new_authority=options.new_ca
    )
    return [
        *_described(options.folder / CERTIFICATE, facts, now),
        f"give {options.folder / AUTHORITY} to clients (caBundle of the webhook configuration, base64)",
    ]


def _show(options: argparse.Namespace, now: datetime) -> list[str]:
    path: Path = options.path
    if path.is_dir():
        return [line for name in (CERTIFICATE, AUTHORITY) for line in _all_in(path / name, (path / name).read_bytes(), now)]
    text = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    contents = secret_in(text)
    if contents is None:
        return _all_in(path, text, now)
    parts = ((CERTIFICATE, contents.leaf.certificate), (AUTHORITY, contents.authorities))
    lines = [line for name, part in parts if part for line in _all_in(Path(name), part, now)]
    return [*lines, f"next: {outlook(contents, now)}"]


def _all_in(path: Path, pem: bytes, now: datetime) -> list[str]:
    return [line for certificate in read_certificates(pem) for line in _described(path, facts_of(certificate), now)]


def _described(path: Path, facts: Facts, now: datetime) -> list[str]:
    left = (facts.not_after - now).days
    state = f"{left} days left" if now < facts.not_after else "EXPIRED"
    return [
        f"{path}: {facts.subject}{' (certificate authority)' if facts.authority else ''}",
        *([f"  names    {', '.join(facts.names)}"] if facts.names else []),
        f"  issuer   {facts.issuer}",
        f"  valid    {facts.not_before:%Y-%m-%dT%H:%M:%SZ} to {facts.not_after:%Y-%m-%dT%H:%M:%SZ}, {state}",
        f"  key      {facts.key}",
        f"  sha256   {facts.fingerprint}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
