"""Whatever bytes are in the Secret, the plan has an answer, and what would be served is refused in words."""

from __future__ import annotations

import base64
import random
import warnings
from dataclasses import replace

import pytest

from certs.contents import Contents
from certs.model import CertificateError, Pair, check_pair
from certs.outlook import outlook
from certs.plan import observe, plan
from tests.certs.cluster import NAMES, NOW, Candidate, installed

ROUNDS = 400


def damaged(pem: bytes, chance: random.Random) -> bytes:
    """A PEM text with a few wrong bytes inside."""
    lines = pem.splitlines()
    inside = bytearray(base64.b64decode(b"".join(lines[1:-1])))
    for _ in range(chance.randint(1, 3)):
        inside[chance.randrange(len(inside))] = chance.randrange(256)
    return b"\n".join([lines[0], base64.b64encode(inside), lines[-1], b""])


@pytest.mark.parametrize("part", ["tls.crt", "tls.key", "ca.crt", "ca.key"])
def test_any_damage_has_an_answer(part: str) -> None:
    candidate = Candidate(installed())
    candidate.round()
    good = candidate.store.contents
    chance = random.Random(part)
    planned = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library, about what is odd in a certificate
        for _ in range(ROUNDS):
            bad = with_damage(good, part, chance)
            trust = observe(None, NOW, bad, [bad.authorities])
            planned.add(type(plan(NOW, bad, [bad.authorities], trust, candidate.schedule)).__name__)
            assert outlook(bad, NOW)
            assert "Error" not in refused(bad.leaf)
    assert ("NewAuthority" if part.startswith("ca") else "Rest") in planned


def with_damage(good: Contents, part: str, chance: random.Random) -> Contents:
    if part == "tls.crt":
        return replace(good, leaf=Pair(certificate=damaged(good.leaf.certificate, chance), key=good.leaf.key))
    if part == "tls.key":
        return replace(good, leaf=Pair(certificate=good.leaf.certificate, key=damaged(good.leaf.key, chance)))
    if part == "ca.crt":
        return replace(good, authorities=damaged(good.authorities, chance))
    return replace(good, authority_key=damaged(good.authority_key, chance))


def refused(pair: Pair) -> str:
    """What is said of a pair, "" when it is taken."""
    try:
        check_pair(pair, NOW, NAMES)
    except CertificateError as error:
        return str(error)
    return ""
