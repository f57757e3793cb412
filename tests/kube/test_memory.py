"""The collector of cycles does not walk over a cluster."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from webhook.kube import memory


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Nothing is frozen: what others froze may go at any time, and be counted no more."""
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.enable()


def test_lists_are_read_without_it_and_kept() -> None:
    before = gc.get_freeze_count()
    with memory.reading_much():
        with memory.reading_much():
            assert not gc.isenabled()
        assert not gc.isenabled(), "another list is still being read"
        assert gc.get_freeze_count() == before
    assert gc.isenabled()
    assert gc.get_freeze_count() > before


def test_a_list_that_fails_leaves_it_as_it_was() -> None:
    with pytest.raises(ValueError, match="broken"), memory.reading_much():
        raise ValueError("broken")
    assert gc.isenabled()


def test_what_events_bring_is_kept_when_it_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MANY", 3)
    settling, before = memory.Settling(), gc.get_freeze_count()
    settling.took()
    settling.took()
    assert gc.get_freeze_count() == before
    settling.took()
    assert gc.get_freeze_count() > before
