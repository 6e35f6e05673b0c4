"""Which ends of epochs are kept for their metrics."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.snapshots.cadence import BestWatch
from pitstop.store.best_rule import parse_best_rule


def accepted(watch: BestWatch, values: list[float]) -> list[int]:
    steps = enumerate(values, start=1)
    return [step for step, value in steps if watch.accepts(step, {"val_loss": value})]


def test_what_is_among_the_best_so_far_is_accepted() -> None:
    assert accepted(BestWatch(["val_loss:2:min"], []), [5, 6, 7, 4, 4.5, 9, 1]) == [1, 2, 4, 5, 7]


def test_a_later_attempt_knows_what_is_kept() -> None:
    watch = BestWatch(["val_loss:1:min"], [(10, {"val_loss": 0.5}), (20, {"other": 0.0})])
    assert not watch.accepts(30, {"val_loss": 0.6})
    assert watch.accepts(40, {"val_loss": 0.4})


def test_an_epoch_that_is_validated_again_is_not_kept_twice() -> None:
    watch = BestWatch(["val_loss:3:min"], [(10, {"val_loss": 0.5})])
    assert not watch.accepts(10, {"val_loss": 0.5})
    assert watch.accepts(11, {"val_loss": 0.5})
    assert not watch.accepts(11, {"val_loss": 0.5})


def test_each_rule_counts_for_itself() -> None:
    watch = BestWatch(["val_loss:1:min", "auc:1:max"], [(1, {"val_loss": 0.1, "auc": 0.5})])
    assert watch.accepts(2, {"val_loss": 0.2, "auc": 0.6})
    assert not watch.accepts(3, {"val_loss": 0.2, "auc": 0.6})


def test_what_was_not_logged_or_is_no_number_is_not_accepted() -> None:
    watch = BestWatch(["val_loss:1:min"], [])
    assert not watch.accepts(1, {"loss": 0.1})
    assert not watch.accepts(2, {"val_loss": math.nan})


def test_without_a_rule_nothing_is() -> None:
    assert not BestWatch([], []).active
    assert BestWatch(["loss:1:min"], []).active
    assert not BestWatch([], []).accepts(1, {"loss": 0.0})


@given(st.lists(st.integers(0, 9).map(float), max_size=20), st.integers(1, 3))
def test_all_that_are_the_best_in_the_end_were_accepted(values: list[float], count: int) -> None:
    rule = parse_best_rule(f"val_loss:{count}")
    best = rule.choose(enumerate(values, start=1))
    assert best <= set(accepted(BestWatch([str(rule)], []), values))
