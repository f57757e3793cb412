"""What can only be judged when all documents have been read: names that must be unique, names that must exist, clashes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from webhook.cel import Verdict
from webhook.model.device import Device
from webhook.policyfile.catalog_names import CatalogName, catalog_names
from webhook.policyfile.documents import Document
from webhook.policyfile.overlap import clashing_asks
from webhook.policyfile.source import Place
from webhook.policyfile.spot import Reading, meant_hint
from webhook.policyfile.yaml_nodes import find
from webhook.rulekit.policies import CatalogModel, TierFallback
from webhook.rulekit.shapes.catalog import UNKNOWN


def check_set(documents: Sequence[Document], reading: Reading, *, complete: bool) -> None:
    """Note what is wrong with the set. `complete` is False when documents are missing from it that could not be read."""
    _check_names(documents, reading)
    names = list(catalog_names(documents))
    _check_model_names(names, reading)
    if complete:
        _check_model_uses(names, reading)
        _check_policy_uses(documents, reading)
    _check_examples(documents, reading)
    _check_tiers(documents, reading)


def _error(reading: Reading, place: Place, message: str, hint: str = "") -> None:
    reading.problems.append(place.problem(message, hint))


def _warn(reading: Reading, place: Place, message: str, hint: str = "") -> None:
    reading.problems.append(place.problem(message, hint, warning=True))


def _check_names(documents: Sequence[Document], reading: Reading) -> None:
    first: dict[tuple[str, str], Place] = {}
    for document in documents:
        place = find(document.node, "metadata", "name").place
        key = (document.kind, document.name)
        if document.name and key in first:
            hint = f"the first is at {first[key]}; give one of them another name"
            _error(reading, place, f'a second {document.kind} is called "{document.name}"', hint)
        first.setdefault(key, place)


def _check_model_names(names: Sequence[CatalogName], reading: Reading) -> None:
    first: dict[str, Place] = {}
    for known in names:
        if known.name in first:
            hint = f"the first is at {first[known.name]}; names and aliases are unique over all catalogs"
            _error(reading, known.place, f'a second model is called "{known.name}"', hint)
        first.setdefault(known.name, known.place)


def _check_model_uses(names: Sequence[CatalogName], reading: Reading) -> None:
    for use in reading.model_uses:
        model = next((known for known in names if known.fits(use.name)), None)
        if model is None:
            _error(reading, use.place, f'no ShapeCatalog has a model "{use.name}"', _suggest(use.name, names))
        elif not model.in_class:
            hint = f"add it to the model at {model.place}, or spell the alternative out"
            _error(reading, use.place, f'model "{use.name}" has no deviceClassName by which it could be asked for', hint)
    for use in reading.shape_uses:
        if not use.name.startswith(UNKNOWN) and not any(known.fits(use.name) for known in names):
            message = f'no model of a ShapeCatalog fits "{use.name}": this shape is never given'
            _warn(reading, use.place, message, _suggest(use.name, names))


def _suggest(name: str, names: Sequence[CatalogName]) -> str:
    if not names:
        return "there is no ShapeCatalog in these files"
    return meant_hint(name, {known.name for known in names})


def _check_policy_uses(documents: Sequence[Document], reading: Reading) -> None:
    names = {document.name for document in documents if document.name}
    for use in reading.policy_uses:
        if use.name not in names:
            message = f'no policy is called "{use.name}": naming it has no effect'
            _warn(reading, use.place, message, meant_hint(use.name, names))


def _check_examples(documents: Sequence[Document], reading: Reading) -> None:
    """An example that an earlier model takes away from its own model says that the order is wrong."""
    earlier: list[CatalogModel] = []
    for document in documents:
        if document.kind != "ShapeCatalog" or document.value is None:
            continue
        for index, model in enumerate(document.value):
            for number, example in enumerate(model.examples):
                winner = next((other for other in earlier if _takes(other, model, example)), None)
                if winner is not None:
                    place = find(document.node, "spec", "models", index, "examples", number).place
                    message = f'this example of "{model.name}" is also matched by "{winner.name}", which comes first and wins'
                    _warn(reading, place, message, "put the narrower model first, or make the selectors exclude each other")
            earlier.append(model)


def _takes(other: CatalogModel, model: CatalogModel, example: Device) -> bool:
    if other.driver != model.driver or (other.device_class and model.device_class and other.device_class != model.device_class):
        return False
    return other.selector is None or other.selector.against(example) is Verdict.MATCH


def _check_tiers(documents: Sequence[Document], reading: Reading) -> None:
    models = [model for document in documents if document.kind == "ShapeCatalog" for model in document.value or ()]
    lists = [document for document in documents if isinstance(document.value, TierFallback)]
    for one, other in combinations(lists, 2):
        for mine, theirs in clashing_asks(one.value, other.value, models):
            place = find(other.node, "spec", "asks", theirs, "match").place
            first = find(one.node, "spec", "asks", mine, "match").place
            tiers = " and ".join(f'"{tier}"' for tier in other.value.tiers if tier in one.value.tiers)
            message = f'two TierFallbacks are for one ask in tier {tiers}: "{one.name}" and "{other.name}"'
            _error(reading, place, message, f"the first is at {first}; let shapes, deviceClasses or match tell them apart")
    _check_default_tier(lists, reading)


def _check_default_tier(lists: Sequence[Document], reading: Reading) -> None:
    defaults = [document for document in lists if document.value.default]
    for document in defaults[1:]:
        first = defaults[0]
        if document.value.tiers != first.value.tiers:
            place = find(document.node, "spec", "default").place
            message = f'tier "{document.value.tiers[0]}" cannot be the default: "{first.value.tiers[0]}" already is'
            _error(reading, place, message, f"the first is at {find(first.node, 'spec', 'default').place}")
    for document in lists:
        if defaults and "" in document.value.tiers:
            message = f'no namespace is without a tier: "{defaults[0].value.tiers[0]}" is the default tier'
            _warn(reading, find(document.node, "spec", "tier").place, message, f"see {defaults[0].node.place}")
