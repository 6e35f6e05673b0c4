"""How an attempt ended: what is told of it, and the exit code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict

from pitstop.events import AttemptEnded, AttemptStarted
from pitstop.observation.observer import Observer
from pitstop.supervisor.attempt.command import Command
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.lifecycle.ending import AttemptEnding, decide, trainer_exited
from pitstop.supervisor.lifecycle.occurrences import CommandEnded, Occurrence, TrainerCameIn
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.records import notices


class Conclusion:
    """Observes the command from its start, and judges its end.

    Attributes:
        exit_code: of `pitstop run`, once the attempt has ended.
    """

    def __init__(
        self,
        plan: AttemptPlan,
        resources: AttemptResources,
        command: Command,
        trainers: TrainerReception,
    ) -> None:
        self.exit_code = 0
        self._plan = plan
        self._resources = resources
        self._lifecycle = resources.lifecycle
        self._command = command
        self._trainers = trainers
        self._observer: Observer
        self._ending: AttemptEnding

    def begin(self) -> AttemptStarted:
        """The command has started."""
        self._observer = Observer.begin(self._command.main.pid)
        return self._plan.started(self._command.main.pid, self._observer.cgroup)

    def came_in(self, came: TrainerCameIn) -> None:
        """A process of it trains."""
        self._observer.sample(came.pid)

    def command_ended(self, _: CommandEnded) -> Iterator[Occurrence]:
        """The last process of it is gone."""
        yield from self._trainers.slot.drain()
        attempt_state = self._resources.attempt_state
        self._ending = AttemptEnding(
            wait_status=self._command.main.wait_status,
            stop_requested=attempt_state.stop_requested,
            script_ended=attempt_state.script_ended,
            trainer_stopped=attempt_state.trainer_stopped,
            saves_nothing=attempt_state.saves_nothing,
        )
        usage = self._command.main.exit.usage if self._command.main.exit else None
        machine = asdict(self._observer.end(usage, attempt_state.dead_workers))
        progress = self._resources.beacon.progress()
        role = attempt_state.role.role if attempt_state.role else ""
        yield trainer_exited(self._ending, progress, machine, time.monotonic_ns(), role)
        if decide(self._ending).signal is Trigger.ENDED_COMPLETED:
            self._resources.tee.drain()
            yield from self._trainers.if_unreported(notices.NO_TRAINING)
        yield Trigger.TRAINER_GONE

    @property
    def last_save_reason(self) -> str:
        """Why the last snapshot is saved, unless it has a reason of its own."""
        return "cadence" if self._ending.exit_code == 0 else "trainer_lost"

    def decide(self) -> tuple[Trigger, ...]:
        """The last checkpoint is saved: how it all ended."""
        verdict = decide(self._ending)
        self.exit_code = verdict.exit_code
        return (verdict.signal,)

    def finish(self) -> tuple[AttemptEnded, ...]:
        """The last event of the attempt."""
        step = self._resources.beacon.progress().step
        saved = self._resources.attempt_state.checkpoint_step
        state = self._lifecycle.state.value
        return (AttemptEnded(self._plan.attempt, state, self.exit_code, step, saved),)

    def last_words(self) -> tuple[str, ...]:
        """What to tell the user at the end."""
        attempt_state = self._resources.attempt_state
        seconds = max(0.0, time.time() - self._plan.started_seconds)
        run_dir = self._plan.request.run_dir
        return notices.final_lines(
            self._lifecycle.state, self.exit_code, attempt_state, run_dir, seconds
        )
