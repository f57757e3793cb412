"""Memory that all worker processes can read: each has a place in it where it writes how it is doing, once a second.

It is memory that the processes share, not a folder: nothing is left behind, and a worker that dies in the middle of writing
leaves what it had written before.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from typing import Final

#: A note of a worker with every metric is about 60 KB.
_MOST_BYTES: Final = 1 << 20
#: Which of the two notes is the newest; how often the worker was started anew.
_HEADER: Final = struct.Struct("<BxxxxxxxQ")
_RESTARTS_AT: Final = 8
_NOTE: Final = struct.Struct("<II")  # length and checksum
_PLACE: Final = _HEADER.size + 2 * (_NOTE.size + _MOST_BYTES)


class SharedStatus:
    """Places for `workers` processes. To be made before they are."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memory = mmap.mmap(-1, workers * _PLACE)

    def write(self, worker: int, note: bytes) -> None:
        """Put up a worker's note. Only that worker may. What is too long is not put up: the note then grows old."""
        if len(note) > _MOST_BYTES:
            return
        start = worker * _PLACE
        other = 1 - self._memory[start]
        at = self._note_at(worker, other)
        _NOTE.pack_into(self._memory, at, len(note), zlib.crc32(note))
        self._memory[at + _NOTE.size : at + _NOTE.size + len(note)] = note
        self._memory[start] = other

    def read(self, worker: int) -> bytes:
        """A worker's note, b"" when there is none. Any process may ask."""
        at = self._note_at(worker, self._memory[worker * _PLACE])
        length, checksum = _NOTE.unpack_from(self._memory, at)
        note = self._memory[at + _NOTE.size : at + _NOTE.size + min(length, _MOST_BYTES)]
        # The writer has been round twice while we read: what we have is half of each.
        return note if zlib.crc32(note) == checksum else b""

    def count_restart(self, worker: int) -> None:
        """A worker is started anew. Only the supervisor may."""
        at = worker * _PLACE + _RESTARTS_AT
        (known,) = struct.unpack_from("<Q", self._memory, at)
        struct.pack_into("<Q", self._memory, at, known + 1)

    def restarts(self) -> int:
        """How many workers have been started anew, all together."""
        return sum(struct.unpack_from("<Q", self._memory, worker * _PLACE + _RESTARTS_AT)[0] for worker in range(self.workers))

    def _note_at(self, worker: int, which: int) -> int:
        return worker * _PLACE + _HEADER.size + which * (_NOTE.size + _MOST_BYTES)
