"""What is done about a number that is not finite, and when it is enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.events import NonFiniteLoss, NonFiniteWeights, RollbackRefused, RolledBack
from pitstop.link.settings import Settings
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo, Manifest
from pitstop.supervisor.restarts.rollbacks import WEIGHTS, altered, decide, left_out

STEADY = [0.7, 0.69, 0.68, 0.67]
GROWN = [0.7, 8.0, 900.0, 4e7]


def _entry(step: int, *, finite: bool = True, of_fit: bool = True) -> CheckpointEntry:
    info = CheckpointInfo(
        *(step, 0, step, 0, "", 1, "cadence", "exact", 0.0, {}),
        identity={"ordinal": 0} if of_fit else {},
        non_finite=() if finite else ("kernel",),
    )
    return CheckpointEntry(Path(f"{step:08d}"), Manifest(step, info, {}, {}))


def _loss(step: int, recent: Sequence[float] = (), metric: str = "loss") -> NonFiniteLoss:
    last = recent[-1] if recent else None
    return NonFiniteLoss(step, 0, step, metric, "nan", last, list(recent), 0.1)


def _back(decision: RolledBack | RollbackRefused) -> RolledBack:
    assert isinstance(decision, RolledBack)
    return decision


FOUND = [_entry(26, finite=False), _entry(20), _entry(9), _entry(1)]


def test_a_batch_that_is_bad_all_at_once_is_left_out() -> None:
    back = _back(decide(_loss(26, STEADY), [], FOUND, 3))
    assert (back.action, back.step, back.to_step, back.checkpoint) == ("skip", 26, 20, "00000020")
    settings = altered(Settings(), [back], allowed=True)
    assert settings.skip_steps == (26,)
    assert settings.look_to_step == 27
    assert "the batch of step 26 is skipped" in settings.altered


def test_only_states_before_the_step_with_finite_weights_are_gone_back_to() -> None:
    back = _back(decide(_loss(20, STEADY), [], FOUND, 3))
    assert back.checkpoint == "00000009"
    assert _back(decide(_loss(1), [], FOUND, 3)).checkpoint == ""


def test_a_rate_that_is_too_high_is_lowered_from_before_the_losses_grew() -> None:
    back = _back(decide(_loss(22, GROWN), [], FOUND, 3))
    assert (back.action, back.to_step) == ("rate", 9)
    assert back.learning_rate == pytest.approx(0.01)
    assert altered(Settings(), [back], allowed=True).rates == ((9, back.learning_rate),)


def test_a_lower_rate_that_does_not_help_goes_further_back_and_lower() -> None:
    first = _back(decide(_loss(22, GROWN), [], FOUND, 3))
    again = dataclasses.replace(_loss(23), learning_rate=0.01)
    second = _back(decide(again, [first], FOUND, 3))
    assert (second.action, second.to_step) == ("rate", 1)
    third = _back(decide(again, [first, second], FOUND, 3))
    assert (third.action, third.checkpoint) == ("rate", "")
    # What is saved on the way has the lower rate already.
    assert altered(Settings(), [first, second], allowed=True).rates == ((1, second.learning_rate),)


def test_weights_that_are_found_bad_are_looked_for_then_their_batch_is_left_out() -> None:
    hidden = NonFiniteWeights(26, ["kernel"], 20)
    look = _back(decide(hidden, [], FOUND, 3))
    settings = altered(Settings(), [look], allowed=True)
    assert (look.action, settings.look_to_step) == ("look", 27)
    assert not settings.altered
    assert not settings.skip_steps
    assert isinstance(decide(hidden, [look], FOUND, 3), RollbackRefused)
    skip = _back(decide(_loss(23, metric=WEIGHTS), [look], FOUND, 3))
    assert left_out([look, skip]) == {23}


def test_the_batch_before_takes_the_place_of_a_wrong_guess() -> None:
    wrong = _back(decide(_loss(26, STEADY), [], FOUND, 3))
    right = _back(decide(_loss(25, metric=WEIGHTS), [wrong], FOUND, 3))
    assert left_out([wrong, right]) == {25}


def test_after_two_batches_in_a_row_it_is_the_rate() -> None:
    done: list[RolledBack] = []
    for step in (26, 27):
        done.append(_back(decide(_loss(step, STEADY), done, FOUND, 5)))
    assert [each.action for each in done] == ["skip", "skip"]
    assert _back(decide(_loss(28, STEADY), done, FOUND, 5)).action == "rate"


def test_loops_of_the_script_are_left_alone() -> None:
    refused = decide(_loss(26), [], [_entry(20, of_fit=False)], 3)
    assert isinstance(refused, RollbackRefused)
    assert "model.fit" in refused.reason


@given(
    st.lists(
        st.tuples(
            st.integers(1, 30),
            st.sampled_from([STEADY, GROWN, []]),
            st.sampled_from(["loss", WEIGHTS, "hidden"]),
        ),
        min_size=9,
        max_size=9,
    ),
    st.integers(1, 8),
)
def test_nothing_goes_back_more_often_than_allowed(
    faults: list[tuple[int, list[float], str]], most: int
) -> None:
    done: list[RolledBack] = []
    for step, recent, metric in faults:
        hidden = NonFiniteWeights(step, ["kernel"], -1)
        bad = hidden if metric == "hidden" else _loss(step, recent, metric)
        decision = decide(bad, done, FOUND, most)
        if isinstance(decision, RolledBack):
            assert decision.to_step < step
            done.append(decision)
    assert len(done) <= most
    assert isinstance(decide(_loss(5), [*done, *done][:most], FOUND, len(done)), RollbackRefused)
