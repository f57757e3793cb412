"""A kind of policy document: its name, its spec, an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from webhook.policyfile.record import Record

P = TypeVar("P")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind(Generic[P]):
    """One of the kinds of `fallgate.dev/v1alpha1`. `spec` builds the policy; `example` is a whole document."""

    name: str
    doc: str
    spec: Record[P]
    example: str
