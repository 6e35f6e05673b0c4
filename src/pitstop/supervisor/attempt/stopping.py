"""A stop of an attempt: who asks for it, and how long it may take."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from pitstop.machine.memory import sample
from pitstop.machine.own_process import is_suspended
from pitstop.store.run_folder import STOP_FILE
from pitstop.supervisor.attempt.command import Command
from pitstop.supervisor.attempt.gang import GangPart
from pitstop.supervisor.attempt.membership import Membership
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.helpers import mirroring
from pitstop.supervisor.helpers.saving import Saving
from pitstop.supervisor.lifecycle import deadline
from pitstop.supervisor.lifecycle.occurrences import Occurrence, StopAsked
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import family
from pitstop.supervisor.stops import pressure
from pitstop.supervisor.stops.pressure import PressureWatch
from pitstop.supervisor.stops.stop_sources import MARGIN_SECONDS, StopSources

_NEVER = float("inf")
_ASSEMBLING_SECONDS = 1.0


@dataclass(eq=False)
class Stopping:
    """Looks for reasons to stop, takes requests from others, and keeps the deadline."""

    _resources: AttemptResources
    _command: Command
    _trainers: TrainerReception
    _saving: Saving
    _membership: Membership
    _gang: GangPart

    def __post_init__(self) -> None:
        self._plan, run = self._resources.plan, self._resources.run
        self._lifecycle = self._resources.lifecycle
        run_dir = self._plan.request.run_dir
        self._sources = StopSources(run_dir / STOP_FILE, run.limit, run.preemption.request)
        self._pressure = PressureWatch(lambda: sample(run_dir))
        self._stop_at = _NEVER

    def asked(self, asked: StopAsked) -> Iterator[Occurrence]:
        event, is_saving = asked.event, self._lifecycle.state is State.SAVING
        if not (self._lifecycle.is_live or is_saving):
            return
        self._sources.heard(event, time.monotonic())
        yield event
        if event.urgency != "now":
            # A member has asked its leader before, and hears of the stop from there.
            is_new = self._lifecycle.is_calm or event.source == "cluster"
            unseen = not self._trainers.watches
            if is_new and (unseen or self._resources.attempt_state.saves_itself):
                told = self._membership.hands_on(event)
                if unseen and not told:
                    self._command.forward(event.signal)
            yield Trigger.STOP_GRACEFUL
        else:
            left = is_saving and self._saving.is_overdue
            yield Trigger.SAVING_LEFT if left else Trigger.STOP_NOW

    def arm_deadline(self) -> None:
        self._stop_at = time.monotonic()

    def terminate(self) -> None:
        seconds = self._sources.terminate_seconds(self._save_seconds)
        # A process that TensorFlow makes wait for others does not end by SIGTERM.
        most = _ASSEMBLING_SECONDS if self._gang.assembles else seconds
        self._command.terminate(min(seconds, most))

    def look(self, now_seconds: float) -> Iterator[Occurrence]:
        step_seconds = self._resources.beacon.progress().step_seconds
        request = self._sources.request(now_seconds, step_seconds, self._save_seconds)
        if request is not None:
            yield StopAsked(request)
        if problem := self._resources.run.preemption.take_problem():
            yield problem
        if warning := self._resources.run.preemption.take_warning():
            yield warning
            self._saving.persist_soon("preemption")
        shortage = self._pressure.rises(
            now_seconds,
            lambda: family.resident_bytes(self._trainers.slot.present_pid),
            self._resources.attempt_state.checkpoint_bytes,
        )
        if shortage:
            self._saving.persist_soon("pressure")
            stops = self._plan.request.stops.stops_under_pressure
            yield StopAsked(pressure.request(shortage)) if stops else pressure.notice(shortage)

    def check_deadline(self, now_seconds: float) -> Iterator[Occurrence]:
        if self._lifecycle.state is not State.STOPPING:
            return
        progress, left_at = self._resources.beacon.progress(), self._trainers.slot.left_at
        attempt_state = self._resources.attempt_state
        left_seconds = left_at - self._stop_at if left_at is not None else None
        wait = deadline.patience(
            progress,
            connected=self._trainers.watches or self._gang.assembles,
            stopped=attempt_state.trainer_stopped,
            grace_seconds=self._plan.request.grace_seconds,
            goes_on=self._plan.goes_on,
            idle=self._plan.is_idle(progress.phase),
            released=attempt_state.serves and attempt_state.released is not None,
            left_seconds=left_seconds,
        )
        if self._gang.is_split:
            grace_seconds = self._plan.request.grace_seconds
            wait = deadline.patience_with_one_of_several(grace_seconds, left_seconds)
        if self._gang.is_agreeing:
            reason = "the members that train together did not agree on a step"
            wait = deadline.Patience(self._plan.request.grace_seconds, reason)
        pid = self._trainers.watched_pid
        if pid and is_suspended(pid):
            lease_seconds = self._resources.run.cluster.lease_seconds
            wait = deadline.patience_with_suspended(wait, lease_seconds)
        wait = self._sources.bound(wait, self._stop_at, self._save_seconds)
        event = deadline.overdue(wait, now_seconds - self._stop_at, progress)
        if event is not None:
            yield event
            yield Trigger.DEADLINE_PASSED

    def mirror_patience_seconds(self) -> float:
        now, limit = time.monotonic(), self._sources.limit
        waited = None if self._stop_at == _NEVER else now - self._stop_at
        left = None if limit is None else limit.ends_at_seconds - now - MARGIN_SECONDS
        return mirroring.patience_seconds(waited, self._plan.request.grace_seconds, left)

    def resumed(self, away_seconds: float) -> None:
        """The attempt was suspended; this time does not count."""
        self._stop_at += away_seconds

    @property
    def _save_seconds(self) -> float:
        saved = self._resources.attempt_state.save_seconds
        return saved or self._plan.history.save_seconds
