"""SIGKILL: memory kills need proof, everything else names no author."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.events import (
    DRILLED,
    AttemptStarted,
    BatchDivided,
    CheckpointCommitted,
    ExitCalled,
    FitStarted,
    Notice,
    StopRequested,
)
from pitstop.observation.observer import OTHER_PID_NUMBERS
from tests.diagnosis.attempts import (
    CONNECTED,
    OOM_LINES,
    STARTED,
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
    stopped,
)

NUMBERED_ELSEWHERE = [line.replace("4225", "99") for line in OOM_LINES]

POOL = "A process in the process pool was terminated abruptly while the future was running."
CHILD = "Command '['convert', 'a.png']' died with <Signals.{}>."

CASES: list[Case] = [
    (
        "a process that the script had started was killed for memory",
        failed(
            raised("subprocess.CalledProcessError", CHILD.format("SIGKILL: 9")),
            exited(1, oom_kills=1, kernel_lines=NUMBERED_ELSEWHERE),
        ),
        "host_oom_killed",
    ),
    (
        "a process that the script had started was killed",
        failed(raised("subprocess.CalledProcessError", CHILD.format("SIGKILL: 9")), exited(1)),
        "killed_from_outside",
    ),
    (
        "a process that the script had started crashed",
        failed(raised("subprocess.CalledProcessError", CHILD.format("SIGSEGV: 11")), exited(1)),
        "native_crash",
    ),
    (
        "a process that the script had started failed, another was killed for memory",
        failed(
            raised("subprocess.CalledProcessError", "returned non-zero exit status 2."),
            exited(1, oom_kills=1, kernel_lines=NUMBERED_ELSEWHERE),
        ),
        "user_code_error",
    ),
    (
        "a worker of a process pool was killed for memory",
        failed(
            raised("concurrent.futures.process.BrokenProcessPool", POOL),
            exited(1, oom_kills=1, kernel_lines=NUMBERED_ELSEWHERE),
        ),
        "host_oom_killed",
    ),
    (
        "a worker of a process pool died of something else",
        failed(raised("concurrent.futures.process.BrokenProcessPool", POOL), exited(1)),
        "worker_lost",
    ),
    (
        "kernel line names the trainer",
        failed(killed(oom_kills=1, kernel_lines=OOM_LINES)),
        "host_oom_killed",
    ),
    ("kill -9, no memory kill counted", failed(killed()), "killed_from_outside"),
    (
        "kill -9, nothing observable",
        failed(killed(oom_kills=None, kernel_lines=None)),
        "killed_from_outside",
    ),
    (
        "counter only, log unreadable",
        failed(killed(oom_kills=1, kernel_lines=None)),
        "host_oom_killed",
    ),
    (
        "another process of the cgroup was killed for memory, then kill -9",
        failed(killed(oom_kills=1, kernel_lines=NUMBERED_ELSEWHERE)),
        "killed_from_outside",
    ),
    (
        "the same lines inside a pid namespace",
        failed(killed(oom_kills=1, kernel_lines=NUMBERED_ELSEWHERE, missing=[OTHER_PID_NUMBERS])),
        "host_oom_killed",
    ),
    (
        "a worker was killed for memory, the user stopped the hang",
        stopped(StopRequested("command", "graceful"), exited(75, oom_kills=1, kernel_lines=None)),
        "stop_requested",
    ),
    ("137 of a shell without memory kill", failed(exited(137)), "killed_from_outside"),
    (
        "137 of a shell, kernel names its child",
        attempt_of(
            STARTED,
            exited(137, oom_kills=1, kernel_lines=NUMBERED_ELSEWHERE),
            state="failed",
        ),
        "host_oom_killed",
    ),
    (
        "a daemonized trainer killed for memory",
        completed(exited(0, oom_kills=1, kernel_lines=OOM_LINES)),
        "host_oom_killed",
    ),
    (
        "supervisor killed, persister saved the rest",
        attempt_of(
            STARTED,
            CONNECTED,
            StopRequested("supervisor_lost", "graceful"),
            CheckpointCommitted(47, 2, "c/47", 10, 0.1, "supervisor_lost"),
        ),
        "killed_from_outside",
    ),
    (
        "a member that was suspended, and that its launch ended",
        attempt_of(STARTED, CONNECTED, Notice("member_suspended", "It was suspended.")),
        "hang_or_stall",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_what_could_not_be_observed_is_said() -> None:
    blind = killed(oom_kills=None, kernel_lines=None, missing=["the kernel log"])
    finding = finding_of(failed(blind))
    assert finding.confidence <= 0.6
    assert "the kernel log" in finding.missing
    assert any("dmesg" in line for line in finding.advice)


def test_no_author_is_guessed() -> None:
    finding = finding_of(failed(killed()))
    assert "who sent SIGKILL" in finding.missing
    assert finding.summary.endswith("with SIGKILL; no memory kill was counted.")


def test_a_memory_kill_quotes_the_kernel_and_names_the_limit() -> None:
    ended = killed(oom_kills=1, kernel_lines=OOM_LINES, memory_limit_bytes=1_000_000_000)
    finding = finding_of(failed(ended))
    assert [item.text for item in finding.evidence[:2]] == OOM_LINES
    assert "900.0 MB at its peak, a cgroup limit of 1.0 GB" in finding.summary
    assert "1.5 GB" not in finding.advice[0]
    assert "1.5 GB" in finding.advice[1]


@pytest.mark.parametrize(("shuffle_bytes", "is_first"), [(500_000_000, True), (499_999_999, False)])
def test_a_shuffle_that_fills_half_of_the_memory_is_told_first(
    shuffle_bytes: int, is_first: bool
) -> None:
    ended = killed(oom_kills=1, kernel_lines=OOM_LINES, memory_limit_bytes=1_000_000_000)
    fit = FitStarted(0, 1, 10, {}, shuffle_bytes=shuffle_bytes)
    advice = finding_of(failed(fit, ended)).advice
    assert ("buffer of this run takes 500.0 MB" in advice[0]) is is_first
    assert any("Use less host memory" in line for line in advice)


def test_a_peak_beyond_the_limit_of_its_cgroup_is_not_told() -> None:
    ended = killed(oom_kills=1, kernel_lines=OOM_LINES, memory_limit_bytes=800_000_000)
    assert finding_of(failed(ended)).summary.endswith("ran out: a cgroup limit of 800.0 MB.")


def test_a_killed_program_is_told_with_the_line_that_started_it() -> None:
    died = raised("CalledProcessError", "Command 'tar' died with <Signals.SIGKILL: 9>.")
    other = [line.replace("4225", "4999") for line in OOM_LINES]
    finding = finding_of(failed(died, exited(1, oom_kills=1, kernel_lines=other)))
    assert finding.cause == "host_oom_killed"
    assert "train.py:42" in finding.evidence[0].text


def test_a_whole_machine_out_of_memory_gets_other_advice() -> None:
    line = f"Out of memory: Killed process {TRAINER_PID} (python) total-vm:1kB, anon-rss:1kB"
    assert "whole machine" in advice_of(failed(killed(oom_kills=1, kernel_lines=[line])))[0]


def test_a_killed_worker_is_told_beside_the_cause() -> None:
    stop = StopRequested("command", "graceful")
    others = diagnose(stopped(stop, exited(75, oom_kills=1, kernel_lines=None))).others
    assert [other.cause for other in others] == ["host_oom_killed"]


def test_the_pid_that_connected_counts_as_the_trainer() -> None:
    # `sh -c "python train.py; true"`: the shell was started, its child trains.
    shell = AttemptStarted(1, ["sh"], 4200, 4201, "box")
    ended = exited(137, oom_kills=1, kernel_lines=OOM_LINES)
    evidence = attempt_of(shell, CONNECTED, ended, state="failed")
    assert finding_of(evidence).confidence > 0.95


def test_a_step_that_needs_too_much_memory_can_be_computed_in_parts() -> None:
    ended = killed(kernel_lines=OOM_LINES, oom_kills=1)
    for evidence, is_told in (
        (failed(ended), True),
        (failed(BatchDivided("host_oom_killed", 48, 2), ended), False),
        (failed(replace(ended, phase="validation")), False),
    ):
        assert any("--on-oom shrink" in line for line in advice_of(evidence)) is is_told


def test_a_trainer_that_is_killed_in_a_pipe_is_not_unknown() -> None:
    finding = finding_of(failed(exited(0)))
    assert finding.cause == "killed_from_outside"
    assert "pipefail" in finding.advice[0]


def test_a_script_that_kills_itself_is_not_killed_from_outside() -> None:
    call = ExitCalled("os.kill", "SIGKILL", "/app/train.py", 12, "on_epoch_end", "Guard")
    ended = failed(call, killed())
    assert finding_of(ended).cause == "user_code_error"
    assert "os.kill at /app/train.py:12" in finding_of(ended).summary
    assert diagnose(ended).others == ()


def test_a_kill_that_a_drill_asks_for_is_not_the_scripts() -> None:
    finding = finding_of(failed(ExitCalled(DRILLED, "SIGKILL", "", 0, ""), killed()))
    assert finding.cause == "killed_from_outside"
    assert (
        finding.summary
        == "Pitstop killed the trainer with SIGKILL at step 47, as --die-at-step asks."
    )


def test_a_worker_of_a_process_pool_is_no_task_of_a_cluster() -> None:
    finding = finding_of(failed(raised("BrokenProcessPool", POOL), exited(1)))
    assert "cluster" not in finding.summary
    assert "dmesg" in " ".join(finding.advice)
