"""The baselines of the fault bench answer as people who use them do."""

from __future__ import annotations

from benchmarks.faults.baselines import UNKNOWN, exit_code, grep, last_exception
from benchmarks.faults.run import Run

_CAUGHT = "Traceback (most recent call last):\nMemoryError: too much\ngoing on\n"


def _run(code: int | None, log: str = "") -> Run:
    return Run("13-memory-limit", "plain", code, log, seconds=1.0)


def test_the_exit_code_takes_every_sigkill_for_memory() -> None:
    assert "host_oom_killed" in exit_code(_run(137))
    assert exit_code(_run(0)) == {"completed_normally"}
    assert exit_code(_run(3)) == {"user_code_error", "callback_error"}
    assert exit_code(_run(None)) == UNKNOWN


def test_the_last_exception_is_taken_from_the_log() -> None:
    log = f"{_CAUGHT}Traceback:\ntensorflow.python.framework.errors_impl.DataLossError: corrupted"
    assert last_exception(_run(1, log)) == {"data_error"}
    assert last_exception(_run(1, "x\nmine.CustomError: y")) == {
        "user_code_error",
        "callback_error",
    }
    assert last_exception(_run(137, "epoch 1")) == UNKNOWN


def test_words_are_believed_wherever_they_stand() -> None:
    assert "host_oom_killed" in grep(_run(0, _CAUGHT))
    assert grep(_run(0, "epoch 1\ndone")) == {"completed_normally"}
    assert grep(_run(1, "OSError: No space left on device")) == {"disk_full"}
