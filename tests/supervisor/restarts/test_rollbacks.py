"""What is done about a number that is not finite, and when it is enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.events import (
    IN_PARTS,
    BatchDivided,
    BuffersReduced,
    DivisionRefused,
    Event,
    ExceptionRaised,
    FitStarted,
    NonFiniteLoss,
    NonFiniteWeights,
    Notice,
    PrecisionReduced,
    Restored,
    RollbackRefused,
    RolledBack,
    TrainerExited,
    WorkerDied,
)
from pitstop.journal import Entry
from pitstop.link.settings import NOT_DIVIDED, Settings
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo, Manifest
from pitstop.supervisor.restarts.rollbacks import (
    WEIGHTS,
    altered,
    decide,
    divide,
    lacked_memory,
    left_out,
)

STEADY = [0.7, 0.69, 0.68, 0.67]
GROWN = [0.7, 8.0, 900.0, 4e7]


def _entry(step: int, *, finite: bool = True, of_fit: bool = True) -> CheckpointEntry:
    info = CheckpointInfo(
        *(step, 0, step, 0, "", 1, "cadence", "exact", 0.0, {}),
        identity={"ordinal": 0} if of_fit else {},
        non_finite=() if finite else ("kernel",),
    )
    return CheckpointEntry(Path(f"{step:08d}"), Manifest(step, info, {}, {}))


def _loss(step: int, recent: Sequence[float] = (), metric: str = "loss") -> NonFiniteLoss:
    last = recent[-1] if recent else None
    return NonFiniteLoss(step, 0, step, metric, "nan", last, list(recent), 0.1)


def _back(decision: RolledBack | RollbackRefused) -> RolledBack:
    assert isinstance(decision, RolledBack)
    return decision


FOUND = [_entry(26, finite=False), _entry(20), _entry(9), _entry(1)]


def test_a_batch_that_is_bad_all_at_once_is_left_out() -> None:
    back = _back(decide(_loss(26, STEADY), [], FOUND, 3))
    assert (back.action, back.step, back.to_step, back.checkpoint) == ("skip", 26, 20, "00000020")
    settings = altered(Settings(), [back], allowed=True)
    assert settings.skip_steps == (26,)
    assert settings.look_to_step == 27
    assert "the batch of step 26 is skipped" in settings.altered


def test_only_states_before_the_step_with_finite_weights_are_gone_back_to() -> None:
    back = _back(decide(_loss(20, STEADY), [], FOUND, 3))
    assert back.checkpoint == "00000009"
    assert _back(decide(_loss(1), [], FOUND, 3)).checkpoint == ""


def test_a_rate_that_is_too_high_is_lowered_from_before_the_losses_grew() -> None:
    back = _back(decide(_loss(22, GROWN), [], FOUND, 3))
    assert (back.action, back.to_step) == ("rate", 9)
    assert back.learning_rate == pytest.approx(0.01)
    assert altered(Settings(), [back], allowed=True).rates == ((9, back.learning_rate),)


def test_a_lower_rate_that_does_not_help_goes_further_back_and_lower() -> None:
    first = _back(decide(_loss(22, GROWN), [], FOUND, 3))
    again = dataclasses.replace(_loss(23, GROWN), learning_rate=0.01)
    second = _back(decide(again, [first], FOUND, 3))
    assert (second.action, second.to_step) == ("rate", 1)
    third = _back(decide(again, [first, second], FOUND, 3))
    assert (third.action, third.checkpoint) == ("rate", "")
    # What is saved on the way has the lower rate already.
    assert altered(Settings(), [first, second], allowed=True).rates == ((1, second.learning_rate),)


def test_gradients_are_clipped_where_lower_rates_did_not_help() -> None:
    grown = dataclasses.replace(_loss(22, GROWN), learning_rate=0.01)
    done: list[RolledBack] = []
    for _ in range(5):
        done.append(_back(decide(grown, done, FOUND, 9)))
    assert [each.action for each in done] == ["rate", "rate", "rate", "clip", "rate"]
    settings = altered(Settings(), done[:4], allowed=True)
    assert settings.clip_norm == 1.0
    # A state of before the lower rate has it now, too.
    assert settings.rates == ((0, done[2].learning_rate),)
    assert settings.altered.endswith(
        "the learning rate is cut to at most 0.001 at step 0; "
        "gradients are clipped to a global norm of 1 from step 0 on"
    )


def test_a_step_that_is_bad_whatever_is_done_is_a_bug() -> None:
    done: list[RolledBack] = []
    for step in (26, 27, 28, 28):
        done.append(_back(decide(_loss(step, STEADY), done, FOUND, 9)))
    assert [each.action for each in done] == ["skip", "skip", "rate", "clip"]
    refused = decide(_loss(28, STEADY), done, FOUND, 9)
    assert isinstance(refused, RollbackRefused)
    assert refused.reason == (
        "the loss is not finite at step 28 again; neither the batch nor the rate is the reason"
    )
    # Another step may have another reason.
    assert _back(decide(_loss(31, STEADY), done, FOUND, 9)).action == "rate"


def test_a_rate_of_a_schedule_is_not_lowered() -> None:
    scheduled = dataclasses.replace(_loss(22, GROWN), is_scheduled=True)
    clip = _back(decide(scheduled, [], FOUND, 3))
    assert (clip.action, clip.to_step, clip.learning_rate) == ("clip", 9, None)
    refused = decide(scheduled, [clip], FOUND, 3)
    assert isinstance(refused, RollbackRefused)
    assert refused.reason == (
        "the learning rate follows a schedule, and clipping the gradients did not help"
    )
    never = dataclasses.replace(scheduled, unclipped="the optimizer clips them already")
    refused = decide(never, [], FOUND, 3)
    assert isinstance(refused, RollbackRefused)
    assert refused.reason.endswith(
        "and its gradients cannot be clipped: the optimizer clips them already"
    )


def test_weights_that_are_found_bad_are_looked_for_then_their_batch_is_left_out() -> None:
    hidden = NonFiniteWeights(26, ["kernel"], 20)
    look = _back(decide(hidden, [], FOUND, 3))
    settings = altered(Settings(), [look], allowed=True)
    assert (look.action, settings.look_to_step) == ("look", 27)
    assert not settings.altered
    assert not settings.skip_steps
    assert isinstance(decide(hidden, [look], FOUND, 3), RollbackRefused)
    skip = _back(decide(_loss(23, metric=WEIGHTS), [look], FOUND, 3))
    assert left_out([look, skip]) == {23}


def test_the_batch_before_takes_the_place_of_a_wrong_guess() -> None:
    wrong = _back(decide(_loss(26, STEADY), [], FOUND, 3))
    right = _back(decide(_loss(25, metric=WEIGHTS), [wrong], FOUND, 3))
    assert left_out([wrong, right]) == {25}


def test_after_two_batches_in_a_row_it_is_the_rate() -> None:
    done: list[RolledBack] = []
    for step in (26, 27):
        done.append(_back(decide(_loss(step, STEADY), done, FOUND, 5)))
    assert [each.action for each in done] == ["skip", "skip"]
    done.append(_back(decide(_loss(28, STEADY), done, FOUND, 5)))
    assert done[-1].action == "rate"
    assert _back(decide(_loss(28, STEADY), done, FOUND, 5)).action == "clip"


def test_batches_that_have_nan_themselves_are_left_out_for_longer() -> None:
    done: list[RolledBack] = []
    for step in range(26, 31):
        done.append(_back(decide(_loss(step, STEADY), done, FOUND, 20, {*range(26, step)})))
    assert {each.action for each in done} == {"skip"}
    of_data = set(range(26, 31))
    for action in ("rate", "clip"):
        done.append(_back(decide(_loss(31, STEADY), done, FOUND, 20, of_data)))
        assert done[-1].action == action
    refused = decide(_loss(31, STEADY), done, FOUND, 20, of_data)
    assert isinstance(refused, RollbackRefused)
    assert refused.reason.startswith("the batch of step 30, which was skipped, has NaN")


def test_loops_of_the_script_are_left_alone() -> None:
    refused = decide(_loss(26), [], [_entry(20, of_fit=False)], 3)
    assert isinstance(refused, RollbackRefused)
    assert "model.fit" in refused.reason


@given(
    st.lists(
        st.tuples(
            st.integers(1, 30),
            st.sampled_from([STEADY, GROWN, []]),
            st.sampled_from(["loss", WEIGHTS, "hidden"]),
        ),
        min_size=9,
        max_size=9,
    ),
    st.integers(1, 8),
)
def test_nothing_goes_back_more_often_than_allowed(
    faults: list[tuple[int, list[float], str]], most: int
) -> None:
    done: list[RolledBack] = []
    for step, recent, metric in faults:
        hidden = NonFiniteWeights(step, ["kernel"], -1)
        bad = hidden if metric == "hidden" else _loss(step, recent, metric)
        decision = decide(bad, done, FOUND, most)
        if isinstance(decision, RolledBack):
            assert decision.to_step < step
            done.append(decision)
    assert len(done) <= most
    assert isinstance(decide(_loss(5), [*done, *done][:most], FOUND, len(done)), RollbackRefused)


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
    assert divide(cause, _journal((_exit(7, phase),))) == BatchDivided(cause, 8, 2)


def test_an_exception_of_a_step_is_halved_though_the_script_has_left_its_training() -> None:
    raised = ExceptionRaised("ResourceExhaustedError", "OOM", "train.py", 3, "", "", "train", "")
    ended = TrainerExited(1, "", 7, 0, 7, "ended", 0.1)
    assert divide("gpu_oom", _journal((raised, ended))) == BatchDivided("gpu_oom", 8, 2)
    later = replace(raised, phase="between_fits")
    assert isinstance(divide("gpu_oom", _journal((later, ended))), DivisionRefused)


def test_a_callback_that_needs_too_much_is_no_step() -> None:
    raised = ExceptionRaised("ResourceExhaustedError", "OOM", "a.py", 3, "", "Plot", "train", "")
    decision = divide("gpu_oom", _journal((raised, TrainerExited(1, "", 7, 0, 7, "ended", 0.1))))
    assert decision == DivisionRefused("memory ran out outside a training step")


def test_the_steps_of_a_custom_loop_stay_whole() -> None:
    loop = _loop((FitStarted(0, 3, None, {"adapter": "custom loop"}), _exit(7)))
    decision = divide("gpu_oom", loop)
    assert isinstance(decision, DivisionRefused)
    assert "custom loop" in decision.reason
    in_parts = FitStarted(0, 3, None, {"adapter": "custom loop", IN_PARTS: True})
    assert divide("gpu_oom", _loop((in_parts, _exit(7)))) == BatchDivided("gpu_oom", 8, 2)
    lowered = divide("gpu_oom", loop, lowers_precision=True)
    assert lowered == PrecisionReduced("gpu_oom", 8, "mixed_bfloat16")


def test_each_failure_doubles_the_parts_up_to_an_end() -> None:
    attempts: list[tuple[Event, ...]] = []
    for parts in (2, 4, 8, 16, 32, 64):
        attempts.append((_exit(3),))
        decision = divide("gpu_oom", _journal(*attempts))
        assert decision == BatchDivided("gpu_oom", 4, parts)
        attempts[-1] = (*attempts[-1], decision)
    attempts.append((_exit(3),))
    assert isinstance(divide("gpu_oom", _journal(*attempts)), DivisionRefused)


def test_a_buffer_that_is_kept_is_named_where_parts_do_not_help() -> None:
    shuffles = FitStarted(0, 3, 100, {"pipeline": "TensorSlice > Shuffle 4000 > Batch 4"})
    attempts = _journal((BatchDivided("host_oom_killed", 1, 64),), (shuffles, _exit(0)))
    refused = divide("host_oom_killed", attempts)
    assert isinstance(refused, DivisionRefused)
    assert refused.reason.startswith("even 1/64")
    assert refused.reason.endswith("Shuffle 4000 keeps its buffer, to keep the order")


def test_a_buffer_that_is_larger_than_the_memory_is_named_first() -> None:
    pipeline = "TensorSlice > Shuffle 4000 > Batch 4 > Prefetch"
    reads = ["prefetch(buffer_size=9)"]
    shuffles = FitStarted(0, 3, 100, {"pipeline": pipeline}, reads, shuffle_bytes=1_000_000_000)
    ended = replace(_exit(0, "first_step"), memory_limit_bytes=1_000_000_000)
    assert divide("host_oom_killed", _journal((shuffles, ended))) == DivisionRefused(
        "Shuffle 4000 fills 1,000 MB, and the memory limit is 1,000 MB; a smaller buffer_size of "
        "shuffle() is what helps"
    )
    for other in (
        replace(ended, memory_limit_bytes=1_000_000_001),
        replace(ended, memory_limit_bytes=None),
    ):
        assert isinstance(divide("host_oom_killed", _journal((shuffles, other))), BuffersReduced)
    assert divide("gpu_oom", _journal((shuffles, ended))) == BatchDivided("gpu_oom", 1, 2)


def test_that_the_batch_is_not_the_reason_holds_for_later_attempts() -> None:
    """Each begins at a step of its own, and may run out of memory sooner."""
    kept = DivisionRefused("memory use grew for 51 steps: the batch is not the reason")
    limited = replace(_exit(51), memory_limit_bytes=1000)
    before = (limited, kept)
    again = replace(_exit(3), memory_limit_bytes=1000)
    assert divide("host_oom_killed", _journal(before, (again,))) == kept
    raised = replace(again, memory_limit_bytes=1001)
    assert isinstance(divide("host_oom_killed", _journal(before, (raised,))), BatchDivided)
    assert isinstance(divide("gpu_oom", _journal(before, (again,))), BatchDivided)
    other = DivisionRefused("memory ran out outside a training step")
    assert isinstance(divide("host_oom_killed", _journal((limited, other), (again,))), BatchDivided)


def test_memory_that_grows_is_not_the_batchs() -> None:
    decision = divide("host_oom_killed", _journal((_exit(51),)))
    assert isinstance(decision, DivisionRefused)
    assert "grew for 51 steps" in decision.reason
    shuffles = FitStarted(0, 3, 100, {"pipeline": "TensorSlice > Shuffle 90000 > Batch 32"})
    kept = divide("host_oom_killed", _journal((shuffles, _exit(51))))
    assert isinstance(kept, DivisionRefused)
    assert kept.reason.endswith("Shuffle 90000 keeps its buffer, to keep the order")
    # Counted from where the attempt began.
    resumed = (Restored(1000, 3, 10, "exact", "", 0.1, 0), _exit(1050))
    assert isinstance(divide("host_oom_killed", _journal(resumed)), BatchDivided)
    # An accelerator's memory is not filled by what the script keeps.
    assert isinstance(divide("gpu_oom", _journal((_exit(5000),))), BatchDivided)


def test_memory_that_runs_out_later_each_time_is_not_the_batchs() -> None:
    at = ((26, 2), (29, 4), (31, 8))
    earlier = [(BatchDivided("host_oom_killed", step, parts), _exit(step)) for step, parts in at]
    decision = divide("host_oom_killed", _journal(*earlier, (_exit(32),)))
    assert isinstance(decision, DivisionRefused)
    assert "the batch is not the reason" in decision.reason
    same = [(BatchDivided("host_oom_killed", 26, parts), _exit(25)) for _, parts in at]
    assert isinstance(divide("host_oom_killed", _journal(*same, (_exit(25),))), BatchDivided)


@pytest.mark.parametrize("phase", ["starting", "validation", "between_fits", "saving"])
def test_memory_used_up_outside_of_a_step(phase: str) -> None:
    decision = divide("host_alloc_failure", _journal((_exit(7, phase),)))
    assert isinstance(decision, DivisionRefused)
    assert "outside a training step" in decision.reason


def test_a_step_that_cannot_be_divided_is_not_tried_again() -> None:
    divided = BatchDivided("gpu_oom", 1, 2)
    told = Notice(NOT_DIVIDED, "The batch is not computed in parts.")
    decision = divide("gpu_oom", _journal((_exit(0), divided), (told, _exit(0))))
    assert decision == DivisionRefused("its batches cannot be computed in parts")


@pytest.mark.parametrize(
    ("cause", "now_bytes", "parts"),
    [
        ("host_oom_killed", 1000, 8),
        ("host_oom_killed", 1500, 4),
        ("host_oom_killed", 2001, 2),
        ("host_oom_killed", None, 2),
        ("gpu_oom", None, 8),
    ],
)
def test_a_division_holds_until_the_memory_limit_is_raised(
    cause: str, now_bytes: int | None, parts: int
) -> None:
    def failed(limit_bytes: int | None) -> TrainerExited:
        return dataclasses.replace(_exit(7), memory_limit_bytes=limit_bytes)

    two = (failed(2000), BatchDivided(cause, 8, 2))
    four = (failed(1000), BatchDivided(cause, 8, 4))
    assert divide(cause, _journal(two, four, (failed(now_bytes),))) == BatchDivided(cause, 8, parts)


def test_only_the_last_attempt_counts() -> None:
    told = Notice(NOT_DIVIDED, "Of another model.")
    assert isinstance(divide("gpu_oom", _journal((told, _exit(0)), (_exit(4),))), BatchDivided)


_FIT = FitStarted(0, 3, 100, {}, ["prefetch(buffer_size=500)"])


@pytest.mark.parametrize("phase", ["first_step", "train", "restoring", "validation"])
def test_what_the_input_holds_is_made_smaller_first_and_once(phase: str) -> None:
    attempt = (_FIT, _exit(900, phase))
    reduced = BuffersReduced("host_oom_killed", 901, ["prefetch(buffer_size=500)"])
    assert divide("host_oom_killed", _journal(attempt)) == reduced
    again = divide("host_oom_killed", _journal((*attempt, reduced), (_FIT, _exit(7, "train"))))
    assert again == BatchDivided("host_oom_killed", 8, 2)


def test_a_smaller_dtype_comes_before_the_parts_and_once() -> None:
    lowered = PrecisionReduced("gpu_oom", 4, "mixed_bfloat16")
    assert divide("gpu_oom", _journal((_exit(3),)), lowers_precision=True) == lowered
    again = _journal((_exit(3), lowered), (_exit(3),))
    assert divide("gpu_oom", again, lowers_precision=True) == BatchDivided("gpu_oom", 4, 2)
    outside = divide("gpu_oom", _journal((_exit(3, "validation"),)), lowers_precision=True)
    assert isinstance(outside, DivisionRefused)


def test_buffers_on_the_host_are_not_an_accelerators() -> None:
    assert isinstance(divide("gpu_oom", _journal((_FIT, _exit(3)))), BatchDivided)


def test_a_data_worker_that_was_killed_for_memory_lacked_it() -> None:
    died, ended = WorkerDied(7, "SIGKILL"), replace(_exit(3), oom_kills=1)
    assert lacked_memory("hang_or_stall", _journal((died, ended)))
    assert not lacked_memory("hang_or_stall", _journal((died, _exit(3))))
    assert not lacked_memory("hang_or_stall", _journal((ended,)))
