"""What would follow a failure, told before anything has failed.  Pure."""

from __future__ import annotations

from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.restarts.divisions import MOST_PARTS, WANT_OF_MEMORY
from pitstop.supervisor.restarts.restarts import (
    BRAKE,
    FAILED_READ,
    HANG,
    AttemptFailure,
    RestartPolicy,
    decide,
    most_in_a_row,
)

NAN = "nan_loss"
_DATA = "data_error"


def foresee(
    cause: str, policy: RestartPolicy, hang: HangPolicy, rollbacks: int, on_bad_record: str = "fail"
) -> str:
    """What would be done about the first failure of this cause, in words."""
    if cause == NAN and rollbacks:
        return (
            "go back to the last checkpoint with finite weights and skip the batch or lower the "
            f"learning rate, at most {rollbacks} times"
        )
    again = _again(cause, policy)
    if cause == _DATA and policy.most:
        again = f"after `{FAILED_READ}`, {_again(cause, policy, may_pass=True)}; otherwise {again}"
    if cause == _DATA:
        skips = "skip the batches of a tf.data pipeline that cannot be read; if there are many, "
        return f"{skips if on_bad_record == 'skip' else ''}{again}"
    if cause == HANG and hang.action == "warn":
        lost = f"; if a data worker has died, {again}" if hang.replaces_workers else ""
        return f"report where it hangs, and keep waiting{lost}"
    if policy.divides and cause in WANT_OF_MEMORY:
        parts = f"compute each batch in 2, 4, ... {MOST_PARTS} parts"
        if cause != "gpu_oom":
            parts = f"use smaller input buffers, in the same order; then {parts}"
        return f"{parts}; if the step is not what fills the memory, {again}"
    return again


def _again(cause: str, policy: RestartPolicy, *, may_pass: bool = False) -> str:
    failure = AttemptFailure(cause, 0, may_pass)
    if decide([failure], policy, 0.0).wait_seconds is not None:
        return (
            f"restart from the newest snapshot, at most {policy.most} times, until it has failed "
            f"{most_in_a_row(failure)} times in a row without a new step"
        )
    saved = "save the newest snapshot, explain, and end; the same command resumes from there"
    return f"{saved} (use --restarts to restart automatically)" if cause in BRAKE else saved
