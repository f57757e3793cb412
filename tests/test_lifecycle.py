"""How the process lives and ends."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from webhook.lifecycle import ENDING, IGNORED, EternalTask, Life, TaskEnded, ends_with, signals_end


class FakeListener:
    """Serves until it is stopped, and notes what is asked of it."""

    def __init__(self, life: Life, fault: Exception | None = None) -> None:
        self.life = life
        self.fault = fault
        self.asked: list[tuple[str, str]] = []
        self._stopped = asyncio.Event()

    async def serve(self) -> None:
        self.asked.append(("serve", self.life.state))
        if self.fault is not None:
            raise self.fault
        await self._stopped.wait()

    def drain(self) -> None:
        self.asked.append(("drain", self.life.state))

    def stop(self) -> None:
        self.asked.append(("stop", self.life.state))
        self._stopped.set()


async def for_ever() -> None:
    await asyncio.Event().wait()


async def ends() -> None:
    return


async def fails() -> None:
    raise ValueError("no")


async def run(life: Life, listener: FakeListener, *tasks: EternalTask, drain_seconds: float = 0.05) -> None:
    async with asyncio.timeout(5):
        await life.run(listener, tasks, drain_seconds=drain_seconds)


IN_ORDER = [("serve", "serving"), ("drain", "draining"), ("stop", "stopping")]


async def test_orderly_end() -> None:
    life = Life()
    listener = FakeListener(life)
    assert (life.state, life.ending) == ("starting", False)
    asyncio.get_running_loop().call_later(0.01, life.end)
    await run(life, listener, EternalTask(name="watch", run=for_ever))
    assert listener.asked == IN_ORDER
    assert life.ending is True


@pytest.mark.parametrize("ask", [Life.end, Life.end_at_once])
async def test_whoever_sees_that_it_ends_sees_it_drain(ask: Callable[[Life], None]) -> None:
    """An answer that says not ready must also close its connection: nothing may come between the two."""
    life = Life()
    listener = FakeListener(life)
    running = asyncio.create_task(run(life, listener))
    while life.state != "serving":
        await asyncio.sleep(0)
    ask(life)
    assert (life.ending, listener.asked[-1]) == (True, ("drain", "draining"))
    await running


@pytest.mark.parametrize("hurry", ["end twice", "at once"])
async def test_drain_is_cut_short(hurry: str) -> None:
    life = Life()
    listener = FakeListener(life)
    for ask in (life.end, life.end) if hurry == "end twice" else (life.end_at_once,):
        asyncio.get_running_loop().call_later(0.01, ask)
    await run(life, listener, drain_seconds=60)
    assert listener.asked == IN_ORDER


async def test_drain_lasts() -> None:
    life = Life()
    listener = FakeListener(life)
    running = asyncio.create_task(run(life, listener, drain_seconds=0.2))
    await asyncio.sleep(0.01)
    life.end()
    await asyncio.sleep(0.1)
    assert (life.state, listener.asked[-1]) == ("draining", ("drain", "draining"))
    await running
    assert life.state == "stopping"


@pytest.mark.parametrize(("task", "error"), [(ends, "the task 'watch' has ended"), (fails, "no")])
async def test_task_that_does_not_last_is_a_fault_and_the_end_is_orderly(task: object, error: str) -> None:
    life = Life()
    listener = FakeListener(life)
    with pytest.raises(ExceptionGroup) as raised:
        await run(life, listener, EternalTask(name="watch", run=task), EternalTask(name="other", run=for_ever))
    assert [str(fault) for fault in raised.value.exceptions] == [error]
    assert listener.asked == IN_ORDER


async def test_server_that_fails_is_a_fault() -> None:
    life = Life()
    with pytest.raises(ExceptionGroup) as raised:
        await run(life, FakeListener(life, OSError("broken")), drain_seconds=60)
    assert [str(fault) for fault in raised.value.exceptions] == ["broken"]


async def test_server_that_ends_by_itself_is_a_fault() -> None:
    life = Life()
    listener = FakeListener(life)
    asyncio.get_running_loop().call_later(0.01, listener.stop)
    with pytest.raises(ExceptionGroup) as raised:
        await run(life, listener, drain_seconds=60)
    assert [type(fault) for fault in raised.value.exceptions] == [TaskEnded]


@pytest.fixture
def dispositions() -> Iterator[None]:
    """What signals do is as before, for other tests and the processes they start."""
    before = {number: signal.getsignal(number) for number in (*ENDING, *IGNORED)}
    yield
    for number, does in before.items():
        signal.signal(number, does)


@pytest.mark.usefixtures("dispositions")
@pytest.mark.parametrize("number", [signal.SIGTERM, *IGNORED])
async def test_afterwards_threads_that_go_on_take_signals_and_nothing_happens(number: int) -> None:
    life, go_on = Life(), threading.Event()
    with signals_end(life):
        threading.Thread(target=go_on.wait, daemon=True).start()
    assert signal.getsignal(number) == signal.SIG_IGN  # or the next line would end the tests
    os.kill(os.getpid(), number)
    go_on.set()
    assert life.ending is False


@pytest.mark.usefixtures("dispositions")
@pytest.mark.parametrize(("number", "hurried"), [(signal.SIGTERM, False), (signal.SIGINT, True)])
async def test_signals(number: int, hurried: bool) -> None:
    life = Life()
    with signals_end(life):
        os.kill(os.getpid(), number)
        await asyncio.sleep(0.05)
        assert life.ending is True
        running = asyncio.create_task(run(life, FakeListener(life), drain_seconds=0.3))
        await asyncio.sleep(0.1)
        assert (life.state == "stopping") is hurried
        await running


async def test_the_end_of_a_pipe_ends_the_process_in_order() -> None:
    read, write = os.pipe()
    life = Life()
    with ends_with(life, read):
        await asyncio.sleep(0.05)
        assert life.ending is False
        os.close(write)
        await asyncio.sleep(0.05)
        assert life.ending is True
        # Once: a second time would cut the drain short.
        running = asyncio.create_task(run(life, FakeListener(life), drain_seconds=0.3))
        await asyncio.sleep(0.1)
        assert life.state == "draining"
        await running
    os.close(read)


async def test_without_a_pipe_nothing_is_waited_for() -> None:
    life = Life()
    with ends_with(life, None):
        assert life.ending is False
