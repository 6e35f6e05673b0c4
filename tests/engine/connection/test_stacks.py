"""Stacks on request, from a process whose main thread can do nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.link.settings import STACKS_SIGNAL
from pitstop.supervisor.hangs.stack_dump import Stack, parse
from tests.integration.supervisor.launch import environment, until

_PROGRAM = """
import ctypes, os, signal, sys, threading
from pitstop.engine.connection import stacks
{before}
print(stacks.answer_in(sys.argv[1]), flush=True)
def stuck():
    {wait}
stuck()
"""
_HOLDS_THE_INTERPRETER = "while True: ctypes.PyDLL(None).usleep(100_000)"
_WAITS_FOR_A_LOCK = "lock = threading.Lock(); lock.acquire(); lock.acquire()"


def _start(file: Path, wait: str, before: str = "") -> tuple[subprocess.Popen[str], str]:
    program = _PROGRAM.format(wait=wait, before=before)
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(file)],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def _stuck(pid: int, file: Path) -> Stack | None:
    """The stack of the main thread, once it has got to where it stays, and is written whole."""
    os.kill(pid, STACKS_SIGNAL)
    for stack in parse(file.read_text()):
        if all(stack.has("<string>", name) for name in ("stuck", "<module>")):
            return stack
    return None


@pytest.mark.parametrize("wait", [_HOLDS_THE_INTERPRETER, _WAITS_FOR_A_LOCK])
def test_the_stack_comes_whatever_the_main_thread_does(tmp_path: Path, wait: str) -> None:
    file = tmp_path / "stacks.txt"
    process, answered = _start(file, wait)
    with process:
        try:
            assert answered == "True"
            stack = until(lambda: _stuck(process.pid, file))
            assert stack.frames[-1].function == "<module>"
            assert process.poll() is None
        finally:
            process.kill()


_BUSY = """
import sys, threading
from pitstop.engine.connection import stacks
stacks.answer_in(sys.argv[1])
def leaf(n): return n if n < 1 else leaf(n - 1)
def rows():
    while True: yield [leaf(3) for _ in range(3)]
def busy():
    for row in rows(): sum(map(lambda each: each + 1, row)); exec("1 + 1")
for _ in range(2): threading.Thread(target=busy, daemon=True).start()
for _ in range(600): stacks.tell()
"""


def test_threads_that_run_meanwhile_do_not_crash_the_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BUSY, str(tmp_path / "stacks.txt")]
    assert subprocess.run(command, env=environment(), check=False).returncode == 0


def test_a_signal_that_the_script_uses_itself_is_left_alone(tmp_path: Path) -> None:
    before = f"signal.signal({STACKS_SIGNAL}, signal.SIG_IGN)"
    process, answered = _start(tmp_path / "stacks.txt", "pass", before)
    with process:
        assert answered == "False"


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    process, answered = _start(tmp_path / "missing" / "stacks.txt", "pass")
    with process:
        assert answered == "False"
    assert process.returncode == 0


_MANY = """
import sys, threading
from pitstop.engine.connection import stacks
stacks.answer_in(sys.argv[1])
over = threading.Event()
for _ in range(120): threading.Thread(target=over.wait, daemon=True).start()
def train(): stacks.tell()
train()
"""


def test_the_main_thread_is_there_beside_more_threads_than_python_writes(tmp_path: Path) -> None:
    file = tmp_path / "stacks.txt"
    subprocess.run([sys.executable, "-c", _MANY, file], env=environment(), check=True)
    first, *others = parse(file.read_text())
    assert [first.has("<string>", name) for name in ("train", "<module>")] == [True, True]
    assert len(others) == 100
