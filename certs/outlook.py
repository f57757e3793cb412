"""What will happen to the contents of a Secret, for people: the next step of the writer, as far as the Secret alone tells."""

from __future__ import annotations

import json
from datetime import datetime

from certs.authority import read_authorities
from certs.contents import Contents, read_contents
from certs.model import CertificateError, facts_of, read_certificates
from certs.plan import Drop, NewAuthority, NewLeaf, Rest, Schedule, Trust, plan


def secret_in(text: bytes) -> Contents | None:
    """The contents of a Secret that is written as JSON, None when it is no such thing."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return read_contents(found) if isinstance(found, dict) and found.get("kind") == "Secret" else None


def outlook(contents: Contents, now: datetime) -> str:
    """What the writer will do next, provided that caBundle is right and its names are those of the certificate."""
    authorities = read_authorities(contents.authorities)
    trust = Trust(fingerprint=authorities[0].fingerprint, since=authorities[0].not_before) if authorities else None
    schedule = Schedule(names=_names(contents))
    action = plan(now, contents, [contents.authorities], trust, schedule)
    if isinstance(action, NewAuthority):
        return f"a new authority now: {action.why}"
    if isinstance(action, NewLeaf):
        return f"a new certificate now: {action.why}"
    if isinstance(action, Drop):
        return f"{len(authorities) - len(action.keep)} old authorities are dropped now"
    if isinstance(action, Rest) and not action.waiting:
        return f"nothing before {action.until:%Y-%m-%dT%H:%M:%SZ}"
    return "a new certificate as soon as every API server knows the new authority"


def _names(contents: Contents) -> tuple[str, ...]:
    try:
        return facts_of(read_certificates(contents.leaf.certificate)[0]).names
    except CertificateError:
        return ()
