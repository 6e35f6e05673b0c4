"""The user's command: its processes, to the end of the last."""

import os
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pitstop.events import AttemptEnded, AttemptStarted, LevelKnown, TrainerExited
from pitstop.exit_codes import EXIT_REFUSED, EXIT_SIGNALLED, EXIT_STOPPED, EXIT_TERMINATED
from pitstop.link.beacon import Phase, Progress
from pitstop.machine.own_process import signal_name
from pitstop.record import Frozen
from pitstop.supervisor.attempt.plan import AttemptResources, RunningCommand
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.lifecycle.occurrences import Occurrence, TrainerCameIn, TrainerLeft
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.trainer_process import AdoptedProcess, KernelProcess, aftermath
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.notices import ABANDONED, NO_TRAINING

_UNKNOWN_FAILURE = 1 << 8


class EndVerdict(Frozen):
    """The final lifecycle event and the exit code of `pitstop run`."""

    signal: Trigger
    exit_code: int


def decide(found: AttemptState, wait_status: int | None, *, in_child: bool = False) -> EndVerdict:
    """The verdict on a trainer that is gone; `found`: what was known then.

    `wait_status`: of the main process, as `os.wait4` gives it; None if it is not known: then a
    normal exit of the interpreter counts.  If a stop was requested, the attempt was stopped, even
    if the script had to be killed, unless it reached its own end meanwhile.  A script that is not
    saved keeps its own exit code, since it cannot be resumed, and one whose resume was refused has
    failed: it would be refused again.  `in_child`: it trained in a process that the command had
    started, whose failure `python train.py | tee` hides.
    """
    if found.released is not None and found.ends_as_released:
        completed = found.released.outcome == "completed"
        trigger = Trigger.ENDED_COMPLETED if completed else Trigger.ENDED_STOPPED
        return EndVerdict(trigger, found.released.exit_code)
    if wait_status is None or found.cut_short:
        wait_status = 0 if found.script_ended else _UNKNOWN_FAILURE
    code = os.waitstatus_to_exitcode(wait_status)
    by_itself = code == 0 and found.script_ended and not found.trainer_stopped
    own = code if code >= 0 else EXIT_SIGNALLED - code
    if found.stop_requested and not by_itself:
        if found.resume_refused and not found.trainer_stopped:
            return EndVerdict(Trigger.ENDED_FAILED, EXIT_REFUSED)
        return EndVerdict(Trigger.ENDED_STOPPED, own if found.saves_nothing else EXIT_STOPPED)
    failed = code or (in_child and (found.raised or (found.trains and not found.script_ended)))
    return EndVerdict(Trigger.ENDED_FAILED if failed else Trigger.ENDED_COMPLETED, own)


def trainer_exited(
    wait_status: int | None,
    progress: Progress,
    machine: Mapping[str, Any],
    now_ns: int,
    role: str = "",
) -> TrainerExited:
    """The event of the trainer's end; `machine`: what was observed; `role`: in a cluster."""
    boundary_ns = progress.boundary_ns
    code = None if wait_status is None else os.waitstatus_to_exitcode(wait_status)
    killed = code is not None and code < 0
    return TrainerExited(
        exit_code=None if killed else code,
        signal=signal_name(-code) if code is not None and killed else "",
        step=progress.step,
        epoch=progress.epoch,
        step_in_epoch=progress.step_in_epoch,
        phase=role if role and progress.phase is Phase.STARTING else progress.phase.name.lower(),
        seconds_since_boundary=(now_ns - boundary_ns) / 1e9 if boundary_ns else None,
        **machine,
    )


class Command:
    """Observes the command of one attempt, and judges its end."""

    _found: AttemptState
    _wait_status: int | None

    def __init__(
        self, resources: AttemptResources, trainers: TrainerReception, running: RunningCommand
    ) -> None:
        self.main = main = running.main
        self.exit_code = 0
        self._plan = resources.plan
        self._resources = resources
        self._lifecycle = resources.lifecycle
        self._trainers = trainers
        self._observer = running.observer
        self._daemonized = False
        if isinstance(main, AdoptedProcess):
            resources.event_loop.watch(main, lambda: self._adopted_ended(main))

    def started(self) -> AttemptStarted:
        plan = self._plan
        return AttemptStarted(
            attempt=plan.attempt,
            command=list(plan.request.command),
            supervisor_pid=os.getpid(),
            trainer_pid=self.main.pid,
            host=socket.gethostname(),
            environment=dict(plan.fingerprint),
            cgroup=self._observer.cgroup,
            start_from=plan.request.settings.start_from,
            launched=not plan.request.trainer_pid,
            prepared=self.main.prepared,
            started_seconds=plan.started_seconds,
        )

    def came_in(self, came: TrainerCameIn) -> tuple[Trigger, ...]:
        self._observer.sample(came.pid)
        return (Trigger.TRAINER_CONNECTED,)

    def left(self, _: TrainerLeft) -> Iterator[Occurrence]:
        """A kernel that was asked to stop, or trains elsewhere, leaves its run, and lives on."""
        state = self._resources.attempt_state
        if isinstance(self.main, KernelProcess) and (state.stop_requested or state.script_ended):
            self.main.let_go()
            yield from self.collect()

    def collect(self) -> Iterator[Occurrence]:
        for ended in process.reap():
            self.main.collected(ended, self._trainers.slot.pid)
        if self.main.gone and self._lifecycle.is_live:
            survivors, state = self._descendants(), self._lifecycle.state
            pid = self._trainers.slot.pid
            happened = aftermath(self.main.wait_status, pid, survivors, state)
            if happened is Trigger.TRAINER_GONE:
                yield from self._gone()
            elif happened and not (happened is Trigger.DAEMONIZED and self._daemonized):
                self._daemonized |= happened is Trigger.DAEMONIZED
                yield happened

    def forward(self, signal_name: str) -> None:
        self.main.forward(signal_name, self._descendants())

    def terminate(self, grace_seconds: float) -> None:
        self.main.terminate(self._descendants(), grace_seconds)

    def kill(self) -> None:
        self.main.kill(self._descendants())

    def check_end(self) -> Iterator[Occurrence]:
        """Kills what does not end by itself while the attempt ends."""
        if self._lifecycle.state is not State.ENDING:
            return
        if self._plan.request.kernel:
            yield from self.collect()
        elif self.main.grace_passed:
            yield Trigger.TERMINATE_GRACE_PASSED
        elif self.main.killed:
            # Processes that were forked between the last look and the signal.
            self.kill()

    @property
    def last_save_reason(self) -> str:
        """The reason for saving the last snapshot, unless the snapshot has its own."""
        return "cadence" if self._wait_status == 0 else "trainer_lost"

    def conclude(self) -> tuple[Trigger, ...]:
        found, run = self._found, self._resources.run
        if self._resources.attempt_state.broken is not None:
            # It failed because another member was missing.
            found = replace(found, stop_requested=True)
        unsaved = found.role is None and not found.trainer_stopped
        outlived = unsaved and run.cluster.over_seconds >= 0
        if outlived:
            found = replace(found, stop_requested=found.stop_asked_here)
        is_over = found.released is not None and found.released.outcome == "completed"
        if unsaved and is_over and run.cluster.unreached_seconds:
            # It waited for the others of a training that had completed before it was started.
            self.exit_code = EXIT_REFUSED
            return (Trigger.ENDED_FAILED,)
        in_child = self._trainers.slot.pid not in (0, self.main.pid)
        verdict = decide(found, self._wait_status, in_child=in_child)
        self.exit_code = verdict.exit_code
        if outlived and self.exit_code == EXIT_STOPPED:
            # Nothing goes on when it is run again: its leader has completed.
            self.exit_code = EXIT_TERMINATED
        return (verdict.signal,)

    def finish(self) -> tuple[AttemptEnded, ...]:
        step = self._resources.beacon.progress().step
        saved = self._resources.attempt_state.checkpoint_step
        state = self._lifecycle.state.value
        return (AttemptEnded(self._plan.attempt, state, self.exit_code, step, saved),)

    def _gone(self) -> Iterator[Occurrence]:
        yield from self._trainers.slot.drain()
        self._found = found = self._resources.attempt_state
        self._wait_status = self.main.wait_status
        usage = self.main.exit.usage if self.main.exit else None
        machine = self._observer.end(usage, found.dead_workers)
        progress = self._resources.beacon.progress()
        role = found.role.role if found.role else ""
        yield trainer_exited(self._wait_status, progress, machine, time.monotonic_ns(), role)
        is_over = self._plan.request.kernel and not (found.trains or found.stop_requested)
        unexplained = self._wait_status in (None, _UNKNOWN_FAILURE)
        if is_over or (self._plan.is_served(found) and unexplained):
            self._found, self._wait_status = replace(found, script_ended=True), 0
        if decide(self._found, self._wait_status).signal is Trigger.ENDED_COMPLETED:
            self._resources.tee.drain()
            waits_at_step = found.waits_at_step
            if waits_at_step is not None and not self._plan.request.kernel:
                reason = ABANDONED.format(waits_at_step)
                yield LevelKnown("not_exact", reason, has_deviated=True)
            else:
                yield from self._trainers.if_unreported(NO_TRAINING)
        yield Trigger.TRAINER_GONE

    def _descendants(self) -> list[int]:
        run, persister = self._resources.run, self._resources.persister
        ours = {persister.pid, run.mirror.pid if run.mirror else 0, run.spare.pid}
        return family.living_descendants(ours)

    def _adopted_ended(self, main: AdoptedProcess) -> Iterator[Occurrence]:
        self._resources.event_loop.forget(main)
        main.collect()
        main.close()
        return self.collect()
