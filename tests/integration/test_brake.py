"""Bugs that come back in each attempt: every policy together neither loops nor hides them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pitstop.events import AttemptEnded, RestartRefused, RollbackRefused
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun

ALL = (
    *("--restarts", "9", "--on-nan", "rollback", "--on-oom", "shrink"),
    *("--on-hang", "restart", "--on-bad-record", "skip"),
)

pytestmark = pytest.mark.timeout(600)


def _run(folder: Path, kind: str, interpreter: Interpreter, hang_after: str = "6s") -> KerasRun:
    options = (*ALL, "--hang-after", hang_after)
    return KerasRun(folder, "bugs.py", (kind,), options, interpreter=interpreter)


@pytest.mark.parametrize(
    ("kind", "exit_code", "cause", "attempts"),
    [
        ("kill", 137, "user_code_error", 2),
        *(
            pytest.param(*case, marks=pytest.mark.torture)
            for case in (
                ("at_once", 3, "user_code_error", 1),
                ("exception", 1, "callback_error", 1),
                ("validation", 1, "callback_error", 1),
                ("exit", 75, "user_code_error", 1),
                ("terminate", 143, "preempted_or_terminated", 2),
                ("crash", 139, "native_crash", 2),
                ("hang", 137, "hang_or_stall", 2),
                ("memory_of_callback", 1, "gpu_oom", 2),
            )
        ),
    ],
)
def test_a_bug_ends_soon_with_its_cause(
    tmp_path: Path, forked: Interpreter, kind: str, exit_code: int, cause: str, attempts: int
) -> None:
    run = _run(tmp_path, kind, forked)
    ended = run.attempt()
    assert ended.returncode == exit_code, ended.stderr
    assert len(run.events(AttemptEnded)) == attempts
    assert run.last(RestartRefused).cause == cause
    assert run.why()["cause"] == cause
    times = [entry.time_seconds for entry in run.entries()]
    told = re.search(r" after (?:(\d+) min )?([\d.]+) s", str(ended.stderr).splitlines()[-1])
    assert told
    # Of all attempts, not only of the last one.
    assert int(told[1] or 0) * 60 + float(told[2]) + 1 >= times[-1] - times[0]


@pytest.mark.torture
def test_numbers_that_are_bad_whatever_is_changed(tmp_path: Path, forked: Interpreter) -> None:
    run = _run(tmp_path, "numbers", forked)
    assert run.attempt().returncode == 1
    assert len(run.events(AttemptEnded)) == 5
    assert run.last(RollbackRefused).reason.startswith("the loss is not finite at step 28 again")
    assert run.why()["cause"] == "nan_loss"


@pytest.mark.torture
def test_a_step_that_needs_too_much_in_any_part(tmp_path: Path, forked: Interpreter) -> None:
    # TensorFlow waits ten seconds for memory before it gives up.
    run = _run(tmp_path, "memory", forked, "30s")
    assert run.attempt().returncode == 1
    assert len(run.events(AttemptEnded)) == 7
    assert run.why()["cause"] == "host_alloc_failure"
