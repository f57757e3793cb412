"""Whether two policies can be for one namespace, and two asks for one request."""

from __future__ import annotations

import pytest

from webhook.model.labels import LabelExpression, LabelSelector
from webhook.policyfile.overlap import asks_meet, namespaces_meet
from webhook.rulekit.policies import CatalogModel, Match, TierAsk

MODELS = (
    CatalogModel(name="big", aliases=("large",), driver="d"),
    CatalogModel(name="part-{profile}", driver="d"),
)


def ask(*shapes: str, classes: tuple[str, ...] = ()) -> TierAsk:
    return TierAsk(alternatives=(), shapes=shapes, device_classes=classes)


def labels(*expressions: LabelExpression, **match: str) -> LabelSelector:
    return LabelSelector(match_labels=match, match_expressions=expressions)


def expression(key: str, operator: str, *values: str) -> LabelExpression:
    return LabelExpression(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (Match(), Match(), True),
        (Match(namespaces=("a",)), Match(), True),
        (Match(namespaces=("a",)), Match(namespaces=("b", "a")), True),
        (Match(namespaces=("a",)), Match(namespaces=("b",)), False),
        (Match(namespaces=("a-*",)), Match(namespaces=("*-b",)), True),
        (Match(namespaces=("a-*",)), Match(namespaces=("b-*",)), False),
        (Match(namespaces=("a-*",)), Match(namespaces=("a-1",)), True),
        (Match(namespaces=("a-1", "a-2")), Match(exclude_namespaces=("a-*",)), False),
        (Match(namespaces=("a-1", "b")), Match(exclude_namespaces=("a-*",)), True),
        (Match(namespaces=("a-*",)), Match(exclude_namespaces=("a-*", "c")), False),
        (Match(namespaces=("a-*", "b")), Match(exclude_namespaces=("a-*",)), True),
        (Match(namespaces=("a",), exclude_namespaces=("a",)), Match(), False),
    ],
)
def test_names_of_namespaces(one: Match, other: Match, meet: bool) -> None:
    assert namespaces_meet(one, other) is meet
    assert namespaces_meet(other, one) is meet


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (None, labels(a="1"), True),
        (labels(a="1"), labels(b="1"), True),
        (labels(a="1"), labels(a="1"), True),
        (labels(a="1"), labels(a="2"), False),
        (labels(a="1"), labels(expression("a", "In", "1", "2")), True),
        (labels(a="3"), labels(expression("a", "In", "1", "2")), False),
        (labels(expression("a", "In", "1")), labels(expression("a", "In", "2")), False),
        (labels(a="1"), labels(expression("a", "NotIn", "1")), False),
        (labels(a="1"), labels(expression("a", "NotIn", "2")), True),
        (labels(expression("a", "In", "1", "2")), labels(expression("a", "NotIn", "1", "2")), False),
        (labels(expression("a", "Exists")), labels(expression("a", "DoesNotExist")), False),
        (labels(a="1"), labels(expression("a", "DoesNotExist")), False),
        (labels(expression("a", "NotIn", "1")), labels(expression("a", "DoesNotExist")), True),
    ],
)
def test_labels_of_namespaces(one: LabelSelector | None, other: LabelSelector, meet: bool) -> None:
    assert namespaces_meet(Match(namespace_selector=one), Match(namespace_selector=other)) is meet
    assert namespaces_meet(Match(namespace_selector=other), Match(namespace_selector=one)) is meet


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (ask(), ask("big"), True),
        (ask(classes=("a.*",)), ask(classes=("b.*",)), False),
        (ask(classes=("a.*",)), ask(classes=("*.b",)), True),
        (ask("big", classes=("a",)), ask("small", classes=("a",)), False),
        (ask("big"), ask("large"), True),
        (ask("*x big"), ask("4x b*"), True),
        (ask("1-2x big"), ask("3-4x big"), False),
        (ask("1-2x big", "small"), ask("8x big", "small"), True),
        (ask("part-1g"), ask("part-2g"), False),
        (ask("part-*"), ask("part-2g"), True),
        (ask("big + small"), ask("2x big"), False),
        (ask("big + small"), ask("1-2x b* + s*"), True),
        (ask("big + small"), ask("small + large"), True),
        (ask("big + small"), ask("big"), False),
        (ask("?d/H200"), ask("?d/*"), True),
    ],
)
def test_asks(one: TierAsk, other: TierAsk, meet: bool) -> None:
    assert asks_meet(one, other, MODELS) is meet
    assert asks_meet(other, one, MODELS) is meet
