"""Verdicts and exit codes."""

from __future__ import annotations

import pytest

from pitstop.link.beacon import Beacon, Phase
from pitstop.machine.signalling import signal_name
from pitstop.supervisor.lifecycle.ending import AttemptEnding, decide, trainer_exited
from pitstop.supervisor.lifecycle.table import Trigger

_CODE_3, _KILLED = 3 << 8, 9


@pytest.mark.parametrize(
    ("wait_status", "stop", "script_ended", "trainer_stopped", "signal", "code"),
    [
        (0, False, True, False, Trigger.ENDED_COMPLETED, 0),
        (0, False, False, False, Trigger.ENDED_COMPLETED, 0),
        (_CODE_3, False, False, False, Trigger.ENDED_FAILED, 3),
        (_KILLED, False, False, False, Trigger.ENDED_FAILED, 137),
        (75 << 8, True, True, True, Trigger.ENDED_STOPPED, 75),
        (_KILLED, True, False, False, Trigger.ENDED_STOPPED, 75),
        (_CODE_3, True, True, False, Trigger.ENDED_STOPPED, 75),
        (0, True, False, False, Trigger.ENDED_STOPPED, 75),
        # It trained to its end while the request was on its way.
        (0, True, True, False, Trigger.ENDED_COMPLETED, 0),
        # It obeyed, and turned the exit into a success.
        (0, True, True, True, Trigger.ENDED_STOPPED, 75),
    ],
)
def test_verdicts(
    wait_status: int,
    stop: bool,
    script_ended: bool,
    trainer_stopped: bool,
    signal: Trigger,
    code: int,
) -> None:
    ending = AttemptEnding(wait_status, stop, script_ended, trainer_stopped)
    verdict = decide(ending)
    assert (verdict.signal, verdict.exit_code) == (signal, code)


@pytest.mark.parametrize(("wait_status", "code"), [(0, 0), (_CODE_3, 3), (_KILLED, 137)])
def test_a_stop_of_what_is_not_saved_leaves_the_exit_code_as_it_is(
    wait_status: int, code: int
) -> None:
    verdict = decide(AttemptEnding(wait_status, True, False, False, saves_nothing=True))
    assert (verdict.signal, verdict.exit_code) == (Trigger.ENDED_STOPPED, code)


def test_exit_code_and_signal_exclude_each_other() -> None:
    killed = AttemptEnding(_KILLED, False, False, False)
    exited = AttemptEnding(_CODE_3, False, False, False)
    assert (killed.exit_code, killed.signal_name) == (None, "SIGKILL")
    assert (exited.exit_code, exited.signal_name) == (3, "")


def test_signal_without_a_name() -> None:
    assert signal_name(41) == "SIG41"


def test_trainer_exited_tells_where_it_was() -> None:
    beacon = Beacon.create()
    beacon.write_position(12, 1, 2, 1_000_000_000, 0.5)
    beacon.write_phase(Phase.VALIDATION)
    machine = {"oom_kills": 1, "missing": ["the kernel log"]}
    event = trainer_exited(
        AttemptEnding(_KILLED, False, False, False), beacon.progress(), machine, 3_500_000_000
    )
    assert (event.step, event.epoch, event.phase) == (12, 1, "validation")
    assert event.seconds_since_boundary == 2.5
    assert (event.oom_kills, event.missing) == (1, ["the kernel log"])


def test_trainer_that_never_took_a_step_has_no_boundary() -> None:
    progress = Beacon.create().progress()
    event = trainer_exited(AttemptEnding(0, False, False, False), progress, {}, 5)
    assert event.seconds_since_boundary is None
