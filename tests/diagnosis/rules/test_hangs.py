"""Standstills: believed where they ended the attempt, a remark where somebody else did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.events import (
    StopDeadlinePassed,
    StopRequested,
    ThreadFailed,
    TrainerExited,
    TrainingStalled,
    TrainingWentOn,
    WorkerDied,
)
from tests.diagnosis.attempts import (
    FINISHED,
    OOM_LINES,
    TRAINER_PID,
    Case,
    advice_of,
    as_parameters,
    attempt_of,
    check,
    completed,
    exited,
    failed,
    finding_of,
    killed,
    raised,
    stop_by_signal,
    stopped,
)

WARNED = TrainingStalled(
    63.0,
    "train",
    47,
    "input",
    "it waits for its input at data.py:12 in rows()",
    "warn",
    stack=["data.py:12 in rows()", "/lib/python3.11/threading.py:1 in run()"],
    threads=["thread 4225 (python): S, in futex_wait"],
    stacks_file="attempts/1/stacks.txt",
)
ENDED = replace(WARNED, action="kill")
BY_WORKER = replace(
    ENDED,
    doing="worker",
    place="it waits for a dead data worker: process 9, ended by SIGKILL",
    workers=["process 9, ended by SIGKILL"],
)
DIED = WorkerDied(9, signal="SIGKILL")

AT_LIMIT = stop_by_signal("SIGINT", sender_command="timeout 4h pitstop")
FORCED = StopDeadlinePassed(30.0, "between_fits", "no step ended")

CASES: list[Case] = [
    ("the watchdog ended it", failed(ENDED, killed()), "hang_or_stall"),
    ("it waited for a dead worker", failed(DIED, BY_WORKER, killed()), "hang_or_stall"),
    (
        "ended to be started again",
        failed(replace(ENDED, action="restart"), killed()),
        "hang_or_stall",
    ),
    (
        "it went on, and failed later",
        failed(WARNED, TrainingWentOn(90.0), killed()),
        "killed_from_outside",
    ),
    (
        "a person gave up waiting",
        stopped(WARNED, stop_by_signal("SIGINT"), killed()),
        "user_interrupt",
    ),
    (
        "it used up the time of timeout(1)",
        stopped(WARNED, stop_by_signal("SIGTERM", sender_command="timeout 4h pitstop"), killed()),
        "hang_or_stall",
    ),
    (
        "it used up the time of --max-time",
        stopped(WARNED, StopRequested("time_limit", "graceful"), killed()),
        "hang_or_stall",
    ),
    (
        "it went on before the time was up",
        stopped(WARNED, TrainingWentOn(9.0), StopRequested("time_limit", "graceful"), killed()),
        "time_limit",
    ),
    (
        "a worker died, and no step ended until timeout(1) was over",
        stopped(DIED, AT_LIMIT, FORCED, killed("SIGTERM", seconds_since_boundary=75.0)),
        "hang_or_stall",
    ),
    (
        "a worker died, and the training made steps until timeout(1) was over",
        stopped(DIED, AT_LIMIT, FORCED, killed("SIGTERM", seconds_since_boundary=0.4)),
        "time_limit",
    ),
    ("somebody killed it meanwhile", failed(WARNED, killed()), "killed_from_outside"),
    ("it ended well after all", completed(WARNED, *FINISHED), "completed_normally"),
    (
        "a worker died, and the script said so",
        failed(DIED, raised("ValueError", "boom"), exited(1)),
        "user_code_error",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def _others(evidence: Evidence) -> list[str]:
    return [finding.cause for finding in diagnose(evidence).others]


def test_a_kill_by_the_watchdog_is_not_blamed_on_somebody_else() -> None:
    assert "killed_from_outside" not in _others(failed(ENDED, killed()))


def test_a_standstill_that_somebody_else_ended_is_a_remark() -> None:
    assert "hang_or_stall" in _others(stopped(WARNED, stop_by_signal("SIGINT"), killed()))
    assert "hang_or_stall" not in _others(failed(WARNED, TrainingWentOn(90.0), killed()))


def test_a_lost_worker_is_a_remark_when_nobody_saw_what_came_of_it() -> None:
    assert "hang_or_stall" in _others(failed(DIED, killed()))
    gone = WorkerDied(9, exit_code=1)
    assert "hang_or_stall" not in _others(failed(gone, killed()))
    assert "hang_or_stall" not in _others(completed(DIED, *FINISHED))


def test_the_summary_says_where_and_how_long() -> None:
    summary = finding_of(failed(ENDED, killed())).summary
    assert "step 47" in summary
    assert "1 min 3 s" in summary
    assert "data.py:12 in rows()" in summary


def test_a_standstill_lasted_until_the_training_was_ended() -> None:
    later = killed(seconds_since_boundary=7200.0)
    assert "for 2 h" in diagnose(failed(WARNED, later)).others[0].summary


def test_a_suspended_training_that_is_gone_is_not_to_be_continued() -> None:
    how = "the process was stopped by SIGSTOP or job control; `kill -CONT 4225`"
    suspended = replace(WARNED, doing="stopped", place=how, action="kill")
    finding = finding_of(failed(suspended, killed()))
    assert finding.summary.endswith("the process was stopped by SIGSTOP or job control.")
    assert "continue it" not in " ".join(finding.advice)


def test_a_server_that_was_suspended_is_no_training() -> None:
    frozen = replace(ENDED, phase="server", step=0, place="process 9 was suspended")
    summary = finding_of(failed(frozen, killed())).summary
    assert summary.startswith("This server did nothing for")
    assert summary.endswith("process 9 was suspended.")


def test_who_waits_for_a_program_is_told_to_read_its_output() -> None:
    waits = replace(
        ENDED, doing="callback", threads=["thread 9 (python): S, waits for a child process"]
    )
    assert "communicate()" in advice_of(failed(waits, killed()))[0]


def test_the_evidence_quotes_stack_kernel_and_file() -> None:
    seen = {item.source: item.text for item in finding_of(failed(ENDED, killed())).evidence}
    assert seen["stack"] == "data.py:12 in rows()"
    assert seen["stacks"].endswith("attempts/1/stacks.txt")
    assert seen["kernel"] == WARNED.threads[0]
    assert "Pitstop ended it" in seen["watchdog"]


def test_what_was_not_observed_is_said() -> None:
    blind = replace(ENDED, stack=[], stacks_file="", missing=["the Python stacks"])
    finding = finding_of(failed(blind, killed()))
    assert "the Python stacks" in finding.missing


def test_advice_follows_what_it_waited_for() -> None:
    assert "timeout" in advice_of(failed(ENDED, killed()))[0]
    assert "worker" in advice_of(failed(DIED, BY_WORKER, killed()))[0]
    restarting = advice_of(failed(replace(ENDED, action="restart"), killed()))
    assert not any("--on-hang" in line for line in restarting)


def test_a_live_run_has_no_cause_yet() -> None:
    assert diagnose(attempt_of(WARNED, live=True)).finding is None


OF_THE_WORKER = [line.replace(f"pid={TRAINER_PID}", "pid=9") for line in OOM_LINES[:1]]
OF_A_NEIGHBOUR = [line.replace(f"pid={TRAINER_PID}", "pid=77") for line in OOM_LINES[:1]]


@pytest.mark.parametrize(
    "ended",
    [
        killed("SIGTERM", kernel_lines=OF_THE_WORKER, oom_kills=1),
        killed("SIGTERM", kernel_lines=None, oom_kills=1),
    ],
)
def test_a_worker_that_was_killed_for_memory_needs_more_of_it(ended: TrainerExited) -> None:
    first, *others = advice_of(failed(DIED, BY_WORKER, ended))
    assert "raise the memory limit" in first
    assert not any("--on-hang" in line for line in others)  # it would happen again


@pytest.mark.parametrize(
    "ended",
    [
        killed("SIGTERM", kernel_lines=OF_A_NEIGHBOUR, oom_kills=0),
        killed("SIGTERM", kernel_lines=None, oom_kills=None),
    ],
)
def test_a_worker_that_somebody_killed_does_not(ended: TrainerExited) -> None:
    assert "Find out what killed the worker" in advice_of(failed(DIED, BY_WORKER, ended))[0]


def test_a_thread_that_failed_before_is_to_be_mended() -> None:
    thread = ThreadFailed("reader", "ValueError", "bad row 7", "/app/rows.py", 12, "read")
    finding = finding_of(failed(thread, ENDED, killed()))
    assert finding.cause == "hang_or_stall"
    assert finding.advice[0].startswith("Fix /app/rows.py:12 in read()")
    assert not any("--on-hang" in line for line in finding.advice)  # it would happen again
    text = "reader had ended with ValueError: bad row 7 (/app/rows.py:12 in read())"
    assert text in [item.text for item in finding.evidence]
