"""What compiled selectors take, and that ever new ones do not pile up. Bounds are generous: allocators differ."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest

from tests.build import example, gpu
from webhook.cel import Selector, compile_selector
from webhook.cel import selector as cache

KIB = 1024
ATTRIBUTE, CAPACITY = 'device.attributes["gpu.nvidia.com"]', 'device.capacity["gpu.nvidia.com"]'
TYPICAL = (
    'device.driver == "gpu.nvidia.com" && {a}.productName.contains("H{n}") && {c}.memory.compareTo(quantity("{n}Mi")) >= 0',
    '{a}.productName == "NVIDIA H{n}"',
    "has({a}.index) && {a}.index < {n}",
    '{a}.driverVersion.isGreaterThan(semver("{n}.0.0")) && {a}.type == "gpu"',
    '{a}.productName.lowerAscii().matches("^.*a{n}.*$")',
    '{c}.memory.isGreaterThan(quantity("{n}Gi")) || {a}.?architecture.orValue("") == "Hopper{n}"',
    '["a", "b", "c{n}"].exists(x, {a}.productName.contains(x))',
    'cel.bind(a, {a}, a.type == "mig" && a.profile in ["1g.{n}gb", "2g.10gb"])',
)


def typical(numbers: Iterable[int]) -> Iterator[str]:
    """Selectors as people write them, each another one."""
    return (TYPICAL[number % len(TYPICAL)].format(a=ATTRIBUTE, c=CAPACITY, n=number) for number in numbers)


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_a_compiled_selector_takes_less_than_ten_kib() -> None:
    for text in typical(range(900_000, 900_000 + len(TYPICAL))):
        compile_selector(text)  # what is made once for all
    tracemalloc.start()
    before = _held()
    kept = [compile_selector(text) for text in typical(range(200))]
    taken = (_held() - before) / len(kept)
    tracemalloc.stop()
    assert all(isinstance(item, Selector) for item in kept)
    assert 512 < taken < 10 * KIB


def test_what_counts_costs_is_made_when_it_is_asked_for_and_kept_for_a_few() -> None:
    cache._program.cache_clear()
    kept = [item for item in map(compile_selector, typical(range(20_000, 20_100))) if isinstance(item, Selector)]
    assert cache._program.cache_info().currsize == 0
    device = example(gpu("gpu-0"))
    for item in kept:
        item.cost(device)
    assert cache._program.cache_info().currsize == 64


def test_ten_thousand_distinct_selectors_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = compile_selector("true")
    monkeypatch.setattr(cache, "_compile", lambda *_: selector)
    for number in range(10_000):
        compile_selector(f"{number} > 0")
        compile_selector(f"{number} > 0" + " " * 1_000)
    assert cache._compiled.cache_info().currsize == 2_048
    # Long ones take much more, so that fewer are kept.
    assert cache._compiled_long.cache_info().currsize == 64
    cache._compiled.cache_clear()
    cache._compiled_long.cache_clear()
