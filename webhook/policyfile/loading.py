"""Files -> PolicySet, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from webhook.errors import PolicyErrors, Problem
from webhook.policyfile.digest import set_digest
from webhook.policyfile.documents import Document, read_document
from webhook.policyfile.rule_names import rule_names
from webhook.policyfile.spot import Reading
from webhook.policyfile.whole_set import check_set
from webhook.policyfile.yaml_reading import read_documents
from webhook.rulekit.policies import PolicySet
from webhook.rulekit.rule import Rule
from webhook.rules import ALL


def parse_policies(files: Sequence[tuple[str, bytes]], *, rules: Iterable[Rule] = ALL) -> PolicySet:
    """The policies in `files` (name, content), in the order of the files.

    Raises PolicyErrors with every mistake of every file, in that order; warnings are dropped.
    """
    return parse_policies_with_warnings(files, rules=rules)[0]


def parse_policies_with_warnings(
    files: Sequence[tuple[str, bytes]], *, rules: Iterable[Rule] = ALL
) -> tuple[PolicySet, tuple[Problem, ...]]:
    """The policies in `files`, and what is allowed in them and probably not meant.

    `rules` are those whose ids and reasons policies may name. Raises PolicyErrors, with warnings among the problems.
    """
    reading = Reading(rule_names(rules))
    documents: list[Document] = []
    complete = True
    for name, data in files:
        found = read_documents(name, data)
        reading.problems.extend(found.problems)
        complete = complete and not found.problems
        for node in found.documents:
            document = read_document(node, reading)
            if document is None:
                complete = False
            else:
                documents.append(document)
    check_set(documents, reading, complete=complete)
    problems = _in_order(reading.problems, [name for name, _ in files])
    if any(not problem.warning for problem in problems):
        raise PolicyErrors(problems)
    return _policy_set(documents), problems


def _in_order(problems: Iterable[Problem], names: Sequence[str]) -> tuple[Problem, ...]:
    position = {name: index for index, name in reversed(list(enumerate(names)))}
    ordered = sorted(problems, key=lambda problem: (position.get(problem.source, 0), problem.line, problem.column))
    return tuple(dict.fromkeys(ordered))


def _policy_set(documents: Sequence[Document]) -> PolicySet:
    def of(kind: str) -> tuple[Any, ...]:
        return tuple(document.value for document in documents if document.kind == kind)

    def members(kind: str) -> tuple[Any, ...]:
        return tuple(item for value in of(kind) for item in value)

    lists = of("TierFallback")
    return PolicySet(
        digest=set_digest((document.kind, document.name, document.digest) for document in documents),
        catalog=members("ShapeCatalog"),
        fallback_compatibility=of("FallbackCompatibility"),
        tier_fallback=lists,
        device_ownership=of("DeviceOwnership"),
        checks=of("Checks"),
        claim_rules=of("ClaimRule"),
        exemptions=members("Exemptions"),
        mode_caps=of("ModeCap"),
        workload_kinds=members("WorkloadKinds"),
        default_tier=next((policy.tiers[0] for policy in lists if policy.default), ""),
    )
