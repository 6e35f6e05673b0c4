"""The steps of a loop: boundaries, stops, several loops, and going on from a saved state."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.leaving import TrainingStopped
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import Position
from pitstop.errors import PeerClosed, ResumeRefused
from pitstop.events import LOOPS, FitEnded, FitStarted, LevelKnown, NonFiniteLoss, from_record
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.settings import Settings
from pitstop.link.wire import Connection, pair
from pitstop.loop.loop_state import LoopState
from pitstop.loop.start import Run
from pitstop.tensorflow.script_loop import ScriptLoop
from pitstop.tensorflow.variables.variables import VariableRegistry
from tests.messages import body_of, welcome


class Trainer:
    """A process that trains, its supervisor's end held by the test."""

    def __init__(self, folder: Path, *, returns: bool = False, **objects: Any) -> None:
        self.beacon = Beacon.create()
        self.supervisor, connection = pair()
        welcomed = welcome(folder, Settings(every_steps=1))
        self.session = Session(connection, self.beacon, welcomed)
        self.connection: Connection = connection
        self.state = LoopState(objects, VariableRegistry())
        self.run = Run(self.session, self.state, returns=returns)

    def save(self, position: Position) -> SavedState:
        loop = ScriptLoop(self.session, LOOPS[0], position.fit, position.step)
        loop.done = position.step_in_epoch
        cut = self.state.cut(loop, {"loss": 0.5}, position.milestone)
        tensors = {each.spec.name: memoryview(bytes(each.read())) for each in cut.tensors}
        return SavedState(cut.state, tensors)

    def close(self) -> None:
        self.connection.close()
        self.supervisor.close()
        os.close(self.beacon.fd)

    def events(self) -> list[Any]:
        self.connection.close()
        found = []
        with contextlib.suppress(PeerClosed):
            while True:
                message = self.supervisor.receive()
                for fd in message.fds:
                    os.close(fd)
                if message.message.type == "event_report":
                    found.append(from_record(body_of(message)["event"]))
        return found


@pytest.fixture
def trainers() -> Iterator[list[Trainer]]:
    made: list[Trainer] = []
    yield made
    for each in made:
        each.close()


def start(trainers: list[Trainer], folder: Path, **options: Any) -> Trainer:
    trainers.append(Trainer(folder, **options))
    # Nobody makes anything durable here; a milestone does not wait without a supervisor.
    trainers[-1].session.snapshots.milestone = lambda _: None  # type: ignore[method-assign, assignment]
    return trainers[-1]


def test_steps_count_as_range_does(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = start(trainers, tmp_path)
    assert list(trainer.run.steps(4)) == [0, 1, 2, 3]
    assert list(trainer.run.steps(2)) == [0, 1]
    assert trainer.run.step == 6
    kinds = [type(event) for event in trainer.events()]
    assert kinds.count(FitStarted) == kinds.count(FitEnded) == 2
    assert kinds.count(LevelKnown) == 1


def test_a_loop_without_an_end_goes_on_until_it_is_left(
    tmp_path: Path, trainers: list[Trainer]
) -> None:
    trainer = start(trainers, tmp_path)
    for step in trainer.run.steps():
        if step == 5:
            break
    assert trainer.run.step == 5
    assert FitEnded in [type(event) for event in trainer.events()]


def test_a_stop_is_obeyed_behind_the_step(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = start(trainers, tmp_path)
    steps = trainer.run.steps(9)
    assert next(steps) == 0
    trainer.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        next(steps)
    assert trainer.run.stopped


def test_a_stop_may_end_the_loops_only(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = start(trainers, tmp_path, returns=True)
    for step in trainer.run.steps(9):
        if step == 2:
            signal.raise_signal(signal.SIGTERM)
    assert (trainer.run.stopped, trainer.run.step) == (True, 3)
    assert list(trainer.run.steps(9)) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_interrupt_is_what_it_always_was(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = start(trainers, tmp_path)
    steps = trainer.run.steps(9)
    next(steps)
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    del steps
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("position", "left"),
    [
        (Position(3, 0, 0, 3), [[3, 4], [0, 1]]),
        (Position(5, 0, 0, 5, "steps", "fit_end"), [[], [0, 1]]),
        (Position(6, 1, 0, 1), [[], [1]]),
        (Position(7, 1, 0, 2, "steps", "fit_end"), [[], []]),
    ],
)
def test_going_on(
    tmp_path: Path, trainers: list[Trainer], position: Position, left: list[list[int]]
) -> None:
    saved = start(trainers, tmp_path, rows=[1.0]).save(position)
    rows: list[float] = []
    run = start(trainers, tmp_path, rows=rows).run
    run.restore(saved)
    assert (run.resumed, run.step, rows) == (True, position.step, [1.0])
    assert [list(run.steps(5)), list(run.steps(2))] == left


def test_variables_and_streams_come_back(tmp_path: Path, trainers: list[Trainer]) -> None:
    before, after = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
    np.random.seed(4)
    saved = start(trainers, tmp_path, weights=before).save(Position(1, 0, 0, 1))
    expected = np.random.random()
    start(trainers, tmp_path, weights=after).run.restore(saved)
    assert after.numpy().tolist() == [1.0, 2.0]
    assert np.random.random() == expected


def test_other_objects_are_refused(tmp_path: Path, trainers: list[Trainer]) -> None:
    saved = start(trainers, tmp_path, rows=[]).save(Position(1, 0, 0, 1))
    with pytest.raises(ResumeRefused, match=r"rows.*table"):
        start(trainers, tmp_path, table={}).run.restore(saved)


def test_a_run_that_was_a_fit_is_refused(tmp_path: Path, trainers: list[Trainer]) -> None:
    with pytest.raises(ResumeRefused, match="custom loop"):
        start(trainers, tmp_path).run.restore(SavedState({"fit": {}}, {}))


def test_the_first_loss_that_is_no_number_is_told(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = start(trainers, tmp_path)
    for step in trainer.run.steps(4):
        trainer.run.log(loss=tf.constant(float("nan") if step else 0.25))
    (told,) = [each for each in trainer.events() if isinstance(each, NonFiniteLoss)]
    assert (told.step, told.value, told.last_finite) == (2, "nan", 0.25)
