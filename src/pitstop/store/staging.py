"""Page-aligned buffers, filled by one thread while another writes them."""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from pitstop.store.filesystem import Filesystem

BUFFER_BYTES = 8 << 20
"""Bytes written at a time: enough to keep a disk busy, few enough for a CPU's cache."""

BUFFERS = 3
"""One being filled, one being written, one ready in between."""


class Stage:
    """The buffers, and the thread that writes them; used for one file after the other.

    They are kept: touching fresh memory takes longer than writing what is in it.
    """

    def __init__(self) -> None:
        self.buffers = tuple(memoryview(mmap.mmap(-1, BUFFER_BYTES)) for _ in range(BUFFERS))
        self.pool = ThreadPoolExecutor(1, "pitstop-writer")


class StagedFile:
    """A file that is appended to through the buffers of a stage, in order.

    Leaving the context without an exception writes what is left; nothing is synced.  A write that
    fails raises its OSError at a later call.
    """

    def __init__(
        self,
        stage: Stage,
        filesystem: Filesystem,
        fd: int,
        pace: Callable[[], None] = lambda: None,
    ) -> None:
        """Begins at the present end of the file; `pace` is called by the writing thread."""
        self._stage = stage
        self._filesystem = filesystem
        self._fd = fd
        self._pace = pace
        self._turn = 0
        self._filled_bytes = 0
        self._under_way: deque[Future[None]] = deque()

    def __enter__(self) -> StagedFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._submit()
                while self._under_way:
                    self._under_way.popleft().result()
        finally:
            # The buffers and the file are the caller's again: nothing may be under way.
            for future in self._under_way:
                future.cancel()
            wait(self._under_way)

    def room(self, most_bytes: int) -> memoryview:
        """Where the next bytes go: at least one, at most `most_bytes`; then call `filled`."""
        if self._filled_bytes == BUFFER_BYTES:
            self._submit()
        buffer = self._stage.buffers[self._turn]
        return buffer[self._filled_bytes : self._filled_bytes + most_bytes]

    def filled(self, size_bytes: int) -> None:
        """Queues this many bytes of the last buffer to be written."""
        self._filled_bytes += size_bytes

    def append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            room = self.room(len(view))
            room[:] = view[: len(room)]
            self.filled(len(room))
            view = view[len(room) :]

    def _submit(self) -> None:
        piece = self._stage.buffers[self._turn][: self._filled_bytes]
        self._under_way.append(self._stage.pool.submit(self._write, piece))
        self._turn = (self._turn + 1) % BUFFERS
        self._filled_bytes = 0
        if len(self._under_way) == BUFFERS:
            self._under_way.popleft().result()

    def _write(self, piece: memoryview) -> None:
        self._filesystem.write_past_cache(self._fd, piece)
        self._pace()
