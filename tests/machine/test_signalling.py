"""Signals to processes, whoever they belong to."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from pitstop.machine import signalling

_NOBODY = 65534


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], start_new_session=True)


def test_one_that_is_gone_is_passed_over() -> None:
    gone, there = _sleeper(), _sleeper()
    gone.kill()
    gone.wait()
    signalling.send(signal.SIGTERM, [gone.pid, there.pid])
    assert there.wait(10) == -signal.SIGTERM
    signalling.send_to_group(signal.SIGTERM, there.pid)


def _as_nobody(others_pid: int) -> int:
    """Signals a process of another user, and one of its own behind it; 0 when that one heard it."""
    os.setuid(_NOBODY)
    own = _sleeper()
    try:
        signalling.send_to_group(signal.SIGTERM, others_pid)
        signalling.send(signal.SIGTERM, [others_pid, own.pid])
        return int(own.wait(10) != -signal.SIGTERM)
    finally:
        own.kill()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_one_of_another_user_is_passed_over() -> None:
    others = _sleeper()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _as_nobody(others.pid)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert others.poll() is None
    others.kill()
    others.wait()
