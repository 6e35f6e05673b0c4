"""The supervisor's end of a process that helps it, such as the persister, replaced when it dies."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.link.messages import ArenaOffer, Finish, Finished, Keep, Message, TrainerPid
from pitstop.link.settings import own_environment
from pitstop.link.wire import Connection, Received, pair
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
    """One persister at a time; `arena`: the memory for snapshots, None before there is any."""

    def __init__(self, plan: PersisterPlan) -> None:
        super().__init__()
        self._plan = plan
        self._finishing = False
        self._trainer_pid = 0
        self.arena: ArenaOffer | None = None
        self._arena_fd = -1
        self._kept = ""

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
        if self._trainer_pid:
            self.set_trainer(self._trainer_pid)
        if self.arena is not None:
            self.send(self.arena, self._arena_fd)
        if self._kept:
            self.send(Keep(self._kept))
        return ours

    def set_trainer(self, pid: int) -> None:
        self._trainer_pid = pid
        self.send(TrainerPid(pid))

    def set_arena(self, offer: ArenaOffer, fd: int) -> None:
        if self.arena is not None:
            os.close(self._arena_fd)
        self.arena, self._arena_fd = offer, fd
        self.send(offer, fd)

    def keep(self, checkpoint: str) -> None:
        if checkpoint:
            self._kept = checkpoint
            self.send(Keep(checkpoint))

    def finish(self) -> None:
        self._finishing = True
        self.send(Finish())

    def leave(self) -> None:
        """Does not wait for it any more; it ends by itself when all is done, or never."""
        self._finishing = False

    def close(self) -> None:
        """Waits for one that was asked to finish; any other one ends the run by itself."""
        if self._finishing:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        self.lost()
        if self.arena is not None:
            os.close(self._arena_fd)
            self.arena = None
