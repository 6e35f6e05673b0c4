"""What /proc shows of real processes."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil

from pitstop.flight import processes

_CHILD = (
    "import subprocess, sys\n"
    "grandchild = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
    "print(grandchild.pid, flush=True)\n"
    "input()\n"
)


def test_this_process() -> None:
    found = processes.read(os.getpid(), "trainer")
    other = psutil.Process()
    assert found is not None
    assert (found.pid, found.role, found.state) == (os.getpid(), "trainer", "R")
    assert abs(found.rss_bytes - other.memory_info().rss) < 16 << 20
    assert found.rss_bytes >= found.private_bytes > 0
    assert found.cpu_seconds > 0
    assert found.threads == other.num_threads()
    assert found.open_files is not None
    assert abs(found.open_files - other.num_fds()) <= 2
    assert found.open_files_limit == other.rlimit(psutil.RLIMIT_NOFILE)[0]


def test_memory_that_is_held_is_private() -> None:
    before = processes.read(os.getpid(), "trainer")
    held = bytearray(os.urandom(1 << 20)) * 64
    after = processes.read(os.getpid(), "trainer")
    assert before is not None
    assert after is not None
    assert after.private_bytes - before.private_bytes > len(held) // 2


def test_a_process_that_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert processes.read(child.pid, "child") is None
    assert processes.descendants([child.pid]) == []


def test_descendants_at_every_depth() -> None:
    command = [sys.executable, "-c", _CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        found = processes.descendants([os.getpid()])
        assert {child.pid, grandchild} <= set(found)
        assert os.getpid() not in found
        assert processes.descendants([child.pid]) == [grandchild]
        child.kill()
    psutil.Process(grandchild).wait(10)


def test_roles() -> None:
    known = {1: "supervisor", 2: "trainer", 0: "uploader"}
    assert processes.roles(known, [2, 3]) == {1: "supervisor", 2: "trainer", 3: "child"}
