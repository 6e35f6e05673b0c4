"""The age of a process is the kernel's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pitstop.machine import own_process
from pitstop.machine.own_process import age_ns, heeds, sees_all_pids, start_time_ticks

TICK_NS = 10_000_000
SAY = "from pitstop.machine.own_process import age_ns; print(age_ns())"


def test_it_grows_with_the_clock() -> None:
    first_ns, began_ns = age_ns(), time.monotonic_ns()
    assert 0 <= age_ns() - first_ns <= time.monotonic_ns() - began_ns + TICK_NS


def test_it_is_what_others_see() -> None:
    seen_seconds = time.time() - psutil.Process().create_time()
    assert age_ns() / 1e9 == pytest.approx(seen_seconds, abs=1.0)
    assert start_time_ticks() > 0


def test_a_process_is_younger_than_the_one_that_started_it() -> None:
    began_ns = time.monotonic_ns()
    said = subprocess.run([sys.executable, "-c", SAY], capture_output=True, check=True)
    assert 0 < int(said.stdout) <= time.monotonic_ns() - began_ns + TICK_NS


def test_the_initial_pid_namespace_sees_all(tmp_path: Path) -> None:
    link = tmp_path / "proc/self/ns/pid"
    link.parent.mkdir(parents=True)
    assert not sees_all_pids(tmp_path)
    link.symlink_to("pid:[4026531836]")
    assert sees_all_pids(tmp_path)
    link.unlink()
    link.symlink_to("pid:[4026532000]")
    assert not sees_all_pids(tmp_path)


def test_a_process_heeds_what_it_catches_blocks_or_ignores() -> None:
    catching = "import signal; signal.signal(signal.SIGUSR1, print); "
    blocking = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]); "
    ignoring = "signal.signal(signal.SIGHUP, signal.SIG_IGN); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", catching + blocking + ignoring],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        heeded = [
            each
            for each in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGTERM)
            if heeds(process.pid, each)
        ]
        process.kill()
    assert heeded == [signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP]
    assert heeds(process.pid, signal.SIGTERM)


_NOBODY = 65534


def _sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"], start_new_session=True)


def test_one_that_is_gone_is_passed_over() -> None:
    gone, there = _sleeper(), _sleeper()
    gone.kill()
    gone.wait()
    own_process.send(signal.SIGTERM, [gone.pid, there.pid])
    assert there.wait(10) == -signal.SIGTERM
    own_process.send_to_group(signal.SIGTERM, there.pid)


def _as_nobody(others_pid: int) -> int:
    """Signals a process of another user, and one of its own behind it; 0 when that one heard it."""
    os.setuid(_NOBODY)
    own = _sleeper()
    try:
        own_process.send_to_group(signal.SIGTERM, others_pid)
        own_process.send(signal.SIGTERM, [others_pid, own.pid])
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
