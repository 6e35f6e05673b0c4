"""The first loss that is no number is told, once."""

from __future__ import annotations

from pitstop.engine.session.step_recorder import LossWatch
from pitstop.events import Event, NonFiniteLoss


def test_only_the_first_one_is_told() -> None:
    told: list[Event] = []
    watch = LossWatch(told.append)
    for step, loss in enumerate([0.5, 0.25, float("inf"), float("nan")], start=1):
        watch.note((step, 0, step), loss)
    assert told == [NonFiniteLoss(3, 0, 3, "loss", "inf", 0.25, [0.5, 0.25])]


def test_the_first_of_all_may_be_it() -> None:
    told: list[Event] = []
    LossWatch(told.append).note((1, 2, 1), float("nan"))
    assert told == [NonFiniteLoss(1, 2, 1, "loss", "nan", None)]


def test_the_losses_before_it_and_the_rate_are_told() -> None:
    told: list[Event] = []
    watch = LossWatch(told.append)
    for step in range(1, 21):
        watch.note(
            (step, 0, step), 1.5**step, lambda: {"learning_rate": 1 / 0}
        )  # not asked while all is well
    watch.note((21, 0, 21), float("nan"), lambda: {"learning_rate": 0.5})
    assert told == [
        NonFiniteLoss(21, 0, 21, "loss", "nan", 1.5**20, [1.5**step for step in range(13, 21)], 0.5)
    ]
