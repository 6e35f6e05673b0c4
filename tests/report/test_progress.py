"""How far attempts came, and what they have in common."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import diagnose
from pitstop.events import Restored, ResumeChosen
from pitstop.report.progress import AttemptProgress, compare, progress
from tests.diagnosis.attempts import STARTED, attempt_of, failed, killed


def _attempts(*spans: tuple[int, int], cause: str = "disk_full") -> list[AttemptProgress]:
    return [
        AttemptProgress(i + 1, "failed", cause, 10.0 * i, 10.0 * i + 5, first, last, first)
        for i, (first, last) in enumerate(spans)
    ]


def test_one_attempt() -> None:
    evidence = failed(killed())
    found = progress(evidence, diagnose(evidence), 0)
    assert (found.attempt, found.state, found.cause) == (1, "failed", "killed_from_outside")
    assert (found.first_step, found.last_step, found.checkpoint_step) == (0, 47, 40)
    assert found.seconds == evidence.entries[-1].time_seconds - evidence.entries[0].time_seconds


def test_the_record_of_steps_tells_where_nobody_saw_the_end() -> None:
    evidence = attempt_of(STARTED)
    assert progress(evidence, diagnose(evidence), 52).last_step == 52


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ((STARTED, ResumeChosen(40, 2, "00000040", "exact")), 40),
        (
            (
                STARTED,
                ResumeChosen(40, 2, "00000040", "exact"),
                Restored(39, 1, 19, "exact", "", 0.1, 0),
            ),
            39,
        ),
    ],
)
def test_where_an_attempt_began(events: tuple[Restored, ...], first: int) -> None:
    evidence = attempt_of(*events)
    assert progress(evidence, diagnose(evidence), 0).first_step == first


def test_the_same_cause_again_at_the_same_step() -> None:
    same, none = compare(_attempts((0, 47), (40, 47), (40, 47)))[:2]
    assert same == "The last 3 attempts ended with the same cause, disk_full, each at step 47."
    assert none == "No attempt since attempt 1 got further than step 47."


def test_progress_and_steps_computed_twice() -> None:
    assert compare(_attempts((0, 47), (40, 1060))) == (
        "The last 2 attempts ended with the same cause, disk_full.",
        "This attempt got 1,013 steps further than the earlier ones.",
        "Over 2 attempts, 7 steps had to be repeated.",
    )


def test_only_attempts_at_the_end_count_for_the_cause() -> None:
    attempts = _attempts((0, 10), (10, 20), (20, 30))
    attempts[1] = replace(attempts[1], cause="nan_loss")
    assert not any("same cause" in line for line in compare(attempts))


def test_a_stop_is_no_repeated_fault_and_lacks_no_progress() -> None:
    attempts = [replace(each, state="stopped") for each in _attempts((0, 10), (10, 10))]
    assert compare(attempts) == ()


def test_one_attempt_has_nothing_to_be_compared_with() -> None:
    assert compare(_attempts((0, 10))) == ()
    assert compare(()) == ()
