"""The supervisor's end of the persister: started, asked, and started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

from pitstop.link.messages import ArenaOffer, Finish, Keep, TrainerPid
from pitstop.link.wire import Connection
from pitstop.record import record
from pitstop.store.retention import RetentionPolicy
from pitstop.supervisor.helpers.helper_link import HelperLink, spawn_module

_MODULE = "pitstop.snapshot.persister"


@record
class PersisterPlan:
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
        ours = self._start(self._spawn)
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
        """Waits for one that was asked to finish; another one ends the run in our stead."""
        if self._finishing:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
        self.lost()
        if self.arena is not None:
            os.close(self._arena_fd)
            self.arena = None

    def _spawn(self, fd: int) -> int:
        plan = self._plan
        options: dict[str, object] = {
            "--fd": fd,
            "--beacon-fd": plan.beacon_fd,
            "--lock-fd": plan.lock_fd,
            "--run-dir": plan.run_dir,
            "--attempt": plan.attempt,
            "--retention": json.dumps(plan.retention.to_json()),
        }
        inherit = [fd, plan.beacon_fd, plan.lock_fd]
        with plan.log.open("ab") as log:
            mask = plan.signal_mask
            return spawn_module(_MODULE, options, log.fileno(), inherit, signal_mask=mask)
