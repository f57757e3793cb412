"""A folder of certificates, named as Kubernetes names them in a TLS Secret. Keys are readable by their owner alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from certs.issue import issue_authority, issue_leaf
from certs.model import CertificateError, Facts, Pair, check_halves, facts_of, read_certificates

CERTIFICATE = "tls.crt"
KEY = "tls.key"
AUTHORITY = "ca.crt"
AUTHORITY_KEY = "ca.key"

AUTHORITY_NAME = "Fallgate webhook CA"


def issue_into(
    folder: Path,
    names: Sequence[str],
    *,
    now: datetime,
    valid_for: timedelta = timedelta(days=90),
    authority_valid_for: timedelta = timedelta(days=3650),
    new_authority: bool = False,
) -> Facts:
    """A new server certificate for `names` in `folder`, signed by the folder's authority, which is made when there is none.

    Gives the facts of the new certificate. Raises CertificateError as `issue_leaf` does, OSError when a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority = None if new_authority else _read_authority(folder, now)
    if authority is None:
        authority = issue_authority(AUTHORITY_NAME, now=now, valid_for=authority_valid_for)
        write_file(folder / AUTHORITY_KEY, authority.key, private=True)
        write_file(folder / AUTHORITY, authority.certificate)
    leaf = issue_leaf(authority, names, now=now, valid_for=valid_for)
    # The key first: a reader in between sees a pair that does not match and keeps the one it has.
    write_file(folder / KEY, leaf.key, private=True)
    write_file(folder / CERTIFICATE, leaf.certificate)
    return facts_of(read_certificates(leaf.certificate)[0])


def write_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """`data` under `path`, whole or not at all. A private file is never readable by others, not even while it is written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _read_authority(folder: Path, now: datetime) -> Pair | None:
    """The folder's authority, None when it has none that can still sign."""
    try:
        authority = Pair(certificate=(folder / AUTHORITY).read_bytes(), key=(folder / AUTHORITY_KEY).read_bytes())
        return authority if check_halves(authority, now).authority else None
    except (FileNotFoundError, CertificateError):
        return None
