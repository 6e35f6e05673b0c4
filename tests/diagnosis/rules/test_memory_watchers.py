"""Kills for memory by programs that watch it, next to signals that only look like it."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Evidence
from tests.diagnosis.attempts import (
    STOPPED_CLEANLY,
    Case,
    as_parameters,
    check,
    exited,
    failed,
    finding_of,
    killed,
    raised,
    stop_by_signal,
    stopped,
)
from tests.diagnosis.flights import growing, steady, with_memory

EARLYOOM = ["earlyoom"]
FULL = steady(30.0, 32.0, 1.0)
HALF_EMPTY = steady(12.0, 32.0, 16.0)


def terminated_by(command: str) -> Evidence:
    stop = stop_by_signal("SIGTERM", sender_pid=812, sender_command=command)
    return stopped(stop, *STOPPED_CLEANLY)


CASES: list[Case] = [
    ("earlyoom asks Pitstop", terminated_by("/usr/bin/earlyoom -r 60"), "host_oom_killed"),
    ("somebody else asks", terminated_by("kill 4200"), "preempted_or_terminated"),
    (
        "a watcher runs, and memory was short",
        with_memory(failed(killed("SIGTERM", memory_watchers=EARLYOOM)), FULL),
        "host_oom_killed",
    ),
    (
        "a watcher runs, and much memory was left",
        with_memory(failed(killed("SIGTERM", memory_watchers=EARLYOOM)), HALF_EMPTY),
        "preempted_or_terminated",
    ),
    (
        "memory was short, and nobody watches",
        with_memory(failed(killed("SIGTERM")), FULL),
        "preempted_or_terminated",
    ),
    (
        "a watcher runs, and nobody looked at the memory",
        failed(killed("SIGTERM", memory_watchers=EARLYOOM)),
        "preempted_or_terminated",
    ),
    (
        "only the cgroup was full, which is no watcher's",
        with_memory(failed(killed(memory_watchers=EARLYOOM)), steady(3.9, 4.0, 0.1, "cgroup")),
        "killed_from_outside",
    ),
    (
        "its own error while memory was short",
        with_memory(failed(raised("KeyError", "x"), exited(1, memory_watchers=EARLYOOM)), FULL),
        "user_code_error",
    ),
    (
        "SIGKILL where the kernel hides all, and memory was gone",
        with_memory(failed(killed(oom_kills=None, kernel_lines=None)), FULL),
        "host_oom_killed",
    ),
    (
        "SIGKILL where the kernel says it was not for memory",
        with_memory(failed(killed()), FULL),
        "killed_from_outside",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_a_guess_is_less_sure_than_what_the_kernel_names() -> None:
    asked = finding_of(terminated_by("/usr/bin/earlyoom -r 60"))
    guessed = finding_of(with_memory(failed(killed(memory_watchers=EARLYOOM)), FULL))
    assert asked.confidence > guessed.confidence
    assert "who sent the signal" in guessed.missing


def test_much_memory_left_makes_a_kill_for_it_unlikely() -> None:
    blind = failed(killed(oom_kills=None, kernel_lines=None))
    seen = with_memory(blind, HALF_EMPTY)
    assert finding_of(seen).cause == finding_of(blind).cause == "killed_from_outside"
    assert finding_of(seen).confidence > finding_of(blind).confidence


def test_a_leak_is_to_be_looked_for() -> None:
    ended = killed(oom_kills=1, kernel_lines=None)
    leak = finding_of(with_memory(failed(ended), growing(3.9, 4.0, 0.1, "cgroup")))
    no_leak = finding_of(with_memory(failed(ended), steady(3.9, 4.0, 0.1, "cgroup")))
    assert "by 3.0 GB a minute at the end" in leak.advice[0]
    assert not any("a minute" in line for line in no_leak.advice)
