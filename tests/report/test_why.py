"""From a folder or a log to a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.diagnosis import diagnose
from pitstop.events import AttemptEnded, LeaderFound, Restored, ResumeChosen, RoleTaken
from pitstop.journal import Journal
from pitstop.report import why, why_log
from pitstop.report.why import AttemptProgress, compare, progress
from tests.diagnosis.attempts import STARTED, attempt_of, failed, killed


def test_the_last_attempt_and_those_before(tmp_path: Path) -> None:
    for attempt in (1, 2):
        with Journal(tmp_path / "journal.jsonl", attempt) as journal:
            journal.append(STARTED)
            journal.append(killed("SIGSEGV" if attempt == 1 else "SIGKILL"))
            journal.append(AttemptEnded(attempt, "failed", 139, 47, None))
    report = why(tmp_path, live=False)
    assert report.last.finding is not None
    assert report.last.finding.cause == "killed_from_outside"
    assert [each.finding.cause for each in report.earlier if each.finding] == ["native_crash"]


def test_a_live_run_is_running(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl", 1) as journal:
        journal.append(STARTED)
    assert why(tmp_path, live=True).last.finding is None
    lost = why(tmp_path, live=False).last
    assert lost.finding is not None
    assert "the end of the attempt was not recorded" in lost.finding.summary


def test_a_bare_log(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "Traceback (most recent call last):\nModuleNotFoundError: No module named 'x'\n"
    )
    report = why_log(path, exit_code=1)
    assert report.last.finding is not None
    assert report.last.finding.cause == "dependency_or_import_error"


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


def test_an_attempt_that_did_not_train_repeated_nothing() -> None:
    assert not any("repeated" in line for line in compare(_attempts((0, 47), (0, 0))))
    assert not any("further" in line for line in compare(_attempts((0, 0), (0, 0))))
    assert "7 steps" in compare(_attempts((0, 47), (40, 40), (40, 90)))[-1]


def test_the_steps_of_a_worker_are_those_of_its_leader() -> None:
    member = RoleTaken("monitored_session", 7), LeaderFound("worker 0")
    evidence = attempt_of(STARTED, *member, killed())
    found = progress(evidence, diagnose(evidence), 0)
    assert found.first_step == found.last_step == 47


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
