"""How an attempt ended, and the exit code that tells it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pitstop.events import MemberReleased, TrainerExited
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.link.beacon import Phase, Progress
from pitstop.machine.signalling import signal_name
from pitstop.record import record
from pitstop.supervisor.lifecycle.table import Trigger

_UNKNOWN_FAILURE = 1 << 8


@record
class AttemptEnding:
    """What is known when the trainer is gone.

    Attributes:
        wait_status: of the main process, as `os.wait4` gives it; None when
            it was no child of ours and its status is not on record.
        script_ended: the interpreter reached its normal exit.
        trainer_stopped: the trainer obeyed the stop request at a boundary.
        saves_nothing: there was nothing that Pitstop could have saved, and that could go on.
        released: it was a server, and the leader of its cluster had it end.
    """

    wait_status: int | None
    stop_requested: bool
    script_ended: bool
    trainer_stopped: bool
    saves_nothing: bool = False
    released: MemberReleased | None = None

    @property
    def exit_code(self) -> int | None:
        """The code that the main process returned; None when a signal ended it, or unknown."""
        code = self._code
        return code if code is not None and code >= 0 else None

    @property
    def signal_name(self) -> str:
        code = self._code
        return signal_name(-code) if code is not None and code < 0 else ""

    @property
    def _code(self) -> int | None:
        return None if self.wait_status is None else os.waitstatus_to_exitcode(self.wait_status)


@record
class EndVerdict:
    """The final lifecycle event and the exit code of `pitstop run`."""

    signal: Trigger
    exit_code: int


def decide(ending: AttemptEnding) -> EndVerdict:
    """The verdict on a trainer that is gone.

    A stop that was asked for wins over the way the script went down, also when it had to be killed:
    the newest checkpoint stands.  Only a script that ran to its own end while the stop was on its
    way has completed; and what is not saved has its own exit code, since nothing goes on when it is
    run again. A server that was released ends as its leader did.  Where the status is not known,
    the interpreter's normal exit is what there is to go by.
    """
    if ending.released is not None:
        completed = ending.released.outcome == "completed"
        trigger = Trigger.ENDED_COMPLETED if completed else Trigger.ENDED_STOPPED
        return EndVerdict(trigger, ending.released.exit_code)
    status = ending.wait_status
    if status is None:
        status = 0 if ending.script_ended else _UNKNOWN_FAILURE
    code = os.waitstatus_to_exitcode(status)
    by_itself = code == 0 and ending.script_ended and not ending.trainer_stopped
    own = code if code >= 0 else 128 - code
    if ending.stop_requested and not by_itself:
        return EndVerdict(Trigger.ENDED_STOPPED, own if ending.saves_nothing else EXIT_STOPPED)
    return EndVerdict(Trigger.ENDED_FAILED if code else Trigger.ENDED_COMPLETED, own)


def trainer_exited(
    ending: AttemptEnding,
    progress: Progress,
    machine: Mapping[str, Any],
    now_ns: int,
    role: str = "",
) -> TrainerExited:
    """The event of the trainer's end; `machine` has what was observed from outside, by its fields.

    `role`: its part in a cluster, which is its phase where it does not train.
    """
    boundary_ns = progress.boundary_ns
    return TrainerExited(
        exit_code=ending.exit_code,
        signal=ending.signal_name,
        step=progress.step,
        epoch=progress.epoch,
        step_in_epoch=progress.step_in_epoch,
        phase=role if role and progress.phase is Phase.STARTING else progress.phase.name.lower(),
        seconds_since_boundary=(now_ns - boundary_ns) / 1e9 if boundary_ns else None,
        **machine,
    )
