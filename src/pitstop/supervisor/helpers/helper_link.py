"""The supervisor's end of a process that helps it, and is replaced when it dies."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from pitstop.link.messages import Finished, Message
from pitstop.link.settings import own_environment
from pitstop.link.wire import Connection, Received, pair
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.process import StandardStreams

_MOST_STARTS = 4
_LONG_LIFE_SECONDS = 600.0
"""A helper that has worked longer than this was not ended by its own start."""


class HelperLink:
    """One helper process at a time; `pid` is of the present or last one, 0 before there was one."""

    def __init__(self) -> None:
        self._starts = 0
        self._started_seconds = 0.0
        self.connection: Connection | None = None
        self.pid = 0
        self.finished = False

    @property
    def may_restart(self) -> bool:
        """Not after some deaths in a row."""
        return self._starts < _MOST_STARTS

    def receive(self) -> list[Received]:
        """What it said; `PeerClosed` when it has ended."""
        if self.connection is None:
            return []
        received = self.connection.receive_ready()
        self.finished |= any(isinstance(each.message, Finished) for each in received)
        return received

    def lost(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None
            if time.monotonic() - self._started_seconds >= _LONG_LIFE_SECONDS:
                self._starts = 0

    def _start(self, spawn: Callable[[int], int]) -> Connection:
        ours, theirs = pair()
        try:
            self.pid = spawn(theirs.fileno())
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._starts += 1
        self._started_seconds = time.monotonic()
        self.connection = ours
        return ours

    def send(self, message: Message, *fds: int) -> None:
        if self.connection is not None:
            self.connection.tell(message, fds)


def spawn_module(
    module: str,
    options: Mapping[str, object],
    log_fd: int,
    inherit: Sequence[int],
    flags: Sequence[str] = (),
    signal_mask: frozenset[signal.Signals] = frozenset(),
) -> int:
    """Starts a module of ours as a process, which logs to `log_fd`; its pid, or `OSError`.

    It gets the descriptors of `inherit` under the same numbers.
    """
    words = [str(word) for option in options.items() for word in option]
    return process.spawn(
        sys.executable,
        [sys.executable, "-P", "-m", module, *words, *flags],
        own_environment(os.environ),
        streams=StandardStreams(log_fd, log_fd),
        inherit=list(inherit),
        signal_mask=signal_mask,
    )
