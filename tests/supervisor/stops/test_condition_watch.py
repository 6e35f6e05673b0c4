"""A condition is looked at when an epoch ends, over all attempts, and asks once."""

from __future__ import annotations

import pytest

from pitstop.events import EpochEnded, NonFiniteLoss, Notice, StopRequested
from pitstop.supervisor.stops.stop_condition import ConditionWatch


def ended(epoch: int, loss: float, fit: int = 0) -> EpochEnded:
    return EpochEnded(fit, epoch, 10, 10, {"loss": loss})


def test_it_asks_once_with_its_own_words() -> None:
    watch = ConditionWatch("loss < 0.5")
    assert watch.on_event(ended(0, 0.9)) is None
    assert watch.on_event(Notice("else", "nothing")) is None
    assert watch.on_event(ended(1, 0.4)) == StopRequested(
        source="condition", urgency="graceful", reason="loss < 0.5"
    )
    assert watch.on_event(ended(2, 0.3)) is None


def test_earlier_attempts_count_and_repeated_epochs_once() -> None:
    before = [ended(0, 1.0), ended(1, 2.0), ended(2, 3.0)]
    assert ConditionWatch("diverges(loss, 2)", before).on_event(ended(2, 3.0)) is not None
    assert ConditionWatch("diverges(loss, 3)", before).on_event(ended(2, 3.0)) is None
    # Trained again from an earlier epoch: what came behind it counts no more.
    assert ConditionWatch("diverges(loss, 2)", before).on_event(ended(1, 2.0)) is None


def test_each_fit_has_epochs_of_its_own() -> None:
    watch = ConditionWatch("plateau(loss, 1)", [ended(0, 1.0)])
    assert watch.on_event(ended(0, 2.0, fit=1)) is None
    assert watch.on_event(ended(1, 2.0, fit=1)) is not None


def test_epochs_are_counted_from_one() -> None:
    watch = ConditionWatch("epoch >= 2")
    assert [watch.on_event(ended(epoch, 1.0)) is not None for epoch in (0, 1)] == [False, True]


def test_a_loss_that_is_no_number_is_seen_at_its_step() -> None:
    told = NonFiniteLoss(3, 0, 3, "loss", "nan", 0.5)
    assert ConditionWatch("nan(loss)").on_event(told) is not None
    assert ConditionWatch("nan(val_loss)").on_event(told) is None


def test_no_condition_never_asks() -> None:
    assert ConditionWatch("").on_event(ended(0, 0.0)) is None
    with pytest.raises(ValueError, match="not a condition"):
        ConditionWatch("loss")


def test_a_stop_that_waits_for_the_epoch_is_asked_for_once() -> None:
    watch, asked = ConditionWatch(""), StopRequested("command", "graceful")
    watch.await_epoch(asked)
    assert watch.on_event(NonFiniteLoss(3, 0, 3, "loss", "nan", 0.5)) is None
    assert watch.on_event(ended(0, 1.0)) is asked
    assert watch.on_event(ended(1, 1.0)) is None
