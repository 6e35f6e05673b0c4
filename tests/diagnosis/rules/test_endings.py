"""Ends that were asked for, next to those that only look like it."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.events import (
    LOOPS,
    AttemptStarted,
    FitEnded,
    FitRestored,
    FitStarted,
    LevelKnown,
    ScriptEnded,
    StopDeadlinePassed,
    StopRequested,
    ThreadFailed,
)
from tests.diagnosis.attempts import (
    FINISHED,
    STARTED,
    STOPPED_CLEANLY,
    Case,
    advice_of,
    as_parameters,
    attempt_of,
    check,
    completed,
    epoch,
    exited,
    failed,
    finding_of,
    fit_ended,
    killed,
    raised,
    stop_by_signal,
    stopped,
)

_TIME = "9.0 s left of 3h50m (--max-time), and stopping needs up to 9.5 s"

CASES: list[Case] = [
    ("all epochs done", completed(epoch(4), *FINISHED), "completed_normally"),
    (
        "exit 0 without fit",
        attempt_of(STARTED, ScriptEnded(0), exited(0), state="completed"),
        "completed_normally",
    ),
    (
        "natural end of a dataset of unknown length",
        completed(epoch(0, 15, None), epoch(1, 15, None), *FINISHED),
        "completed_normally",
    ),
    (
        "every fit was finished by an earlier attempt",
        completed(FitRestored(0, 100, 5, 0.1), ScriptEnded(100), exited(0)),
        "completed_normally",
    ),
    (
        "stop came too late",
        completed(StopRequested("command", "graceful"), *FINISHED),
        "completed_normally",
    ),
    ("an exception caught after fit", completed(ScriptEnded(47), exited(0)), "completed_normally"),
    ("os._exit(0) in fit", completed(exited(0)), "completed_normally"),
    ("sys.exit(3)", failed(ScriptEnded(47), exited(3)), "user_code_error"),
    (
        "pitstop stop",
        stopped(StopRequested("command", "graceful"), *STOPPED_CLEANLY),
        "stop_requested",
    ),
    (
        "pitstop run --halt-at-step",
        stopped(StopRequested("setting", "graceful"), *STOPPED_CLEANLY),
        "stop_requested",
    ),
    (
        "a file in the run folder",
        stopped(StopRequested("file", "graceful"), *STOPPED_CLEANLY),
        "stop_requested",
    ),
    (
        "pitstop.request_stop",
        stopped(StopRequested("script", "graceful"), *STOPPED_CLEANLY),
        "stop_requested",
    ),
    (
        "pitstop run --max-time",
        stopped(StopRequested("time_limit", "graceful", reason=_TIME), *STOPPED_CLEANLY),
        "time_limit",
    ),
    (
        "SIGUSR1 by somebody",
        stopped(stop_by_signal("SIGUSR1", sender_pid=812), *STOPPED_CLEANLY),
        "stop_requested",
    ),
    (
        "SIGUSR1 by Slurm",
        stopped(
            stop_by_signal("SIGUSR1", sender_pid=812, sender_command="slurmstepd: [7.batch]"),
            *STOPPED_CLEANLY,
        ),
        "time_limit",
    ),
    ("SIGUSR1 to the trainer", failed(killed("SIGUSR1")), "preempted_or_terminated"),
    (
        "stop had to be forced",
        stopped(
            StopRequested("command", "graceful"),
            StopDeadlinePassed(20.0, "validation", "no boundary"),
            killed(),
        ),
        "stop_requested",
    ),
    (
        "Ctrl-C",
        stopped(stop_by_signal("SIGINT", from_terminal=True), *STOPPED_CLEANLY),
        "user_interrupt",
    ),
    (
        "KeyboardInterrupt in the script",
        failed(raised("KeyboardInterrupt"), killed("SIGINT")),
        "user_interrupt",
    ),
    ("SIGINT to the trainer", failed(killed("SIGINT")), "user_interrupt"),
    (
        "SIGTERM to pitstop",
        stopped(stop_by_signal("SIGTERM", sender_pid=1), *STOPPED_CLEANLY),
        "preempted_or_terminated",
    ),
    ("SIGTERM to the trainer", failed(killed("SIGTERM")), "preempted_or_terminated"),
    ("exit code 143 of a shell", failed(exited(143)), "preempted_or_terminated"),
    (
        "terminal closed",
        stopped(stop_by_signal("SIGHUP"), *STOPPED_CLEANLY),
        "preempted_or_terminated",
    ),
    (
        "timeout(1) around pitstop",
        stopped(
            stop_by_signal("SIGTERM", sender_pid=9, sender_command="timeout 60 pitstop run"),
            *STOPPED_CLEANLY,
        ),
        "time_limit",
    ),
    (
        "timeout(1) inside pitstop",
        attempt_of(
            AttemptStarted(1, ["timeout", "9", "python", "t.py"], 1, 2, "box"),
            exited(124),
            state="failed",
        ),
        "time_limit",
    ),
    ("exit code 124 without timeout", failed(exited(124)), "user_code_error"),
    (
        "Slurm time limit",
        stopped(
            stop_by_signal("SIGTERM"),
            *STOPPED_CLEANLY,
            output="slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01 DUE TO TIME LIMIT",
        ),
        "time_limit",
    ),
    (
        "Slurm preemption",
        stopped(
            stop_by_signal("SIGTERM"),
            *STOPPED_CLEANLY,
            output="slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01 DUE TO PREEMPTION",
        ),
        "preempted_or_terminated",
    ),
    (
        "soft processor limit",
        failed(killed("SIGXCPU", limits={"cpu_seconds": {"soft": 12, "hard": 20}})),
        "time_limit",
    ),
    (
        "hard processor limit",
        failed(killed(limits={"cpu_seconds": {"soft": 12, "hard": 12}})),
        "time_limit",
    ),
    (
        "killed well below the processor limit",
        failed(killed(limits={"cpu_seconds": {"soft": 60, "hard": 60}})),
        "killed_from_outside",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_the_summary_says_where_it_stopped() -> None:
    stop = StopRequested("command", "graceful", sender_uid=1000)
    finding = finding_of(stopped(stop, *STOPPED_CLEANLY))
    assert "step 47 (epoch 3, batch 7)" in finding.summary
    assert any("user id 1000" in item.text for item in finding.evidence)


@pytest.mark.parametrize("source", ["file", "script", "time_limit"])
def test_the_reason_is_passed_on(source: str) -> None:
    stop = StopRequested(source, "graceful", reason=_TIME)
    finding = finding_of(stopped(stop, *STOPPED_CLEANLY))
    assert _TIME in finding.summary
    assert any(_TIME in item.text for item in finding.evidence)


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_of_the_script_s_own_has_steps_and_no_epochs(kind: str) -> None:
    loop = FitStarted(0, 1, 300, {"adapter": kind})
    ended = (STARTED, loop, FitEnded(0, 300, 1, 1), ScriptEnded(300), exited(0))
    finding = finding_of(attempt_of(*ended, state="completed"))
    assert finding.summary == "Training finished: 300 steps."
    assert "the script's loop ended after 300 steps" in [item.text for item in finding.evidence]


def test_a_forced_stop_says_what_was_waited_for() -> None:
    late = StopDeadlinePassed(20.0, "validation", "no step ended (phase: validation)")
    finding = finding_of(stopped(StopRequested("command", "graceful"), late, killed()))
    assert "killed after 20 s: no step ended (phase: validation)." in finding.summary
    assert "by force" in str(finding.evidence)
    saved = finding_of(stopped(StopRequested("command", "graceful"), late, *STOPPED_CLEANLY))
    assert "by force" not in str(saved.evidence)


def test_what_was_printed_before_a_time_limit_without_a_step_is_told() -> None:
    spawned = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 4, in <module>\n    p = mp.Pool(2)\n'
        "RuntimeError: An attempt has been made to start a new process before the current process "
        "has finished its bootstrapping phase.\n"
    )
    stop = stop_by_signal("SIGTERM", sender_command="timeout 60 pitstop run")
    finding = finding_of(attempt_of(STARTED, stop, output=spawned, state="stopped"))
    assert finding.cause == "time_limit"
    assert any("bootstrapping" in item.text for item in finding.evidence)
    assert "__main__" in finding.advice[0]


def test_a_closed_terminal_gets_the_advice_for_it() -> None:
    evidence = stopped(stop_by_signal("SIGHUP"), *STOPPED_CLEANLY)
    assert any("tmux" in line for line in advice_of(evidence))


def test_the_sender_of_a_signal_is_named() -> None:
    stop = stop_by_signal("SIGTERM", sender_pid=812, sender_command="slurmstepd: [7.batch]")
    finding = finding_of(stopped(stop, *STOPPED_CLEANLY))
    assert "`slurmstepd: [7.batch]` (process 812)" in finding.summary
    assert not any("who ended it" in line for line in finding.advice)  # it is told above


def test_a_resumed_fit_counts_the_epochs_of_earlier_attempts() -> None:
    evidence = completed(epoch(4), fit_ended(2), exited(0))
    assert "5 of 5 epochs" in finding_of(evidence).summary


def test_a_script_that_failed_and_did_not_exit_failed_before_it_was_stopped() -> None:
    late = StopDeadlinePassed(30.0, "ended", "the script did not exit after its last line")
    stop = stop_by_signal("SIGTERM", sender_command="timeout 4h pitstop")
    evidence = stopped(raised("ValueError", "boom"), ScriptEnded(47), stop, late, killed())
    assert finding_of(evidence).cause == "user_code_error"
    assert "time_limit" in [other.cause for other in diagnose(evidence).others]


@pytest.mark.parametrize(("last", "is_told"), [(900.0, True), (90.0, False), (0.1, False)])
def test_a_loss_that_grew_is_told_of_a_completed_run(last: float, is_told: bool) -> None:
    losses = (epoch(0, loss=20.0), epoch(1, loss=50.0), epoch(4, loss=last))
    finding = finding_of(completed(*losses, fit_ended(), exited(0)))
    assert finding.cause == "completed_normally"
    assert ("grew from 20 to 900" in finding.summary) is is_told
    assert any("learning rate" in line for line in finding.advice) is is_told


def test_a_training_that_an_earlier_attempt_had_finished_is_told() -> None:
    restored = completed(FitRestored(0, 100, 5, 0.1), ScriptEnded(100), exited(0))
    assert "finished in an earlier attempt: 100 steps" in finding_of(restored).summary


def test_what_a_thread_prints_when_a_stop_closes_its_session_did_not_end_it() -> None:
    output = (
        "Exception in thread QueueRunnerThread:\nTraceback (most recent call last):\n"
        '  File "/app/train.py", line 9, in run\n    enqueue()\n'
        "CancelledError: Step was cancelled by an explicit call to `Session::Close()`.\n"
    )
    stop = stop_by_signal("SIGTERM")
    evidence = attempt_of(STARTED, stop, *STOPPED_CLEANLY, output=output, state="stopped")
    assert diagnose(evidence).others == ()


def test_a_stop_of_which_nobody_knows_who_asked() -> None:
    finding = finding_of(stopped(*STOPPED_CLEANLY))
    assert (finding.cause, finding.confidence) == ("stop_requested", 0.6)
    assert "who asked it to stop" in finding.missing


@pytest.mark.parametrize(
    ("command", "duration"),
    [
        ("timeout 4h pitstop run", "4h"),
        ("/usr/bin/timeout -s INT 2.5h pitstop", "2.5h"),
        ("timeout -k 20 40 pitstop", "40"),
    ],
)
def test_the_time_of_timeout_is_told(command: str, duration: str) -> None:
    stop = stop_by_signal("SIGTERM", sender_pid=7, sender_command=command)
    assert f"more time than `timeout {duration}`" in advice_of(stopped(stop, *STOPPED_CLEANLY))[0]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (f"{'/long' * 20}/python {'/long' * 20}/pitstop launch -- x", "python pitstop launch -- x"),
        ("kill -TERM 7", "kill -TERM 7"),
        ("/sbin/watcher", "watcher"),
    ],
)
def test_who_sent_a_signal_is_told_without_its_folders(command: str, told: str) -> None:
    stop = stop_by_signal("SIGTERM", sender_pid=7, sender_command=command)
    finding = finding_of(stopped(stop, *STOPPED_CLEANLY))
    assert f"by `{told}` (process 7)" in finding.summary


def test_time_that_was_up_before_the_training_asks_what_the_script_waited_for() -> None:
    stop = stop_by_signal("SIGTERM", sender_pid=7, sender_command="timeout 4h pitstop run")
    waiting = attempt_of(STARTED, stop, exited(None, "SIGTERM", step=0), state="stopped")
    assert "waited for" in advice_of(waiting)[0]
    assert not any("waited for" in line for line in advice_of(stopped(stop, *STOPPED_CLEANLY)))


@pytest.mark.parametrize(("last", "is_told"), [(0.50000001, True), (0.4999, False)])
def test_a_loss_that_never_moved_is_told_of_a_completed_run(last: float, is_told: bool) -> None:
    losses = (epoch(0, loss=0.5), epoch(1, loss=0.5), epoch(4, loss=last))
    finding = finding_of(completed(*losses, fit_ended(), exited(0)))
    assert ("the loss was 0.5 in each of them" in finding.summary) is is_told
    assert any("trainable" in line for line in finding.advice) is is_told


def test_a_timer_of_the_script_is_no_unknown_end() -> None:
    finding = finding_of(failed(killed("SIGALRM")))
    assert finding.cause == "time_limit"
    assert "timer that the script had set ran out" in finding.summary


def test_a_thread_that_failed_is_told_of_a_completed_run() -> None:
    thread = ThreadFailed("upload", "ConnectionResetError", "reset", "/app/train.py", 12, "poll")
    finding = finding_of(completed(epoch(0), thread, fit_ended(), exited(0)))
    assert finding.cause == "completed_normally"
    (told,) = (each.text for each in finding.evidence if each.source == "thread")
    assert told.startswith("upload had ended with ConnectionResetError: reset")


def test_a_pipe_whose_reader_ended_is_no_unknown_end() -> None:
    finding = finding_of(failed(killed("SIGPIPE")))
    assert finding.cause == "user_code_error"
    assert "read from a pipe ended first" in finding.summary


@pytest.mark.parametrize(
    ("reason", "is_told"),
    [
        ("--on-nan rollback changed the results: the batch of step 4 is skipped", True),
        ("the pipeline calls Python code", False),
    ],
)
def test_a_training_that_recovery_changed_says_so_at_its_end(reason: str, is_told: bool) -> None:
    found = finding_of(completed(epoch(4), LevelKnown("not_exact", reason), *FINISHED))
    assert (("results", reason) in [(each.source, each.text) for each in found.evidence]) == is_told
