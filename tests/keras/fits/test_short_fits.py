"""Which trainings are too short to be saved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.trainings.identity import Identity
from pitstop.keras.fits import short_fits
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.fits.short_fits import ShortFits
from pitstop.link.settings import Settings

MILLISECOND_NS = 1_000_000
X = np.zeros((32, 4), "float32")


class Session:
    """Trainings of one process; those that are asked about take as long as they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.kernel = False
        self.trainings = SimpleNamespace(awaits=False)
        self.milestones = SimpleNamespace(left_out=0)
        self.is_asked = False
        self.snapshots = SimpleNamespace(
            milestones=self.milestones,
            lockstep=SimpleNamespace(agreed=False),
            due=lambda *_, **__: self.is_asked,
        )
        self.now_ns = 7
        clock = SimpleNamespace(monotonic_ns=lambda: self.now_ns)
        monkeypatch.setattr(short_fits, "time", clock)
        monkeypatch.setattr(short_fits, "place_of_present_call", lambda: ("script.py:main",))
        self.model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        self.model.compile("sgd", "mse")
        self.model.make_train_function()
        self.fits = ShortFits(self)  # type: ignore[arg-type]

    def trains(
        self,
        begins_ms: float = 1,
        trains_ms: float = 30,
        *,
        kind: type[FitRun] = FitRun,
        **arguments: Any,
    ) -> bool:
        """Whether a training was passed over."""
        given = {"model": self.model, "x": X, "y": X, **arguments}
        run: Any = object.__new__(kind)
        run.session, run.model, run.arguments, run.data = self, self.model, given, {}
        run.identity = Identity(frames=("script.py:main",))
        known = self.fits.begins(self.model, given)
        self.now_ns += int(begins_ms * MILLISECOND_NS)
        self.fits.has_begun(run, known)
        self.now_ns += int(trains_ms * MILLISECOND_NS)
        self.milestones.left_out += 1
        if known is None:
            self.fits.ended(run)
        return known is not None


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(monkeypatch)


def passed_over(session: Session, count: int, **arguments: Any) -> list[bool]:
    return [session.trains(**arguments) for _ in range(count)]


def test_one_like_a_short_one_before_is_not_saved(session: Session) -> None:
    # The third one tells what it costs to save one.
    assert passed_over(session, 6, begins_ms=10) == [False, False, True, True, True, True]


def test_now_and_then_one_is_saved_within_half_of_the_budget(session: Session) -> None:
    found = passed_over(session, 1000, begins_ms=15, trains_ms=30)
    # The begins of all last 45 s: half of 1 % of it is enough for 15 of them.
    assert 10 <= found.count(False) <= 20
    assert False in found[-200:]


def test_one_that_somebody_waits_for_is_saved(session: Session) -> None:
    passed_over(session, 5)
    session.is_asked = True
    assert not session.trains()
    session.is_asked, session.trainings.awaits = False, True
    assert not session.trains()


@pytest.mark.parametrize(
    "other",
    [
        {"x": np.zeros((64, 4), "float32")},
        {"x": tf.data.Dataset.from_tensors(X)},
        {"x": [[0.0] * 4] * 4},
        {"epochs": 2},
        {"callbacks": [keras.callbacks.Callback()]},
        {"validation_data": (X, X)},
        {"validation_split": 0.5},
        {"steps_per_epoch": 1},
        {"class_weight": {0: 1.0}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_one_is_saved(session: Session, other: dict[str, Any]) -> None:
    passed_over(session, 5)
    assert session.trains()
    assert not session.trains(**other)
    if "epochs" not in other and not isinstance(other.get("x"), np.ndarray):
        assert passed_over(session, 5, **other) == [False] * 5


@pytest.mark.parametrize(
    "same",
    [
        {"callbacks": []},
        {"callbacks": None},
        {"verbose": 0},
        {"x": X[:8]},
        {"x": tf.zeros((32, 4))},
        {"x": [X[:, :2], X[:, 2:]]},
        {"x": {"a": X}},
    ],
    ids=lambda same: next(iter(same)),
)
def test_what_makes_no_difference(session: Session, same: dict[str, Any]) -> None:
    passed_over(session, 5)
    assert session.trains(**same)


def test_a_model_that_was_compiled_again_is_another(session: Session) -> None:
    passed_over(session, 5)
    session.model.compile("adam", "mse")
    session.model.make_train_function()
    assert not session.trains()


def test_long_ones_are_saved(session: Session) -> None:
    assert passed_over(session, 5, trains_ms=501) == [False] * 5


class OnWorkers(FitRun):
    pass


@pytest.mark.parametrize(
    "settings",
    [
        Settings(every_steps=5),
        Settings(every_seconds=1.0),
        Settings(halt_at_step=7),
        Settings(keep_best=("loss",)),
        Settings(find_nan_step=7),
        Settings(on_bad_record="skip"),
        Settings(batch_parts=2),
        Settings(altered="the batch of step 3 is skipped"),
        Settings(look_to_step=3),
    ],
    ids=lambda settings: next(
        name for name, each in vars(settings).items() if each != getattr(Settings, name)
    ),
)
def test_with_other_settings_each_one_is_saved(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    assert passed_over(Session(monkeypatch, settings), 5) == [False] * 5


def test_those_of_workers_notebooks_and_gangs_are_saved(session: Session) -> None:
    assert passed_over(session, 5, kind=OnWorkers) == [False] * 5
    session.kernel = True
    assert passed_over(session, 5) == [False] * 5
    session.kernel, session.snapshots.lockstep.agreed = False, True
    assert passed_over(session, 5) == [False] * 5


def test_one_that_ended_worth_saving_is_not_short(session: Session) -> None:
    passed_over(session, 5)
    session.milestones.left_out -= 1
    session.is_asked = True
    before = session.milestones.left_out
    run: Any = object.__new__(FitRun)
    run.session, run.model, run.data = session, session.model, {}
    run.arguments, run.identity = {"x": X, "y": X}, Identity(frames=("script.py:main",))
    assert session.fits.begins(session.model, run.arguments) is None
    session.fits.has_begun(run, None)
    session.fits.ended(run)
    session.is_asked = False
    assert session.milestones.left_out == before
    assert not session.trains()
