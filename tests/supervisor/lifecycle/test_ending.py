"""Verdicts and exit codes."""

from __future__ import annotations

import pytest

from pitstop.events import RoleTaken, ScriptSaved, StopRequested, TrainerConnected
from pitstop.link.beacon import Beacon, Phase
from pitstop.machine.own_process import signal_name
from pitstop.supervisor.attempt.command import EndVerdict, decide, trainer_exited
from pitstop.supervisor.lifecycle.table import Trigger
from pitstop.supervisor.records.attempt_state import AttemptState, left_by, tell
from pitstop.supervisor.records.history import History

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
    found = AttemptState(
        stop_requested=stop, script_ended=script_ended, trainer_stopped=trainer_stopped
    )
    verdict = decide(found, wait_status)
    assert (verdict.signal, verdict.exit_code) == (signal, code)


@pytest.mark.parametrize(("wait_status", "code"), [(0, 0), (_CODE_3, 3), (_KILLED, 137)])
def test_a_stop_of_what_is_not_saved_leaves_the_exit_code_as_it_is(
    wait_status: int, code: int
) -> None:
    verdict = decide(AttemptState(stop_requested=True, uninstrumented=True), wait_status)
    assert (verdict.signal, verdict.exit_code) == (Trigger.ENDED_STOPPED, code)


def test_a_pipe_that_hides_a_failure_does_not_complete_the_run() -> None:
    raised = AttemptState(raised=True, script_ended=True)
    hidden = decide(raised, 0, in_child=True)
    assert (hidden.signal, hidden.exit_code) == (Trigger.ENDED_FAILED, 0)
    killed = AttemptState(trains=True)
    assert decide(killed, 0, in_child=True).signal is Trigger.ENDED_FAILED
    survived = (
        decide(killed, 0),
        decide(raised, 0),
        decide(tell(raised, TrainerConnected(7, "", [], {}), 0.0), 0, in_child=True),
    )
    assert {each.signal for each in survived} == {Trigger.ENDED_COMPLETED}


def test_exit_code_and_signal_exclude_each_other() -> None:
    progress = Beacon.create().progress()
    ends = {_KILLED: (None, "SIGKILL"), _CODE_3: (3, ""), None: (None, "")}
    for wait_status, end in ends.items():
        event = trainer_exited(wait_status, progress, {}, 5)
        assert (event.exit_code, event.signal) == end


def test_signal_without_a_name() -> None:
    assert signal_name(41) == "SIG41"


def test_trainer_exited_tells_where_it_was() -> None:
    beacon = Beacon.create()
    beacon.write_position(12, 1, 2, 1_000_000_000, 0.5)
    beacon.write_phase(Phase.VALIDATION)
    machine = {"oom_kills": 1, "missing": ["the kernel log"]}
    event = trainer_exited(_KILLED, beacon.progress(), machine, 3_500_000_000)
    assert (event.step, event.epoch, event.phase) == (12, 1, "validation")
    assert event.seconds_since_boundary == 2.5
    assert (event.oom_kills, event.missing) == (1, ["the kernel log"])


def test_trainer_that_never_took_a_step_has_no_boundary() -> None:
    progress = Beacon.create().progress()
    event = trainer_exited(0, progress, {}, 5)
    assert event.seconds_since_boundary is None


@pytest.mark.parametrize(("saved", "code"), [(ScriptSaved(74, "model"), 75), (None, 143)])
def test_a_stop_before_a_session_goes_on_loses_no_checkpoint_of_its_script(
    saved: ScriptSaved | None, code: int
) -> None:
    """An earlier attempt has it; in this one, nothing is seen of the session yet."""
    found = left_by(History(script_saved=saved))
    for event in (RoleTaken("member", 7, "worker 0"), StopRequested("command", "graceful")):
        found = tell(found, event, 0.0)
    assert decide(found, 15) == EndVerdict(Trigger.ENDED_STOPPED, code)
