"""Smaller parts of a batch: when they are tried, and when they would not help."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.events import (
    BatchDivided,
    BuffersReduced,
    DivisionRefused,
    Event,
    ExceptionRaised,
    FitStarted,
    Notice,
    PrecisionReduced,
    Restored,
    TrainerExited,
    WorkerDied,
)
from pitstop.journal import Entry
from pitstop.link.settings import NOT_DIVIDED
from pitstop.supervisor.restarts.divisions import decide, lacked_memory


def _exit(step: int, phase: str = "train") -> TrainerExited:
    return TrainerExited(None, "SIGKILL", step, 0, step, phase, 0.1)


def _journal(*attempts: tuple[Event, ...]) -> list[Entry]:
    begun = Entry(0.0, 0, FitStarted(0, 3, 100, {}))
    return [begun, *_loop(*attempts)]


def _loop(*attempts: tuple[Event, ...]) -> list[Entry]:
    return [
        Entry(float(number), number, event)
        for number, events in enumerate(attempts, start=1)
        for event in events
    ]


@pytest.mark.parametrize("cause", ["host_oom_killed", "host_alloc_failure", "gpu_oom"])
@pytest.mark.parametrize("phase", ["first_step", "train", "restoring"])
def test_a_step_that_fails_is_halved(cause: str, phase: str) -> None:
    assert decide(cause, _journal((_exit(7, phase),))) == BatchDivided(cause, 8, 2)


def test_an_exception_of_a_step_is_halved_though_the_script_has_left_its_training() -> None:
    raised = ExceptionRaised("ResourceExhaustedError", "OOM", "train.py", 3, "", "", "train", "")
    ended = TrainerExited(1, "", 7, 0, 7, "ended", 0.1)
    assert decide("gpu_oom", _journal((raised, ended))) == BatchDivided("gpu_oom", 8, 2)
    later = replace(raised, phase="between_fits")
    assert isinstance(decide("gpu_oom", _journal((later, ended))), DivisionRefused)


def test_the_steps_of_a_custom_loop_stay_whole() -> None:
    loop = _loop((FitStarted(0, 3, None, {"adapter": "custom loop"}), _exit(7)))
    decision = decide("gpu_oom", loop)
    assert isinstance(decision, DivisionRefused)
    assert "custom loop" in decision.reason
    lowered = decide("gpu_oom", loop, lowers_precision=True)
    assert lowered == PrecisionReduced("gpu_oom", 8, "mixed_bfloat16")


def test_each_failure_doubles_the_parts_up_to_an_end() -> None:
    attempts: list[tuple[Event, ...]] = []
    for parts in (2, 4, 8, 16, 32, 64):
        attempts.append((_exit(3),))
        decision = decide("gpu_oom", _journal(*attempts))
        assert decision == BatchDivided("gpu_oom", 4, parts)
        attempts[-1] = (*attempts[-1], decision)
    attempts.append((_exit(3),))
    assert isinstance(decide("gpu_oom", _journal(*attempts)), DivisionRefused)


def test_memory_that_grows_is_not_the_batchs() -> None:
    decision = decide("host_oom_killed", _journal((_exit(51),)))
    assert isinstance(decision, DivisionRefused)
    assert "grew for 51 steps" in decision.reason
    shuffles = FitStarted(0, 3, 100, {"pipeline": "TensorSlice > Shuffle 90000 > Batch 32"})
    kept = decide("host_oom_killed", _journal((shuffles, _exit(51))))
    assert isinstance(kept, DivisionRefused)
    assert kept.reason.endswith("Shuffle 90000 keeps its buffer, to keep the order")
    # Counted from where the attempt began.
    resumed = (Restored(1000, 3, 10, "exact", "", 0.1, 0), _exit(1050))
    assert isinstance(decide("host_oom_killed", _journal(resumed)), BatchDivided)
    # An accelerator's memory is not filled by what the script keeps.
    assert isinstance(decide("gpu_oom", _journal((_exit(5000),))), BatchDivided)


@pytest.mark.parametrize("phase", ["starting", "validation", "between_fits", "saving"])
def test_memory_used_up_outside_of_a_step(phase: str) -> None:
    decision = decide("host_alloc_failure", _journal((_exit(7, phase),)))
    assert isinstance(decision, DivisionRefused)
    assert "outside a training step" in decision.reason


def test_a_step_that_cannot_be_divided_is_not_tried_again() -> None:
    divided = BatchDivided("gpu_oom", 1, 2)
    told = Notice(NOT_DIVIDED, "The batch is not computed in parts.")
    decision = decide("gpu_oom", _journal((_exit(0), divided), (told, _exit(0))))
    assert decision == DivisionRefused("its batches cannot be computed in parts")


def test_only_the_last_attempt_counts() -> None:
    told = Notice(NOT_DIVIDED, "Of another model.")
    assert isinstance(decide("gpu_oom", _journal((told, _exit(0)), (_exit(4),))), BatchDivided)


_FIT = FitStarted(0, 3, 100, {}, ["prefetch(buffer_size=500)"])


@pytest.mark.parametrize("phase", ["first_step", "train", "restoring", "validation"])
def test_what_the_input_holds_is_made_smaller_first_and_once(phase: str) -> None:
    attempt = (_FIT, _exit(900, phase))
    reduced = BuffersReduced("host_oom_killed", 901, ["prefetch(buffer_size=500)"])
    assert decide("host_oom_killed", _journal(attempt)) == reduced
    again = decide("host_oom_killed", _journal((*attempt, reduced), (_FIT, _exit(7, "train"))))
    assert again == BatchDivided("host_oom_killed", 8, 2)


def test_a_smaller_dtype_comes_before_the_parts_and_once() -> None:
    lowered = PrecisionReduced("gpu_oom", 4, "mixed_bfloat16")
    assert decide("gpu_oom", _journal((_exit(3),)), lowers_precision=True) == lowered
    again = _journal((_exit(3), lowered), (_exit(3),))
    assert decide("gpu_oom", again, lowers_precision=True) == BatchDivided("gpu_oom", 4, 2)
    outside = decide("gpu_oom", _journal((_exit(3, "validation"),)), lowers_precision=True)
    assert isinstance(outside, DivisionRefused)


def test_buffers_on_the_host_are_not_an_accelerators() -> None:
    assert isinstance(decide("gpu_oom", _journal((_FIT, _exit(3)))), BatchDivided)


def test_a_data_worker_that_was_killed_for_memory_lacked_it() -> None:
    died, ended = WorkerDied(7, "SIGKILL"), replace(_exit(3), oom_kills=1)
    assert lacked_memory("hang_or_stall", _journal((died, ended)))
    assert not lacked_memory("hang_or_stall", _journal((died, _exit(3))))
    assert not lacked_memory("hang_or_stall", _journal((ended,)))
