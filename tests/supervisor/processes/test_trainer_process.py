"""What the end of the main process means."""

from __future__ import annotations

import pytest

from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes.trainer_process import aftermath

_TRAINER, _OTHER = 5, 6


@pytest.mark.parametrize(
    ("wait_status", "trainer_pid", "survivors", "state", "signal"),
    [
        (0, _TRAINER, [], State.RUNNING, Trigger.TRAINER_GONE),
        (9, 0, [], State.ENDING, Trigger.TRAINER_GONE),
        # The training process lives behind a main process that succeeded.
        (0, _TRAINER, [_TRAINER], State.RUNNING, Trigger.DAEMONIZED),
        (0, 0, [_OTHER], State.STARTING, Trigger.DAEMONIZED),
        # The main process was killed beside it: there is only to wait.
        (9, _TRAINER, [_TRAINER], State.RUNNING, None),
        # It is asked to stop and may still reach a boundary.
        (0, _TRAINER, [_TRAINER], State.STOPPING, None),
        (0, _TRAINER, [_OTHER], State.RUNNING, Trigger.LEFTOVERS),
        (1, 0, [_OTHER], State.STARTING, Trigger.LEFTOVERS),
        (0, 0, [_OTHER], State.STOPPING, Trigger.LEFTOVERS),
        (0, _TRAINER, [_OTHER], State.ENDING, None),
    ],
)
def test_aftermath(
    wait_status: int,
    trainer_pid: int,
    survivors: list[int],
    state: State,
    signal: Trigger | None,
) -> None:
    assert aftermath(wait_status, trainer_pid, survivors, state) is signal
