"""Which process may train in an attempt, one at a time, and what it is given."""

import os
import time
from collections.abc import Iterator

from pitstop.cluster.spec import ASSEMBLING, REPLICA, ClusterSpec
from pitstop.events import Notice
from pitstop.link.beacon import Phase
from pitstop.machine.own_process import is_there
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.lifecycle import occurrences
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import family
from pitstop.supervisor.processes.invocation import is_python
from pitstop.supervisor.processes.trainer_slot import TrainerSlot, refuse
from pitstop.supervisor.records.notices import NO_TRAINING_YET, TRAINS_BESIDE

_NOBODY_SECONDS = 60.0
_HANDOVER_SECONDS = 3.0
"""How long a process that wants to train waits for the end of the one before it."""


class TrainerReception:
    """Lets one process train, lets the next one wait for a moment, and refuses the others."""

    def __init__(self, resources: AttemptResources) -> None:
        self._plan = plan = resources.plan
        self.slot = TrainerSlot(resources.event_loop, plan.welcome(), resources.beacon.fd)
        self._resources = resources
        self._lifecycle = resources.lifecycle
        # Those that want to train while another one is still there, and until when.
        self._pending: list[tuple[occurrences.TrainingAsked, float]] = []
        self._closed_to_others = False
        self.tasks: dict[int, str] = {}  # by process id, of a cluster that this run started
        self._followers: set[int] = set()  # of them, those that do not lead
        self._nobody_at = time.monotonic() + _NOBODY_SECONDS

    @property
    def watches(self) -> bool:
        """Whether a process is there that tells of its steps, and obeys the stop word."""
        if not self.slot.connected:
            return False
        attempt_state = self._resources.attempt_state
        starting = self._resources.beacon.phase() is Phase.STARTING
        return not (starting and (attempt_state.role or attempt_state.uninstrumented))

    @property
    def watched_pid(self) -> int:
        return self.slot.pid if self.watches else 0

    def training_asked(self, asked: occurrences.TrainingAsked) -> Iterator[occurrences.Occurrence]:
        connection, hello = asked.connection, asked.hello
        closed, new = self._closed_to_others, hello.pid != self.slot.pid
        if not self._lifecycle.is_live:
            # Also the one that trained: it may have reported again just before its end.
            refuse(connection, "the run is ending")
        elif self._leaves_to_leader(hello.pid):
            refuse(connection, "the leader of its cluster trains in this run")
        elif self.slot.connected and not self._makes_way(hello.pid):
            refuse(connection, f"process {self.slot.pid} already trains in this run")
        elif self.slot.connected and new and not closed:
            self._pending.append((asked, time.monotonic() + _HANDOVER_SECONDS))
        else:
            yield from self.slot.offer(connection, hello, closed=closed)

    def left(self, _: occurrences.TrainerLeft) -> tuple[occurrences.Occurrence, ...]:
        return (self._pending.pop(0)[0],) if self._pending else ()

    def role_asked(self, asked: occurrences.RoleAsked) -> tuple[occurrences.Occurrence, ...]:
        pid, task = asked.event.pid, asked.event.task
        self.tasks[pid] = task or self.tasks.get(pid, "")
        if task and (leader := ClusterSpec.from_json(asked.cluster).leader) is not None:
            (self._followers.discard if task == str(leader) else self._followers.add)(pid)
        if asked.event.role in (ASSEMBLING, REPLICA):
            return ()
        return (asked.event, Trigger.TRAINER_CONNECTED) if self._lifecycle.is_live else ()

    @property
    def step_to_save(self) -> int | None:
        """The step of a checkpoint that is asked for now; None if no process trains."""
        progress = self._resources.beacon.progress()
        saves_itself = self._resources.attempt_state.saves_itself
        if not self.slot.connected or progress.phase is Phase.STARTING or saves_itself:
            return None
        return progress.step

    def tick(self, *, split: bool) -> Iterator[occurrences.Occurrence]:
        """`split`: the run sees one of several workers, and has said so."""
        while self._pending and time.monotonic() >= self._pending[0][1]:
            asked, _ = self._pending.pop(0)
            # It is not certain which of them would report first the next time: from now on only
            # the present one is saved.
            if not self._closed_to_others:
                self._closed_to_others = True
                yield from () if split else (TRAINS_BESIDE,)
            refuse(asked.connection, f"process {self.slot.pid} already trains in this run")

    def check_arrival(self, now_seconds: float) -> Iterator[occurrences.Occurrence]:
        if self._lifecycle.state is State.STARTING and now_seconds >= self._nobody_at:
            yield from self.if_unreported(NO_TRAINING_YET)
            yield Trigger.NOBODY_CONNECTED

    def if_unreported(self, notice: Notice) -> tuple[Notice, ...]:
        silent = not (self.slot.pid or self._resources.attempt_state.role)
        return (notice,) if silent and is_python(self._plan.request.command) else ()

    def resumed(self, away_seconds: float) -> None:
        self._nobody_at += away_seconds

    def close(self) -> None:
        for asked, _ in self._pending:
            asked.connection.close()

    def _leaves_to_leader(self, pid: int) -> bool:
        """Whether a process is one of several tasks of this run, which its leader saves."""
        led_elsewhere = self._resources.run.cluster.follows is not None
        others = any(map(is_there, self.tasks.keys() - {pid}))
        return pid in self._followers and others and not led_elsewhere

    def _makes_way(self, pid: int) -> bool:
        """Whether a process may wait for the present one; if that is not ours, it is dropped."""
        ours = (os.getpid(), self._plan.request.trainer_pid or os.getpid())
        if not family.belongs_to(pid, ours):
            return False
        if not family.belongs_to(self.slot.pid, ours):
            self.slot.clear()
        return True
