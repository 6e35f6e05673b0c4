"""How an attempt ended, and the exit code that tells it.  Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pitstop.events import TrainerExited
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.link.beacon import Phase, Progress
from pitstop.machine.signalling import signal_name
from pitstop.record import record
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.records.attempt_state import AttemptState

_UNKNOWN_FAILURE = 1 << 8


@record
class EndVerdict:
    """The final lifecycle event and the exit code of `pitstop run`."""

    signal: Trigger
    exit_code: int


def decide(found: AttemptState, wait_status: int | None) -> EndVerdict:
    """The verdict on a trainer that is gone; `found`: what was known then.

    `wait_status`: of the main process, as `os.wait4` gives it; None when it was no child of ours
    and its status is not on record.

    A stop that was asked for wins over the way the script went down, also when it had to be killed:
    the newest checkpoint stands.  Only a script that ran to its own end while the stop was on its
    way has completed; and what is not saved has its own exit code, since nothing goes on when it is
    run again. A server that was released ends as its leader did.  Where the status is not known,
    the interpreter's normal exit is what there is to go by.
    """
    if found.released is not None and found.ends_as_released:
        completed = found.released.outcome == "completed"
        trigger = Trigger.ENDED_COMPLETED if completed else Trigger.ENDED_STOPPED
        return EndVerdict(trigger, found.released.exit_code)
    if wait_status is None:
        wait_status = 0 if found.script_ended else _UNKNOWN_FAILURE
    code = os.waitstatus_to_exitcode(wait_status)
    by_itself = code == 0 and found.script_ended and not found.trainer_stopped
    own = code if code >= 0 else 128 - code
    if found.stop_requested and not by_itself:
        return EndVerdict(Trigger.ENDED_STOPPED, own if found.saves_nothing else EXIT_STOPPED)
    return EndVerdict(Trigger.ENDED_FAILED if code else Trigger.ENDED_COMPLETED, own)


def trainer_exited(
    wait_status: int | None,
    progress: Progress,
    machine: Mapping[str, Any],
    now_ns: int,
    role: str = "",
) -> TrainerExited:
    """The event of the trainer's end; `machine` has what was observed from outside, by its fields.

    `role`: its part in a cluster, which is its phase where it does not train.
    """
    boundary_ns = progress.boundary_ns
    code = None if wait_status is None else os.waitstatus_to_exitcode(wait_status)
    killed = code is not None and code < 0
    return TrainerExited(
        exit_code=None if killed else code,
        signal=signal_name(-code) if code is not None and killed else "",
        step=progress.step,
        epoch=progress.epoch,
        step_in_epoch=progress.step_in_epoch,
        phase=role if role and progress.phase is Phase.STARTING else progress.phase.name.lower(),
        seconds_since_boundary=(now_ns - boundary_ns) / 1e9 if boundary_ns else None,
        **machine,
    )
