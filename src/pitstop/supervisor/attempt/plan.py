"""One attempt at a run: what it is to do, and what it works with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.engine.library_imports import IMPORTS_FILE
from pitstop.engine.trainings.identity import Difference
from pitstop.errors import PitstopError
from pitstop.events import EnvironmentChanged, Event, JsonValue, TrainerConnected
from pitstop.link.beacon import Beacon, Phase
from pitstop.link.messages import TrainerPid, Welcome
from pitstop.link.settings import ENV_STACKS
from pitstop.link.wire import PROTOCOL
from pitstop.observation.observer import Observer
from pitstop.record import Frozen
from pitstop.store.catalog import Catalog
from pitstop.store.lock import RunLock
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.attempt.spare import Spare, SparePlan
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.helpers.helper_link import PersisterLink
from pitstop.supervisor.lifecycle.occurrences import EventLoop
from pitstop.supervisor.lifecycle.table import Lifecycle
from pitstop.supervisor.processes import trainer_process
from pitstop.supervisor.processes.trainer_process import (
    AdoptedProcess,
    KernelProcess,
    TrainerProcess,
)
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.event_log import EventLog
from pitstop.supervisor.records.fingerprint import Threads, compare
from pitstop.supervisor.records.history import History
from pitstop.supervisor.runs.admission import as_event
from pitstop.supervisor.runs.run_request import RunRequest
from pitstop.supervisor.stops.signals import SignalQueue
from pitstop.supervisor.stops.stop_sources import TimeLimit
from pitstop.supervisor.terminal.output import Tee
from pitstop.supervisor.terminal.screen import Screen

if TYPE_CHECKING:
    from pitstop.cluster.cluster_link import ClusterLink
    from pitstop.supervisor.helpers.mirroring import MirrorLink
    from pitstop.supervisor.stops.cloud import PreemptionWatch


class AttemptPlan(Frozen):
    """What an attempt is to do; `resumes`: there is a checkpoint to go on from."""

    request: RunRequest
    environment: Mapping[str, str]
    attempt: int
    history: History
    resumes: bool
    fingerprint: Mapping[str, JsonValue]
    command_changes: tuple[Difference, ...]
    edited_files: tuple[EnvironmentChanged, ...]
    threads: Threads
    started_seconds: float
    restarts_left: int = 0

    @property
    def folder(self) -> Path:
        return self.stacks_file.parent

    @cached_property
    def spare(self) -> SparePlan | None:
        if not self.request.settings.spare or not self.restarts_left:
            return None
        stacks_file = self.folder.with_name(str(self.attempt + 1)) / self.stacks_file.name
        return SparePlan(
            self.request.command,
            self.folder / IMPORTS_FILE,
            {**self.environment, ENV_STACKS: str(stacks_file)},
            self.fingerprint,
            eager=self.request.restarts.spare is True,
        )

    @property
    def stacks_file(self) -> Path:
        return Path(self.environment[ENV_STACKS])

    def is_idle(self, phase: Phase) -> bool:
        """Whether it is a notebook's kernel that waits for its user."""
        return self.request.kernel and phase is Phase.BETWEEN_FITS

    def is_served(self, found: AttemptState) -> bool:
        """Whether a process that hosts trainings has ended them.

        However it goes from then on, it is no failure: a kernel is killed, Ray's workers return 1.
        """
        return bool(self.request.trainer_pid) and found.over

    @property
    def goes_on(self) -> bool:
        """Whether the script is not ours to end once its training has stopped."""
        return bool(self.request.trainer_pid) and self.request.settings.stop_returns

    def welcome(self) -> Welcome:
        return Welcome(
            protocol=PROTOCOL,
            run_dir=str(self.request.run_dir.absolute()),
            attempt=self.attempt,
            settings=self.request.settings,
            lost_from_step=self.history.reached_step,
            points=(),
        )

    def environment_changes(self) -> tuple[Event, ...]:
        found = compare(self.history.environment, self.fingerprint)
        return self._of_resume(*as_event(self.command_changes), *self.edited_files, *found)

    def version_changes(self, trainer: TrainerConnected) -> tuple[Event, ...]:
        return self._of_resume(*self.history.version_changes(trainer))

    def _of_resume(self, *changes: Event) -> tuple[Event, ...]:
        if not self.resumes:
            return ()
        return (*changes, self.threads.notice) if self.threads.kept else changes


class RunContext(Frozen):
    """What all attempts of one call share; `program`: the file that the first word names."""

    stack: ExitStack
    request: RunRequest
    program: str
    limit: TimeLimit | None
    control: ControlSocket
    mirror: MirrorLink | None
    folder: RunFolder
    lock: RunLock
    signals: SignalQueue
    spare: Spare
    started_seconds: float

    # What is not needed before the script starts is loaded after its start.

    @cached_property
    def preemption(self) -> PreemptionWatch:
        """The watch for preemption notices, which lasts over all attempts."""
        from pitstop.supervisor.stops.cloud import PreemptionWatch

        watch = PreemptionWatch.choose(self.request.stops.preemption, os.environ)
        return self.stack.enter_context(closing(watch))

    @cached_property
    def cluster(self) -> ClusterLink:
        from pitstop.cluster.cluster_link import ClusterLink

        return self.stack.enter_context(closing(ClusterLink(os.environ)))


class AttemptResources(Frozen):
    """What an attempt works with, opened and closed by `supervise`."""

    plan: AttemptPlan
    run: RunContext
    event_loop: EventLoop
    lifecycle: Lifecycle
    catalog: Catalog
    beacon: Beacon
    screen: Screen
    event_log: EventLog
    tee: Tee
    persister: PersisterLink

    @property
    def attempt_state(self) -> AttemptState:
        return self.event_log.attempt_state

    def resize(self) -> None:
        self.screen.resize()
        self.tee.resize(self.screen.script_size())


class RunningCommand(Frozen):
    """The command's main process, and what is observed of it from its start on."""

    main: TrainerProcess | AdoptedProcess
    observer: Observer


def start(resources: AttemptResources) -> RunningCommand:
    """Starts persister and command; raises `CommandNotExecutable` or `EnvironmentFault`."""
    plan = resources.plan
    resources.resize()
    # It loads the newest checkpoint beside the script's imports.
    resources.persister.start()
    main: TrainerProcess | AdoptedProcess
    try:
        if plan.request.trainer_pid:
            kind = KernelProcess if plan.request.kernel else AdoptedProcess
            main = kind(plan.request.trainer_pid)
        elif pid := resources.run.spare.release():
            main = TrainerProcess(pid, prepared=True)
        else:
            main = trainer_process.start(
                resources.run.program,
                plan.request.command,
                plan.environment,
                resources.tee.streams,
                resources.run.signals.original_mask,
            )
    except PitstopError:
        resources.persister.finish()
        raise
    # At once: it does not see what happens before its first look.
    observer = Observer(main.pid)
    resources.tee.started()
    if not plan.request.kernel:
        resources.persister.tell(TrainerPid(main.pid))
    return RunningCommand(main, observer)
