"""Ctrl-C and SIGTERM of a script that is its own launcher."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.engine.session.script_stop import StopSignals
from pitstop.events import StopRequested
from pitstop.link.beacon import Stop
from pitstop.link.settings import Settings
from tests.engine.played_supervisor import Supervisor


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path, Settings())
    yield made
    made.connection.close()
    made.trainer.close()
    made.beacon.close()


def test_a_signal_asks_for_a_stop_and_a_second_interrupt_ends_at_once(
    supervisor: Supervisor,
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals(supervisor.session):
        signal.raise_signal(signal.SIGTERM)  # to this thread: `os.kill` may choose another one
        assert supervisor.beacon.stop() == Stop.GRACEFUL
        assert supervisor.event() == StopRequested("signal", "graceful", signal="SIGTERM")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_forked_worker_is_ended_by_a_signal_and_asks_for_nothing(
    supervisor: Supervisor, number: signal.Signals
) -> None:
    """A pool of data workers ends them so, while the training goes on."""
    with StopSignals(supervisor.session):
        worker = os.fork()
        if worker == 0:
            os.kill(os.getpid(), number)
            os._exit(0)
        _, status = os.waitpid(worker, 0)
    assert os.waitstatus_to_exitcode(status) == -number
    assert supervisor.beacon.stop() == Stop.NONE


def test_a_forked_worker_hears_of_ctrl_c_as_ever(supervisor: Supervisor) -> None:
    with StopSignals(supervisor.session):
        worker = os.fork()
        if worker == 0:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(worker, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert supervisor.beacon.stop() == Stop.NONE
