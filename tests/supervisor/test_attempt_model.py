"""Random lives of an attempt: what decides is ours, trainer, persister and disk are a model.

Whatever happens in whatever order: the attempt has an end, no stop is lost, and no checkpoint is
reported that is not on the disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pitstop.events import CheckpointCommitted, CheckpointFailed, Event, StopRequested
from pitstop.link.beacon import Beacon
from pitstop.link.messages import SnapshotReport
from pitstop.supervisor.attempt.command import decide
from pitstop.supervisor.helpers.saving import Persisting
from pitstop.supervisor.lifecycle.table import FINAL, TABLE, Instruction, State, Trigger, advance
from pitstop.supervisor.records.attempt_state import AttemptState, tell
from pitstop.supervisor.records.notices import final_lines
from pitstop.supervisor.status import Status, live_status

_LIVE = (State.STARTING, State.RUNNING, State.STOPPING, State.ENDING)
_KILLED, _FAILED, _STOPPED = 9, 1 << 8, 75 << 8
_MOST_PERSISTERS = 4
_LONGEST_END = 100
_PROGRESS = Beacon.create().progress()


class Persister:
    """A process that takes requests in turn, writes to a disk, and may die at any time."""

    def __init__(self, disk: set[int]) -> None:
        self.disk = disk
        self.up = True
        self.saved_sequence = 0
        self.requests = deque[str]()
        self.says = deque[tuple[Event | None, int | None]]()
        """What it has said, and nobody has heard: an event, the snapshot that is saved."""

    def work(self, newest: SnapshotReport | None, *, writable: bool) -> bool:
        """Does what it was asked first; whether that was its last."""
        if self.requests.popleft() == "finish":
            self.up = False
            return True
        if newest is None or newest.sequence <= self.saved_sequence:
            self.says.append((None, 0))
        elif not writable:
            self.says.append((CheckpointFailed(newest.step, "full", ""), None))
        else:
            self.disk.add(newest.step)
            self.saved_sequence = newest.sequence
            event = CheckpointCommitted(newest.step, 0, f"{newest.step:08}", 1, 0.1, "cadence")
            self.says.append((event, newest.sequence))
        return False


class AttemptModel(RuleBasedStateMachine):
    """An attempt whose processes do what they like."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self.attempt_state, self.policy = (
            State.STARTING,
            AttemptState(),
            Persisting.start(0.0),
        )
        self.now_seconds = 0.0
        self.persister = Persister(set())
        self.lost_persisters = 0
        self.newest: SnapshotReport | None = None
        self.step = 0
        self.alive, self.word, self.stop_seen = True, False, False
        self.ending: tuple[AttemptState, int] | None = None
        self.given_up = self.disk_failed = False
        self.lives_for_steps = 0
        self.instructions: dict[Instruction, Callable[[], None]] = {
            Instruction.RAISE_GRACEFUL: self.raise_word,
            Instruction.RAISE_NOW: self.raise_word,
            Instruction.RESTART_PERSISTER: self.restart_persister,
            Instruction.PERSIST_NEWEST: lambda: self.persister.requests.append("persist"),
            Instruction.FINISH_PERSISTER: self.finish_persister,
            Instruction.CONCLUDE: self.conclude,
        }

    @initialize(steps=st.integers(0, 10))
    def script_is_of_some_length(self, steps: int) -> None:
        self.lives_for_steps = steps

    @property
    def may_end(self) -> bool:
        return self.alive and self.step >= self.lives_for_steps

    # -- the supervisor ----------------------------------------------------------

    def feed(self, signal: Trigger) -> None:
        step = advance(self.state, signal)
        self.state = step.state
        for instruction in step.instructions:
            self.instructions.get(instruction, lambda: None)()

    def raise_word(self) -> None:
        self.word = True

    def restart_persister(self) -> None:
        self.policy = self.policy.failed(self.now_seconds)
        self.persister = Persister(self.persister.disk)

    def finish_persister(self) -> None:
        if self.persister.up:
            self.persister.requests.append("finish")
        else:
            self.feed(Trigger.PERSISTER_GIVEN_UP)

    def conclude(self) -> None:
        assert self.ending is not None
        self.feed(decide(*self.ending).signal)

    @rule(seconds=st.floats(0, 60))
    def time_passes(self, seconds: float) -> None:
        self.now_seconds += seconds
        if self.state not in FINAL and self.policy.due(self.now_seconds) and self.persister.up:
            self.policy = self.policy.asked()
            self.persister.requests.append("persist")

    @precondition(lambda self: self.persister.says)
    @rule()
    def supervisor_hears(self) -> None:
        event, saved_sequence = self.persister.says.popleft()
        if event is not None:
            self.attempt_state = tell(self.attempt_state, event, self.now_seconds)
        if saved_sequence is None:
            self.policy = self.policy.failed(self.now_seconds)
        else:
            self.policy = self.policy.answered(saved_sequence, self.now_seconds, 0.1)

    @precondition(lambda self: self.state in (*_LIVE, State.SAVING))
    @rule(now=st.booleans())
    def somebody_asks_for_a_stop(self, now: bool) -> None:
        self.stop_seen |= self.alive
        self.attempt_state = tell(
            self.attempt_state, StopRequested("signal", "graceful"), self.now_seconds
        )
        self.feed(Trigger.STOP_NOW if now else Trigger.STOP_GRACEFUL)

    @rule(
        signal=st.sampled_from(
            [
                Trigger.TRAINER_CONNECTED,
                Trigger.NOBODY_CONNECTED,
                Trigger.DAEMONIZED,
                Trigger.LEFTOVERS,
                Trigger.DEADLINE_PASSED,
                Trigger.HUNG,
                Trigger.TERMINATE_GRACE_PASSED,
            ]
        )
    )
    def something_else_happens(self, signal: Trigger) -> None:
        if self.alive and (self.state, signal) in TABLE:
            self.feed(signal)

    # -- the trainer -------------------------------------------------------------

    @precondition(lambda self: self.alive)
    @rule(durable=st.booleans())
    def trainer_takes_a_snapshot(self, durable: bool) -> None:
        self.step += 1
        self.snapshot("milestone" if durable else "cadence", durable=durable)

    @precondition(lambda self: self.may_end and self.word)
    @rule(status=st.sampled_from([_STOPPED, 0]))
    def trainer_obeys(self, status: int) -> None:
        self.snapshot("stop", durable=True)
        self.ends(status, trainer_stopped=True)

    @precondition(lambda self: self.may_end)
    @rule(status=st.sampled_from([0, _FAILED]))
    def script_comes_to_its_end(self, status: int) -> None:
        self.ends(status, script_ended=True)

    @precondition(lambda self: self.may_end)
    @rule()
    def trainer_is_killed(self) -> None:
        self.ends(_KILLED)

    def snapshot(self, reason: str, *, durable: bool) -> None:
        sequence = self.newest.sequence + 1 if self.newest else 1
        self.newest = SnapshotReport(sequence, self.step, 0, reason, durable)
        self.policy = self.policy.taken(self.newest)

    def ends(
        self, status: int, *, script_ended: bool = False, trainer_stopped: bool = False
    ) -> None:
        self.alive = False
        found = AttemptState(
            stop_requested=self.attempt_state.stop_requested,
            script_ended=script_ended,
            trainer_stopped=trainer_stopped,
        )
        self.ending = found, status
        self.feed(Trigger.TRAINER_GONE)

    # -- the persister -----------------------------------------------------------

    @precondition(lambda self: self.persister.up and self.persister.requests)
    @rule(writable=st.booleans())
    def persister_works(self, writable: bool) -> None:
        self.disk_failed |= not writable
        if self.persister.work(self.newest, writable=writable):
            self.persister_is_gone(Trigger.PERSISTER_FINISHED)

    @precondition(lambda self: self.persister.up and self.persister.requests)
    @rule()
    def persister_dies_at_work(self) -> None:
        self.persister.up = False
        self.lost_persisters += 1
        lost = self.lost_persisters < _MOST_PERSISTERS
        self.given_up |= not lost
        self.persister_is_gone(Trigger.PERSISTER_LOST if lost else Trigger.PERSISTER_GIVEN_UP)

    def persister_is_gone(self, signal: Trigger) -> None:
        while self.persister.says:
            self.supervisor_hears()
        self.feed(signal)

    # -- what must hold ----------------------------------------------------------

    @invariant()
    def what_is_reported_is_on_the_disk(self) -> None:
        shown = live_status(Status(""), self.state, self.attempt_state, _PROGRESS, self.now_seconds)
        reported = {shown.checkpoint_step, self.attempt_state.checkpoint_step} - {None}
        assert reported <= self.persister.disk

    def teardown(self) -> None:
        """Nothing unexpected happens any more, and so it ends."""
        for _ in range(_LONGEST_END):
            if self.state in FINAL:
                break
            if self.alive:
                self.trainer_is_killed()
            elif self.persister.says:
                self.supervisor_hears()
            else:
                self.persister_works(writable=True)
        self.check_end()

    def check_end(self) -> None:
        assert self.state in FINAL
        assert self.ending is not None
        by_itself = self.ending[0].script_ended and self.ending[1] == 0
        assert (self.state is State.STOPPED) == (self.stop_seen and not by_itself)
        if self.newest is not None and not self.given_up and not self.disk_failed:
            assert self.attempt_state.checkpoint_step == self.newest.step
        if self.state is not State.COMPLETED:
            [first, *_] = final_lines(self.state, 1, self.attempt_state, Path("run"))
            step = self.attempt_state.checkpoint_step
            assert ("nothing was saved" if step is None else f"saved at step {step}") in first


AttemptModel.TestCase.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # on a machine that does other things
)
TestAttempt = AttemptModel.TestCase
