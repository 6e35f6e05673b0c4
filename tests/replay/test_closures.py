"""Steps that a coordinator sends to workers: what is recorded of them, and what is answered."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from pitstop.engine.leaving import Refused, TrainingStopped
from pitstop.events import LevelKnown, Notice, Restored, TrainerStopped
from pitstop.link.beacon import Phase, Stop
from pitstop.replay.calls import Call
from pitstop.replay.closures import ClosureCall, Closures
from pitstop.tensorflow.schedule import ASYNCHRONOUS, Schedule
from tests.replay.attempt import Attempt
from tests.replay.conftest import MakeAttempt
from tests.replay.test_recorder import only


class Remote(tf.distribute.coordinator.RemoteValue):
    """The result of a closure that waits until somebody joins."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run
        self.done = False

    def work(self) -> None:
        if not self.done:
            self.done, self._value = True, self._run()

    def get(self) -> Any:
        self.work()
        return self._value

    def fetch(self) -> Any:
        return {name: float(value) for name, value in self.get().items()}


class Coordinator:
    """Runs what was scheduled when it is joined; threads would do so earlier."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.waiting: list[Remote] = []
        # Its class is wrapped when the first of it is scheduled.
        self.kind = type("Remote", (Remote,), {})
        self.own = Schedule()
        self.own.watch(Coordinator._join, attempt.recorder.fetched)
        self.closures = Closures(self.own)
        attempt.recorder.coordinates(self.closures)
        self.own.add(self)

    def schedule(self, x: float) -> Any:
        def run() -> Any:
            remote = self.kind(lambda: self.attempt.train_step(tf.constant(x)))
            self.attempt.train_step.get_concrete_function(tf.constant(x))
            self.waiting.append(remote)
            return remote

        send = functools.partial(self.own.send, run, lambda: True)
        call = ClosureCall(
            self.attempt.train_step, send, (tf.constant(x),), {}, closures=self.closures
        )
        return self.attempt.recorder.call(call)

    def join(self) -> None:
        ask = functools.partial(self.own.ask, self._join)
        self.attempt.recorder.call(Call(self, ask, (), {}, "join"))

    def _join(self) -> None:
        waiting, self.waiting = self.waiting, []
        for remote in waiting:
            remote.work()


def test_what_was_scheduled_ends_before_a_cut_and_is_not_computed_again(make: MakeAttempt) -> None:
    first = make()
    coordinator = Coordinator(first)
    for x in (0.1, 0.2, 0.3):
        coordinator.schedule(x)
    assert int(first.computed) == 0
    saved = first.save()
    assert (int(first.computed), saved.position.step) == (3, 3)
    second = make(saved)
    again = Coordinator(second)
    for x in (0.1, 0.2, 0.3):
        again.schedule(x)
    assert int(second.computed) == 3
    assert second.weights.numpy().tolist() == first.weights.numpy().tolist()
    again.schedule(0.4)
    again.join()
    assert int(second.computed) == 4
    restored = only(second.events(), Restored)
    assert (restored.step, restored.level, restored.reason) == (3, "not_exact", ASYNCHRONOUS.reason)


def test_results_are_there_again_in_any_order(make: MakeAttempt) -> None:
    first = make()
    coordinator = Coordinator(first)
    looked_at, dropped = coordinator.schedule(0.1), coordinator.schedule(0.2)
    expected = [looked_at.fetch(), None, None]
    del dropped, looked_at
    held = coordinator.schedule(0.3)
    saved = first.save()
    expected[2] = held.fetch()
    second = make(saved)
    again = Coordinator(second)
    remotes = [again.schedule(x) for x in (0.1, 0.2, 0.3)]
    assert remotes[2].fetch() == pytest.approx(expected[2])
    assert remotes[0].fetch() == pytest.approx(expected[0])
    with pytest.raises(Refused):
        remotes[1].fetch()
    notice = [each for each in second.events() if isinstance(each, Notice)][-1]
    assert notice.code == "resume_refused"
    assert "closure 2" in notice.message


def test_results_stay_for_the_resume_after_the_next(make: MakeAttempt) -> None:
    first = make()
    expected = Coordinator(first).schedule(0.1).fetch()
    second = make(first.save())
    again = Coordinator(second)
    remote = again.schedule(0.1)
    again.schedule(0.2)
    third = make(second.save())
    assert Coordinator(third).schedule(0.1).fetch() == pytest.approx(expected)
    assert remote.fetch() == pytest.approx(expected)


def test_what_a_closure_raises_at_a_cut_is_raised_in_the_script(make: MakeAttempt) -> None:
    attempt = make()
    coordinator = Coordinator(attempt)
    coordinator.schedule(0.1)
    attempt.beacon.request_checkpoint()

    def fail() -> None:
        raise tf.errors.UnavailableError(None, None, "ps 0 is gone")

    coordinator.waiting[0].work = fail  # type: ignore[method-assign]
    with pytest.raises(tf.errors.UnavailableError):
        coordinator.schedule(0.2)
    assert attempt.recorder.loop is not None
    assert attempt.beacon.phase() is Phase.TRAIN


def test_a_stop_waits_for_what_was_scheduled(make: MakeAttempt) -> None:
    attempt = make()
    coordinator = Coordinator(attempt)
    coordinator.schedule(0.1)
    attempt.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        coordinator.schedule(0.2)
    assert int(attempt.computed) == 2
    events = attempt.events()
    assert only(events, TrainerStopped).step == 2
    assert only(events, LevelKnown).reason == ASYNCHRONOUS.reason


def test_a_snapshot_that_nobody_asked_for_waits_for_a_join(make: MakeAttempt) -> None:
    attempt = make()
    coordinator = Coordinator(attempt)
    coordinator.schedule(0.1)
    assert int(attempt.computed) == 0
    assert not coordinator.own.is_consistent(time.monotonic_ns())
    assert coordinator.own.is_consistent(time.monotonic_ns() + 61_000_000_000)
    coordinator.join()
    assert coordinator.own.is_consistent(time.monotonic_ns())
    # The first of a run is taken at once.
    until = time.monotonic() + 10.0
    while attempt.beacon.progress().snapshot_step != 1:
        assert time.monotonic() < until


def test_a_variable_is_recorded_as_the_script_has_read_it(make: MakeAttempt) -> None:
    first = make()
    coordinator = Coordinator(first)
    coordinator.schedule(0.1)
    seen = tf.constant(41)  # A worker has changed it since.
    first.recorder.reads(first.computed)
    first.recorder.has_read(first.computed, seen)
    coordinator.join()
    second = make(first.save())
    again = Coordinator(second)
    again.schedule(0.1)
    second.recorder.reads(second.computed)
    assert int(second.computed) == 41
    again.join()
    assert int(second.computed) == 1
