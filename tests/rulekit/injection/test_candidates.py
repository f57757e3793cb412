"""The list a policy would make of an ask: order, names, models, counts, and how its entries are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.build import Raw, claim, exactly
from tests.injecting import policies, tier
from webhook.model.claim import Alternative, Toleration
from webhook.model.claim_reading import read_claim
from webhook.rulekit.injection.candidates import Candidate, candidates, entry, same_ask
from webhook.rulekit.policies import TierAlternative, TierAsk

GPU, MIG = "gpu.nvidia.com", "mig.nvidia.com"
H100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
A100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100-SXM4-40GB"'
IS_MIG = 'device.attributes["gpu.nvidia.com"].type == "mig"'
PROFILE = 'device.attributes["gpu.nvidia.com"].profile'


def own(*selectors: str, device_class: str = GPU, **fields: Any) -> Alternative:
    return read_claim(claim("c", exactly("r", device_class, *selectors, **fields))).spec.requests[0].alternatives[0]


def listed(ask: Alternative, *alternatives: Raw, author: str = "first") -> tuple[Candidate, ...]:
    policy_set = policies(tier(*alternatives, author=author))
    return candidates(policy_set.tier_fallback[0].asks[0], ask, policy_set)


def names(items: tuple[Candidate, ...]) -> list[str]:
    return [f"{item.name}*" if item.author else item.name for item in items]


WHOLE = {"name": "whole", "deviceClassName": GPU, "count": 1}
PAIR = {"name": "pair", "deviceClassName": GPU, "count": 2}
SLICE = {"name": "slice", "deviceClassName": MIG, "count": 1}


@pytest.mark.parametrize(
    ("author", "alternatives", "expected"),
    [
        ("first", [PAIR, SLICE], ["requested*", "pair", "slice"]),
        ("last", [PAIR, SLICE], ["pair", "slice", "requested*"]),
        ("replace", [PAIR, SLICE], ["pair", "slice"]),
        # an entry that is the author's ask gives it its name and is not repeated
        ("first", [PAIR, WHOLE, SLICE], ["whole*", "pair", "slice"]),
        ("last", [PAIR, WHOLE, SLICE], ["pair", "whole*", "slice"]),
        ("replace", [PAIR, WHOLE, SLICE], ["pair", "whole*", "slice"]),
        ("first", [WHOLE], ["whole*"]),
        ("first", [WHOLE, {**WHOLE, "name": "again"}], ["whole*", "again"]),
        # names
        ("first", [{**PAIR, "name": "requested"}], ["requested-2*", "requested"]),
        (
            "last",
            [{**PAIR, "name": "requested"}, {**SLICE, "name": "requested-2"}],
            ["requested", "requested-2", "requested-3*"],
        ),
    ],
)
def test_order_and_names(author: str, alternatives: list[Raw], expected: list[str]) -> None:
    assert names(listed(own(), *alternatives, author=author)) == expected


def test_long_names_stay_labels() -> None:
    policy_set = policies(tier({**PAIR, "name": "x" * 63}, {**SLICE, "name": "y"}))
    ask = policy_set.tier_fallback[0].asks[0]
    object.__setattr__(ask.alternatives[1], "name", "x" * 63)
    assert [item.name for item in candidates(ask, own(), policy_set)] == ["requested", "x" * 63, "x" * 61 + "-2"]
    object.__setattr__(ask.alternatives[0], "name", "x" * 60 + "-yy")
    object.__setattr__(ask.alternatives[1], "name", "x" * 60 + "-yy")
    assert candidates(ask, own(), policy_set)[2].name == "x" * 60 + "-2"


@pytest.mark.parametrize(
    ("model", "device_class", "selectors"),
    [
        ("h100-80gb", GPU, [H100]),
        ("a100-40gb", GPU, [A100]),
        ("a100", GPU, [A100]),
        (
            "a100-mig-1g-5gb",
            MIG,
            [IS_MIG, f'has({PROFILE}) && string({PROFILE}).lowerAscii().matches("^[^a-z0-9]*1g[^a-z0-9]+5gb[^a-z0-9]*$")'],
        ),
        (
            "a100-mig-1g.5gb",
            MIG,
            [IS_MIG, f'has({PROFILE}) && string({PROFILE}).lowerAscii().matches("^[^a-z0-9]*1g[^a-z0-9]+5gb[^a-z0-9]*$")'],
        ),
    ],
)
def test_models(model: str, device_class: str, selectors: list[str]) -> None:
    item = listed(own(count=3), {"name": "m", "model": model})[1]
    assert item.problem == ""
    assert item.alternative.device_class == device_class
    assert [selector.expression for selector in item.alternative.selectors] == selectors
    assert item.label == f"3x {model}"


def test_selectors_beside_a_model() -> None:
    item = listed(own(), {"name": "m", "model": "a100", "selectors": [{"cel": {"expression": "true"}}]})[1]
    assert [selector.expression for selector in item.alternative.selectors] == [A100, "true"]


def test_what_cannot_be_made() -> None:
    policy_set = policies()
    for model, problem in (
        ("classless", "model classless of the ShapeCatalog names no deviceClassName"),
        ("nobody", "no ShapeCatalog has a model nobody"),
        ("a100-mig-", "no ShapeCatalog has a model a100-mig-"),
        ("a100-mig---", "no ShapeCatalog has a model a100-mig---"),
        ("a100-", "no ShapeCatalog has a model a100-"),
    ):
        ask = TierAsk(alternatives=(TierAlternative(name="m", model=model),))
        assert candidates(ask, own(), policy_set)[1].problem == problem


def test_what_cannot_be_made_is_not_the_authors() -> None:
    ask = TierAsk(alternatives=(TierAlternative(name="m", model="classless"),))
    classless = own('device.driver == "gpu.nvidia.com"', device_class="")
    assert names(candidates(ask, classless, policies())) == ["requested*", "m"]


@pytest.mark.parametrize(
    ("ask", "alternative", "mode", "count", "label"),
    [
        (own(count=3), {}, "ExactCount", 3, "3x gpu.nvidia.com"),
        (own(count=3), {"count": 2}, "ExactCount", 2, "2x gpu.nvidia.com"),
        (own(count=3), {"countFactor": 2}, "ExactCount", 6, "6x gpu.nvidia.com"),
        (own(count=3), {"countFactor": 0.5}, "ExactCount", 2, "2x gpu.nvidia.com"),
        (own(count=3), {"allocationMode": "All"}, "All", 0, "*x gpu.nvidia.com"),
        (own(mode="All"), {}, "All", 0, "*x gpu.nvidia.com"),
        (own(mode="All"), {"count": 2}, "ExactCount", 2, "2x gpu.nvidia.com"),
    ],
)
def test_counts(ask: Alternative, alternative: Raw, mode: str, count: int, label: str) -> None:
    other = listed(ask, {"name": "m", "deviceClassName": GPU, "selectors": [{"cel": {"expression": "true"}}], **alternative})[1]
    assert (other.alternative.allocation_mode, other.alternative.count, other.label, other.problem) == (mode, count, label, "")


def test_a_factor_of_all() -> None:
    other = listed(own(mode="All"), {"name": "m", "deviceClassName": MIG, "countFactor": 2})[1]
    assert other.problem == "countFactor has nothing to multiply, the request asks for All"


def test_tolerations_are_inherited() -> None:
    ask = own(tolerations=[{"key": "k", "operator": "Exists"}])
    added = {"key": "m", "operator": "Exists", "effect": "NoSchedule"}
    other = listed(ask, {**PAIR, "tolerations": [added, {"key": "k", "operator": "Exists"}]})[1]
    mine, theirs = Toleration(key="k", operator="Exists"), Toleration(key="m", operator="Exists", effect="NoSchedule")
    assert other.alternative.tolerations == (mine, theirs)
    assert other.tolerations == (theirs,)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (own(H100), own(H100 + "\n"), True),
        (own(H100, A100), own(A100, H100), True),
        (own(), own(count=1, mode="ExactCount"), True),
        (own(), own(device_class=MIG), False),
        (own(), own(H100), False),
        (own(), own(count=2), False),
        (own(), own(mode="All"), False),
        (own(), own(tolerations=[{}]), False),
        (own(), own(capacity={"requests": {"m": "1"}}), False),
    ],
)
def test_same_ask(one: Alternative, other: Alternative, same: bool) -> None:
    assert same_ask(one, other) is same


def test_how_the_authors_entry_is_written() -> None:
    raw = {
        "deviceClassName": GPU,
        "adminAccess": False,
        "tolerations": [{"key": "k", "tolerationSeconds": 5}],
        "selectors": None,
    }
    author = listed(own(), PAIR)[0]
    assert entry(author, raw) == {
        "name": "requested",
        "deviceClassName": GPU,
        "tolerations": [{"key": "k", "tolerationSeconds": 5}],
        "allocationMode": "ExactCount",
        "count": 1,
    }
    assert entry(author, {"deviceClassName": GPU, "allocationMode": "All"}) == {
        "name": "requested",
        "deviceClassName": GPU,
        "allocationMode": "All",
    }
    assert entry(author, {"deviceClassName": GPU, "allocationMode": "ExactCount", "count": 4})["count"] == 4


def test_how_a_tiers_entry_is_written() -> None:
    raw = {"deviceClassName": GPU, "tolerations": [{"key": "k", "tolerationSeconds": 5}], "capacity": {"requests": {"a": "1"}}}
    alternative = {
        "name": "m",
        "model": "a100",
        "count": 2,
        "tolerations": [{"key": "t", "value": "v"}],
        "capacity": {"requests": {"memory": "10Gi"}},
    }
    assert entry(listed(own(), alternative)[1], raw) == {
        "name": "m",
        "deviceClassName": GPU,
        "selectors": [{"cel": {"expression": A100}}],
        "allocationMode": "ExactCount",
        "count": 2,
        "tolerations": [{"key": "k", "tolerationSeconds": 5}, {"key": "t", "operator": "Equal", "value": "v"}],
        "capacity": {"requests": {"memory": "10Gi"}},
    }
    assert entry(listed(own(), SLICE)[1], {"tolerations": "text"}) == {
        "name": "slice",
        "deviceClassName": MIG,
        "allocationMode": "ExactCount",
        "count": 1,
    }
    forever = listed(own(), SLICE)[1]
    seconds = replace(forever, tolerations=(Toleration(key="t", operator="Exists", seconds=0),))
    assert entry(seconds, {})["tolerations"] == [{"key": "t", "operator": "Exists", "tolerationSeconds": 0}]
    everything = {"name": "all", "deviceClassName": MIG, "allocationMode": "All"}
    assert entry(listed(own(), everything)[1], {}) == {"name": "all", "deviceClassName": MIG, "allocationMode": "All"}
