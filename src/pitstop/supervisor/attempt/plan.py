"""One attempt at a run: what it is to do, and what it works with."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.engine.identity import Difference
from pitstop.errors import PitstopError
from pitstop.events import AttemptStarted, Event, JsonValue, TrainerConnected
from pitstop.link.beacon import Beacon, Phase
from pitstop.link.messages import Welcome
from pitstop.link.settings import ENV_STACKS
from pitstop.link.wire import PROTOCOL
from pitstop.observation.observer import Observer
from pitstop.record import record
from pitstop.store.catalog import Catalog
from pitstop.supervisor.helpers.persister_link import PersisterLink
from pitstop.supervisor.processes.adopted_process import AdoptedProcess, KernelProcess
from pitstop.supervisor.processes.trainer_process import TrainerProcess
from pitstop.supervisor.records.fingerprint import Threads, compare
from pitstop.supervisor.records.history import History, best_of
from pitstop.supervisor.runs.command_change import as_event
from pitstop.supervisor.runs.run_request import RunRequest
from pitstop.supervisor.status.status import Status, with_best
from pitstop.supervisor.stops.signals import SignalQueue
from pitstop.supervisor.stops.time_limit import TimeLimit
from pitstop.supervisor.terminal.output import Tee
from pitstop.supervisor.terminal.screen import Screen

if TYPE_CHECKING:
    from pitstop.supervisor.control.control_socket import ControlSocket
    from pitstop.supervisor.helpers.mirror_link import MirrorLink
    from pitstop.supervisor.lifecycle.event_loop import EventLoop
    from pitstop.supervisor.lifecycle.table import Lifecycle
    from pitstop.supervisor.membership.cluster_link import ClusterLink
    from pitstop.supervisor.preemption.watch import PreemptionWatch
    from pitstop.supervisor.records.attempt_state import AttemptState
    from pitstop.supervisor.records.event_log import EventLog


@record
class AttemptPlan:
    """What an attempt is to do.

    Attributes:
        program: the file that the command's first word names.
        resumes: there is a checkpoint to go on from.
        command_changes: in what the command differs from that of the last attempt.
    """

    request: RunRequest
    program: str
    environment: Mapping[str, str]
    attempt: int
    history: History
    resumes: bool
    fingerprint: Mapping[str, JsonValue]
    command_changes: tuple[Difference, ...]
    threads: Threads
    started_seconds: float
    time_limit: TimeLimit | None
    restarts_left: int = 0

    @property
    def stacks_file(self) -> Path:
        """Where the command's processes write what their threads do."""
        return Path(self.environment[ENV_STACKS])

    def is_idle(self, phase: Phase) -> bool:
        """Whether it is a notebook's kernel that waits for its user."""
        return self.request.kernel and phase is Phase.BETWEEN_FITS

    @property
    def goes_on(self) -> bool:
        """Whether the script is not ours to end once its training has stopped."""
        return bool(self.request.trainer_pid) and self.request.settings.stop_returns

    def welcome(self) -> Welcome:
        """What a process that trains is told, but for what it restores."""
        return Welcome(
            protocol=PROTOCOL,
            run_dir=str(self.request.run_dir.absolute()),
            attempt=self.attempt,
            settings=self.request.settings.to_json(),
            lost_from_step=self.history.reached_step,
            points=(),
        )

    def started(self, trainer_pid: int, cgroup: str) -> AttemptStarted:
        return AttemptStarted(
            attempt=self.attempt,
            command=list(self.request.command),
            supervisor_pid=os.getpid(),
            trainer_pid=trainer_pid,
            host=socket.gethostname(),
            environment=dict(self.fingerprint),
            cgroup=cgroup,
            start_from=self.request.settings.start_from,
            launched=not self.request.trainer_pid,
        )

    def status(self) -> Status:
        status = Status(
            state="",
            run_dir=str(self.request.run_dir),
            supervisor_pid=os.getpid(),
            attempt=self.attempt,
            losses=self.history.losses.count,
            snapshot_limit_bytes=self.request.settings.snapshot_memory_bytes or None,
            started_seconds=self.started_seconds,
            restarts=self.request.restarts.most,
            restarts_left=self.restarts_left,
            rollbacks=len(self.history.rollbacks),
        )
        return with_best(status, best_of(self.history.epochs))

    def environment_changes(self) -> tuple[Event, ...]:
        """What differs from the attempt that is resumed, as far as it is known from outside."""
        found = compare(self.history.environment, self.fingerprint)
        return self._of_resume(*as_event(self.command_changes), *found)

    def version_changes(self, trainer: TrainerConnected) -> tuple[Event, ...]:
        return self._of_resume(*self.history.version_changes(trainer))

    def _of_resume(self, *changes: Event) -> tuple[Event, ...]:
        if not self.resumes:
            return ()
        return (*changes, self.threads.notice) if self.threads.kept else changes


@record
class StartResources:
    """What the processes of an attempt are started with."""

    signals: SignalQueue
    beacon: Beacon
    screen: Screen
    tee: Tee
    persister: PersisterLink

    def resize(self) -> None:
        """Tells the script's terminal how large ours is."""
        self.screen.resize()
        self.tee.resize(self.screen.script_size())


@record
class AttemptResources(StartResources):
    """What an attempt works with, opened and closed by `supervise`."""

    event_loop: EventLoop
    lifecycle: Lifecycle
    control: ControlSocket
    event_log: EventLog
    preemption: PreemptionWatch
    catalog: Catalog
    mirror: MirrorLink | None
    cluster: ClusterLink

    @property
    def attempt_state(self) -> AttemptState:
        return self.event_log.attempt_state


@record
class RunningCommand:
    """The command's main process, and what is observed of it from its start on."""

    main: TrainerProcess | AdoptedProcess
    observer: Observer


def start(plan: AttemptPlan, resources: StartResources) -> RunningCommand:
    """Starts the persister, and the command, or watches the script that asked to be supervised.

    Raises `CommandNotExecutable`, and `EnvironmentFault` where the kernel refuses a process.
    """
    resources.resize()
    # It loads the newest checkpoint beside the script's imports.
    resources.persister.start()
    try:
        main = _main_process(plan, resources)
    except PitstopError:
        resources.persister.finish()
        raise
    # At once: what happens before it looks first is not seen.
    observer = Observer(main.pid)
    resources.tee.started()
    if not plan.request.kernel:
        resources.persister.set_trainer(main.pid)
    return RunningCommand(main, observer)


def _main_process(plan: AttemptPlan, resources: StartResources) -> TrainerProcess | AdoptedProcess:
    if plan.request.trainer_pid:
        kind = KernelProcess if plan.request.kernel else AdoptedProcess
        return kind(plan.request.trainer_pid)
    return TrainerProcess(
        plan.program,
        plan.request.command,
        plan.environment,
        resources.tee.streams,
        resources.signals.original_mask,
    )
