"""A process that is no child of its supervisor: its end and its status are still known."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pitstop.errors import EnvironmentFault
from pitstop.supervisor.processes.trainer_process import AdoptedProcess

SLEEPS = "import sys; sys.stdin.read(); sys.exit(3)"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", SLEEPS], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_the_status_of_one_that_waits_for_its_parent(child: subprocess.Popen[bytes]) -> None:
    adopted = AdoptedProcess(child.pid)
    assert (adopted.gone, adopted.wait_status) == (False, None)
    assert child.stdin is not None
    child.stdin.close()
    select.select([adopted], [], [], 30)
    adopted.collect()
    assert adopted.gone
    assert adopted.wait_status is not None
    assert os.waitstatus_to_exitcode(adopted.wait_status) == 3
    adopted.close()


def test_being_killed(child: subprocess.Popen[bytes]) -> None:
    adopted = AdoptedProcess(child.pid)
    adopted.kill([])
    assert adopted.killed
    select.select([adopted], [], [], 30)
    child.wait()
    adopted.collect()
    # Collected by its parent: only a kernel of 6.15 or later still knows.
    assert adopted.wait_status in (signal.SIGKILL, None)
    adopted.close()


def test_being_asked_to_end_and_given_time(child: subprocess.Popen[bytes]) -> None:
    adopted = AdoptedProcess(child.pid)
    adopted.terminate([], 3.0)
    assert not adopted.grace_passed
    assert child.wait(30) == -signal.SIGTERM
    adopted.kill([])  # gone already: nothing to do, and no error
    adopted.close()


def test_one_that_is_gone_cannot_be_adopted(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    with pytest.raises(EnvironmentFault, match="cannot be supervised"):
        AdoptedProcess(child.pid)
