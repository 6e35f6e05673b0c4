"""What the trials of a drill prove."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.drill import Drill, DrillVerdict
from pitstop.drill.outcome import Interruption, checkpoint_interval_steps, choose
from tests.drill.samples import AFTER_RESUME, EXACT, TWICE, UNSEEDED, WHOLE, drill, trial


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (drill(trial(EXACT), trial(EXACT)), DrillVerdict.EXACT),
        (drill(trial(EXACT), trial(AFTER_RESUME), again=WHOLE), DrillVerdict.NOT_EXACT),
        (drill(trial(AFTER_RESUME), again=UNSEEDED), DrillVerdict.NOT_REPRODUCIBLE),
        (drill(trial(TWICE), again=WHOLE), DrillVerdict.NOT_EXACT),
        (drill(trial(None, "it failed"), again=WHOLE), DrillVerdict.NOT_EXACT),
        (drill(trial(EXACT, "it ended early"), again=WHOLE), DrillVerdict.NOT_EXACT),
    ],
)
def test_verdicts(found: Drill, verdict: DrillVerdict) -> None:
    assert found.verdict is verdict


_COUNTS = st.integers(0, 6)


def test_the_places_where_resumes_go_wrong_come_first() -> None:
    assert choose(60, (20, 40, 60), 3, 1, seed=0) == (
        Interruption("kill", 30, "middle"),
        Interruption("kill", 40, "last step of an epoch"),
        Interruption("kill", 1, "first step"),
        Interruption("stop", 1, "first step"),
    )


def test_few_kills_and_stops_visit_different_places() -> None:
    places = [each.place for each in choose(60, (20, 40, 60), 1, 1, seed=0)]
    assert places == ["middle", "first step"]


@given(st.integers(1, 40), _COUNTS, _COUNTS, st.integers(), st.data())
def test_interruptions_leave_something_to_train_and_do_not_repeat(
    last_step: int, kills: int, stops: int, seed: int, data: st.DataObject
) -> None:
    ends = sorted(data.draw(st.sets(st.integers(1, last_step)))) or [last_step]
    chosen = choose(last_step, ends, kills, stops, seed)
    assert len({each.name for each in chosen}) == len(chosen)
    for kind, count in (("kill", kills), ("stop", stops)):
        steps = [each.step for each in chosen if each.kind == kind]
        assert len(steps) == min(count, last_step - 1)
        assert all(0 < step < last_step for step in steps)


@given(st.integers())
def test_the_seed_decides_the_random_places(seed: int) -> None:
    first, again = (choose(1000, (500, 1000), 9, 0, seed) for _ in range(2))
    assert first == again
    assert [each.place for each in first[3:]] == ["random"] * 6


def test_another_seed_gives_other_places() -> None:
    chosen = {choose(1000, (1000,), 9, 0, seed) for seed in range(5)}
    assert len(chosen) == 5


@given(st.integers(1, 10**9))
def test_checkpoints_are_frequent(last_step: int) -> None:
    assert 1 <= checkpoint_interval_steps(last_step) <= max(1, last_step / 16)
