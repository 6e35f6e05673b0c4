"""The supervisor's end of a process that helps it, such as the persister, replaced when it dies."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.link.messages import ArenaOffer, Finish, Finished, Message
from pitstop.link.settings import own_environment
from pitstop.link.wire import Connection, Received, close_all, pair
from pitstop.record import Frozen
from pitstop.store.retention import RetentionPolicy
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
        return self._starts < _MOST_STARTS

    def receive(self) -> list[Received]:
        """The messages of the helper; `PeerClosed` when it has ended."""
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

    def _start(
        self,
        module: str,
        told: Mapping[str, object],
        log_fd: int,
        inherit: Sequence[int] = (),
        signal_mask: frozenset[signal.Signals] = frozenset(),
    ) -> Connection:
        """Starts a module of ours as a process, which logs to `log_fd`; or `OSError`.

        It gets the descriptors of `inherit` under the same numbers; `told`: see `link.helper`.
        """
        ours, theirs = pair()
        words = {"fd": theirs.fileno(), **told}
        try:
            self.pid = process.spawn(
                sys.executable,
                [sys.executable, "-P", "-m", module, json.dumps(words)],
                own_environment(os.environ),
                streams=StandardStreams(log_fd, log_fd),
                inherit=[theirs.fileno(), *inherit],
                signal_mask=signal_mask,
            )
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


_MODULE = "pitstop.snapshot.persister"


class PersisterPlan(Frozen):
    """What a persister is started with; it keeps the lock, too, and heeds no signals."""

    run_dir: Path
    attempt: int
    lock_fd: int
    beacon_fd: int
    retention: RetentionPolicy
    log: Path
    signal_mask: frozenset[signal.Signals]


class PersisterLink(HelperLink):
    """One persister at a time; each knows what the one before was told."""

    def __init__(self, plan: PersisterPlan) -> None:
        super().__init__()
        self._plan = plan
        self._finishing = False
        self._told: dict[str, tuple[Message, tuple[int, ...]]] = {}

    @property
    def arena(self) -> ArenaOffer | None:
        """The memory for snapshots; None before there is any."""
        offer, _ = self._told.get(ArenaOffer.type, (None, ()))
        return offer if isinstance(offer, ArenaOffer) else None

    def start(self) -> Connection:
        """Starts a persister and tells it what the one before knew; `OSError` where that fails."""
        plan = self._plan
        told = {
            "beacon_fd": plan.beacon_fd,
            "run_dir": str(plan.run_dir),
            "attempt": plan.attempt,
            "retention": plan.retention.to_json(),
        }
        inherit = (plan.beacon_fd, plan.lock_fd)
        with plan.log.open("ab") as log:
            ours = self._start(_MODULE, told, log.fileno(), inherit, plan.signal_mask)
        for message, fds in self._told.values():
            self.send(message, *fds)
        return ours

    def tell(self, message: Message, *fds: int) -> None:
        """Sends what holds until another message of this type; it takes over the descriptors."""
        _, before = self._told.get(message.type, (message, ()))
        close_all(before)
        self._told[message.type] = message, fds
        self.send(message, *fds)

    def finish(self) -> None:
        self._finishing = True
        self.send(Finish())

    def leave(self) -> None:
        """Stops waiting for the helper: it ends by itself when it has done all, or never."""
        self._finishing = False

    def close(self) -> None:
        """Waits for one that was asked to finish; any other one ends the run by itself."""
        if self._finishing:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        self.lost()
        for _, fds in self._told.values():
            close_all(fds)
        self._told.clear()
