"""Looks at the trainer once a second, and finds out what it does when it stands still."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from pitstop.events import Event, TrainingStalled, TrainingWentOn, WorkerDied
from pitstop.link.beacon import Beacon, Progress
from pitstop.machine.own_process import is_suspended, killed_by
from pitstop.observation import thread_facts
from pitstop.record import Frozen
from pitstop.supervisor.hangs import watchdog
from pitstop.supervisor.hangs.stack_dump import StackAnswer, StackRequest
from pitstop.supervisor.hangs.standstill import HangEvidence, Standstill, judge
from pitstop.supervisor.hangs.watchdog import HangPolicy, IdleTime, Observation
from pitstop.supervisor.lifecycle.occurrences import Occurrence
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.processes import family

_MOST_THREADS = 12
_BUSY_SHARE = 0.2  # processor seconds per second of a trainer that computes
_BUSY_BYTES_PER_SECOND = 1e6
_STOPPED_SECONDS = 5.0  # A process that is suspended for longer is told of


class _Notified(Frozen):
    """A standstill that was told of: when (CLOCK_MONOTONIC), how long it was by then, and where."""

    at_seconds: float
    seconds: float
    place: str = ""

    def seconds_at(self, now_seconds: float) -> float:
        return self.seconds + now_seconds - self.at_seconds


class HangMonitor:
    """Asked in every turn of the loop; looks once a second."""

    def __init__(self, policy: HangPolicy, beacon: Beacon, stacks_file: Path) -> None:
        self._policy = policy
        self._beacon = beacon
        self._question = StackRequest(stacks_file, beacon.request_stacks)
        self._silence = IdleTime()
        self._look_at = 0.0
        self._stopped_since: float | None = None
        self._stopped_pid = 0
        self._told: _Notified | None = None
        self._work: tuple[float, float, int] | None = None
        self._dead: list[tuple[int, WorkerDied]] = []

    def recorded(self, event: Event) -> None:
        if isinstance(event, WorkerDied):
            progress = self._beacon.progress()
            self._dead.append((_epoch_of(progress), event))

    def look(self, now_seconds: float, pid: int) -> tuple[Occurrence, ...]:
        if not pid or not self._policy.after_seconds or now_seconds < self._look_at:
            return ()
        self._look_at = now_seconds + watchdog.LOOK_SECONDS
        progress, before = self._beacon.progress(), self._silence.last
        self._silence = watchdog.see(self._silence, self._look(now_seconds, pid, progress))
        went_on: tuple[Occurrence, ...] = ()
        if self._told and before and before.mark != _mark(progress):
            went_on = (TrainingWentOn(round(self._told.seconds_at(now_seconds), 1)),)
            self._told = None
        return went_on if self._told else (*went_on, *self._judge(now_seconds, pid, progress))

    def report(self, now_seconds: float, pid: int) -> dict[str, Any]:
        if not self._policy.after_seconds:
            return {}
        report: dict[str, Any] = {"on_hang": self._policy.action}
        if self._silence.last is None or not pid:
            return report
        patience = watchdog.patience_seconds(self._silence, self._policy.after_seconds)
        report |= {"patience_seconds": round(patience, 1)}
        if self._told is None:
            return report | {"silent_seconds": round(self._silence.seconds, 1)}
        silent = round(self._told.seconds_at(now_seconds), 1)
        return report | {"silent_seconds": silent, "standstill": self._told.place}

    def close(self) -> None:
        self._question.close()

    def _look(self, now_seconds: float, pid: int, progress: Progress) -> Observation:
        self._stopped_pid = pid if is_suspended(pid) else self._stopped_child(pid)
        stopped = bool(self._stopped_pid)
        if not stopped:
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = now_seconds
        return Observation(
            now_seconds=now_seconds,
            mark=_mark(progress),
            phase=progress.phase,
            step_seconds=progress.step_seconds,
            busy=self._is_busy(now_seconds, pid),
            stopped=stopped,
            worker_died=bool(self._dead_workers(progress)),
        )

    def _stopped_child(self, pid: int) -> int:
        """A process that it has started and may wait for, 0 for none."""
        if not watchdog.is_suspicious(self._silence, self._policy.after_seconds):
            return 0
        return next(filter(is_suspended, family.tree_of(pid)), 0)

    def _is_busy(self, now_seconds: float, pid: int) -> bool:
        """Whether its processes do anything; not asked while there is progress."""
        if not watchdog.is_suspicious(self._silence, self._policy.after_seconds):
            self._work = None
            return False
        before = self._work
        processor_seconds, moved_bytes = thread_facts.work_of(family.tree_of(pid))
        self._work = (now_seconds, processor_seconds, moved_bytes)
        if before is None:
            return False
        seconds = now_seconds - before[0]
        computed = processor_seconds - before[1] >= _BUSY_SHARE * seconds
        return computed or moved_bytes - before[2] >= _BUSY_BYTES_PER_SECOND * seconds

    def _dead_workers(self, progress: Progress) -> list[WorkerDied]:
        # Each epoch has its own pool: a worker that died in an earlier one delays nothing.
        return [event for epoch, event in self._dead if epoch == _epoch_of(progress)]

    # -- a standstill ------------------------------------------------------------

    def _judge(self, now_seconds: float, pid: int, progress: Progress) -> tuple[Occurrence, ...]:
        if self._stopped_since is not None:
            told = _Notified(now_seconds, now_seconds - self._stopped_since)
            if told.seconds >= _STOPPED_SECONDS:
                return self._tell(told, self._stopped_pid, progress, StackAnswer())
        elif not watchdog.is_overdue(self._silence, self._policy.after_seconds):
            self._question.withdraw()
        else:
            when, phase = time.strftime("%Y-%m-%d %H:%M:%S"), progress.phase.name.lower()
            silent = f"no progress for {self._silence.seconds:.0f} s at step {progress.step}"
            answer = self._question.ask(pid, family.tree_of(pid), f"{when}, {silent}, {phase}")
            if answer is not None:
                told = _Notified(now_seconds, self._silence.seconds)
                return self._tell(told, pid, progress, answer)
        return ()

    def _tell(
        self, told: _Notified, pid: int, progress: Progress, answer: StackAnswer
    ) -> tuple[Occurrence, ...]:
        dead = tuple(_describe(event) for event in self._dead_workers(progress))
        evidence = HangEvidence(progress.phase, answer.stacks, thread_facts.read(pid), dead)
        found = judge(evidence)
        if found.doing == "person" or self._too_early(found):
            self._silence = watchdog.begin_again(self._silence)
            return ()
        self._told = replace(told, place=found.place)
        may_end = watchdog.may_end(progress.phase, found.doing)
        action = self._policy.action_for(found.doing) if may_end else "warn"
        event = TrainingStalled(
            seconds=round(told.seconds, 1),
            phase=progress.phase.name.lower(),
            step=progress.step,
            doing=found.doing,
            place=found.place,
            action=action,
            stack=[str(frame) for frame in found.frames],
            threads=[str(fact) for fact in evidence.threads[:_MOST_THREADS]],
            workers=[*evidence.dead_workers, *_unnoticed(pid)],
            stacks_file=answer.file,
            missing=list(answer.missing),
        )
        return (event,) if action == "warn" else (event, Trigger.HUNG)

    def _too_early(self, found: Standstill) -> bool:
        """Whether the patience was short for a dead worker, and something else takes the time."""
        last = self._silence.last
        if last is None or not last.worker_died or found.doing in ("worker", "input", "step"):
            return False
        without = replace(self._silence, last=replace(last, worker_died=False))
        return not watchdog.is_overdue(without, self._policy.after_seconds)


def _epoch_of(progress: Progress) -> int:
    return progress.fit << 32 | progress.epoch


def _mark(progress: Progress) -> tuple[int, ...]:
    return (
        progress.fit,
        progress.epoch,
        progress.step,
        progress.phase,
        progress.replayed_batches,
        progress.pulses,
    )


def _unnoticed(pid: int) -> list[str]:
    """Processes that it has started, which were killed and which it has not collected."""
    killed = {child: killed_by(child) for child in family.tree_of(pid)[1:]}
    return [
        f"process {child}, ended by {name}; nobody waited for it"
        for child, name in killed.items()
        if name
    ]


def _describe(event: WorkerDied) -> str:
    how = f"ended by {event.signal}" if event.signal else f"exit code {event.exit_code}"
    return f"process {event.pid}, {how}"
