"""What a Service is in a cluster: one address, and behind it the replicas that are ready.

Connections are handed through byte by byte. Whether a replica is ready is asked as kubelet asks it: one that ends by itself is
left out, one that is killed stays until the next look.
"""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Callable

#: How often readiness is asked, in seconds.
LOOK = 0.2


class Front:
    """Listens on a port of its own until `close`."""

    def __init__(self, backends: Callable[[], list[int]]) -> None:
        """`backends` gives the ports that are ready; it is asked again and again, from a thread of its own."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._backends, self._ready = backends, list[int]()
        self._held, self._closing = False, threading.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._stalled: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._serve, self._look)]
        for thread in self._threads:
            thread.start()

    def has_some(self) -> bool:
        """Whether somebody is ready behind it."""
        return bool(self._ready)

    def cut(self) -> None:
        """End every connection at once, as a network does that forgets them."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(5)

    def hold(self) -> None:
        """From now on nothing gets through, and nobody is told: a network that swallows packets."""
        self._held = True

    def stall(self) -> None:
        """The same, but only for the connections there are: new ones get through."""
        self._stalled = set(self._writers)

    def release(self) -> None:
        """Let everything through again."""
        self._held, self._stalled = False, set()

    def close(self) -> None:
        """End."""
        self._closing.set()
        self._loop.call_soon_threadsafe(self._loop.stop)
        for thread in self._threads:
            thread.join(10)
        self._listening.close()

    def _look(self) -> None:
        while not self._closing.wait(LOOK):
            self._ready = self._backends()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._handle, sock=self._listening))
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        await self._cut()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        if rest:
            await asyncio.wait(rest, timeout=5)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ready = list(self._ready)
        self._writers.add(writer)
        try:
            if ready:
                there, to = await asyncio.open_connection("127.0.0.1", random.choice(ready))
                self._writers.add(to)
                await asyncio.wait(
                    [asyncio.ensure_future(self._pass(reader, to)), asyncio.ensure_future(self._pass(there, writer))],
                    return_when=asyncio.ALL_COMPLETED,
                )
                self._writers.discard(to)
        except OSError:
            pass  # refused: so is whoever asked
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                while self._held or writer in self._stalled:
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()
