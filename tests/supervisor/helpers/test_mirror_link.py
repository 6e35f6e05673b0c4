"""The end of an uploader."""

from __future__ import annotations

import os
import select
import signal
import subprocess

import pytest

from pitstop.supervisor.helpers import mirroring


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirroring, "_EXIT_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
def test_an_uploader_that_does_not_end_is_killed() -> None:
    uploader = subprocess.Popen(["sleep", "60"])
    mirroring._end(uploader.pid)
    uploader.returncode = -signal.SIGKILL  # collected there
    with pytest.raises(ProcessLookupError):
        os.kill(uploader.pid, 0)


@pytest.mark.usefixtures("impatient")
def test_a_process_that_has_got_its_number_is_left_alone() -> None:
    """The uploader was collected long ago, and the kernel has given its number away."""
    shell = subprocess.run(
        ["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True
    )
    stranger = int(shell.stdout)
    fd = os.pidfd_open(stranger)
    mirroring._end(stranger)
    ended, _, _ = select.select([fd], [], [], 0.5)
    os.kill(stranger, signal.SIGKILL)
    os.close(fd)
    assert not ended
