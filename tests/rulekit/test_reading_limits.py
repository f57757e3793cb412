"""How much CEL of one review is read, counted in compilations and steps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.build import NVIDIA, alternative, claim, device_class, device_slice, exactly, first_available, fleet_of, gpu
from webhook.cel import Selector
from webhook.fleet import matching
from webhook.fleet.device_sets import MOST_STEPS
from webhook.model.claim import ClaimSpec
from webhook.model.claim_reading import read_claim
from webhook.rulekit import reading_limits
from webhook.rulekit.reading_limits import MOST_SELECTORS, MOST_TEXT, within_limits

ON = f'device.attributes["{NVIDIA}"]'
LOOP = "[1,2,3,4,5,6,7,8,9]"
CLUSTER = (device_class(), *(device_slice(f"node-{number:03}", gpu("gpu-0", index=number)) for number in range(50)))


def spec_of(*texts: str) -> ClaimSpec:
    return read_claim(claim("c", *(exactly(f"r{i}", NVIDIA, text) for i, text in enumerate(texts)))).spec


def reasons(spec: ClaimSpec) -> list[str]:
    return [item.unread for request in spec.requests for item in request.alternatives]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are compiled."""
    seen: list[str] = []
    compile_selector = matching.compile_selector

    def counted(text: str, **dialect: Any) -> Any:
        seen.append(text)
        return compile_selector(text, **dialect)

    monkeypatch.setattr(matching, "compile_selector", counted)
    return seen


def test_what_is_within_the_limits_is_the_very_same() -> None:
    spec = spec_of(f"{ON}.index == 1", f"{ON}.index == 2")
    (read,) = within_limits(fleet_of(*CLUSTER).inventory, (spec,))
    assert read is spec


def test_too_much_text_is_not_compiled(compiled: list[str]) -> None:
    texts = [f"{ON}.index == {number} || {' ' * 8_000} false" for number in range(5)]
    assert sum(map(len, texts)) > MOST_TEXT
    spec = spec_of(*texts)
    (read,) = within_limits(fleet_of(*CLUSTER).inventory, (spec,))
    assert reasons(read) == ["its selectors are 39.3 KiB of CEL together, more than the 32 KiB that are read"] * 5
    assert compiled == []
    first = read.requests[0].alternatives[0]
    assert (first.selectors, first.written, first.understood) == ((), spec.requests[0].alternatives[0].selectors, False)


def test_the_same_text_counts_once(compiled: list[str]) -> None:
    text = f"{ON}.index == 1 || {' ' * 8_000} false"
    (read,) = within_limits(fleet_of(*CLUSTER).inventory, (spec_of(*[text] * 32),))
    assert reasons(read) == [""] * 32
    assert compiled == [text]


def test_too_many_different_selectors_are_not_compiled(compiled: list[str]) -> None:
    (read,) = within_limits(fleet_of(*CLUSTER).inventory, (spec_of(*(f"{n} > 0" for n in range(MOST_SELECTORS + 1))),))
    assert set(reasons(read)) == {"it has 129 different selectors, more than the 128 that are read"}
    assert compiled == []


def test_the_claims_of_one_review_count_together(compiled: list[str]) -> None:
    specs = tuple(spec_of(*(f"{claim_number * 100 + n} > 0" for n in range(100))) for claim_number in range(2))
    read = within_limits(fleet_of(*CLUSTER).inventory, specs)
    assert {reason for spec in read for reason in reasons(spec)} == {
        "it has 200 different selectors, more than the 128 that are read"
    }
    assert compiled == []


def test_all_selectors_of_a_review_share_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    tried = Selector.tried

    def counted(self: Selector, item: Any, most: int) -> Any:
        outcome = tried(self, item, most)
        taken.append(outcome[1])
        return outcome

    monkeypatch.setattr(Selector, "tried", counted)
    loops = f"{LOOP}.all(a, {LOOP}.all(b, a + b + {ON}.index > "
    spec = spec_of(*(f"{loops}{-number}))" for number in range(100)), f"{ON}.index == 1")
    (read,) = within_limits(fleet_of(*CLUSTER).inventory, (spec,))
    assert reasons(read)[0] == ""
    assert reasons(read)[-1] == "its selectors are too costly to be tried on 50 devices"
    assert sum(taken) <= MOST_STEPS + 20_000


def test_one_alternative_is_withheld_and_the_one_before_it_is_not() -> None:
    bomb = f"{LOOP}.all(a, {LOOP}.all(b, {LOOP}.all(c, {LOOP}.all(d, a + b + c + d + {ON}.index > 0))))"
    alternatives = (alternative("cheap", NVIDIA, f"{ON}.index == 1"), alternative("costly", NVIDIA, bomb))
    spec = read_claim(claim("c", first_available("gpu", *alternatives))).spec
    cluster = (device_class(), *(device_slice(f"node-{number:03}", gpu("gpu-0", index=number)) for number in range(200)))
    (read,) = within_limits(fleet_of(*cluster).inventory, (spec,))
    assert reasons(read) == ["", "its selectors are too costly to be tried on 200 devices"]


WHY = "the alternatives choose from more than 150 devices together, and no more are looked at"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_limits, "MOST_DEVICES", 150)


@pytest.mark.usefixtures("few")
def test_alternatives_beyond_the_devices_that_are_looked_at_are_withheld() -> None:
    spec = spec_of(*(f"{ON}.index != {number}" for number in range(4)))
    (read,) = within_limits(fleet_of(*CLUSTER).inventory, (spec,))
    assert reasons(read) == ["", "", "", WHY]
    assert read.requests[2].alternatives == spec.requests[2].alternatives


@pytest.mark.usefixtures("few")
def test_the_same_devices_asked_for_alike_count_once() -> None:
    inventory = fleet_of(*CLUSTER).inventory
    same = spec_of(*(f"{ON}.index != 7 || {number} == -1" for number in range(40)))
    assert within_limits(inventory, (same,)) == (same,)
    counts = read_claim(claim("c", *(exactly(f"r{i}", NVIDIA, count=i + 1) for i in range(4)))).spec
    assert reasons(within_limits(inventory, (counts,))[0]) == ["", "", "", WHY]


@pytest.mark.usefixtures("few")
def test_devices_that_have_to_be_compared_count_four_times() -> None:
    inventory = fleet_of(*CLUSTER).inventory
    asked = exactly("a", NVIDIA, f"{ON}.index < 37")
    tied = [{"matchAttribute": f"{NVIDIA}/index", "requests": ["a"]}]
    assert reasons(within_limits(inventory, (read_claim(claim("c", asked)).spec,))[0]) == [""]
    assert reasons(within_limits(inventory, (read_claim(claim("c", asked, devices={"constraints": tied})).spec,))[0]) == [""]
    wider = exactly("a", NVIDIA, f"{ON}.index < 38")
    assert reasons(within_limits(inventory, (read_claim(claim("c", wider, devices={"constraints": tied})).spec,))[0]) == [WHY]
    assert reasons(within_limits(inventory, (read_claim(claim("c", wider)).spec,))[0]) == [""]


@pytest.mark.usefixtures("few")
def test_the_devices_of_all_claims_count_together() -> None:
    specs = tuple(spec_of(f"{ON}.index != {number}") for number in range(4))
    read = within_limits(fleet_of(*CLUSTER).inventory, specs)
    assert [reason for spec in read for reason in reasons(spec)] == ["", "", "", WHY]


@pytest.mark.usefixtures("few")
def test_what_asks_like_one_that_is_looked_at_is_looked_at_too() -> None:
    inventory = fleet_of(*CLUSTER).inventory
    numbers = [0, 1, 2, 3, 0, 3]
    requests = [exactly(f"r{i}", NVIDIA, f"{ON}.index != {number}") for i, number in enumerate(numbers)]
    (read,) = within_limits(inventory, (read_claim(claim("c", *requests)).spec,))
    assert reasons(read) == ["", "", "", WHY, "", WHY]
