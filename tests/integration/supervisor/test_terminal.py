"""`pitstop run` on a real pseudo-terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pitstop.events import StopRequested
from tests.integration.supervisor.launch import (
    PITSTOP,
    TRAINER,
    call,
    environment,
    events,
    last,
    until,
)

_ROWS, _COLUMNS = 24, 100


class Terminal:
    """A terminal with `pitstop run` as its foreground process."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            command = [*PITSTOP, "run", "--run-dir", "run", *(str(word) for word in words)]
            os.execvpe(command[0], command, environment(TERM="xterm"))
        self.resize(_ROWS, _COLUMNS)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def until(self, text: bytes) -> None:
        give_up_at = time.monotonic() + 30
        while text not in self.seen:
            assert time.monotonic() < give_up_at, self.seen
            self.seen += os.read(self.fd, 1 << 16)

    def wait(self) -> int:
        with contextlib.suppress(OSError):  # EIO: the last process closed the terminal
            while data := os.read(self.fd, 1 << 16):
                self.seen += data
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture(autouse=True)
def no_fork_warning() -> Iterator[None]:
    """`pty.fork` warns of threads, of which the child uses none."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def test_control_c_stops_and_the_sender_is_the_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--no-status-line", "--", sys.executable, TRAINER)
    terminal.until(b"step 5\r\n")
    terminal.type(b"\x03")
    assert terminal.wait() == 75
    asked = last(tmp_path, StopRequested)
    assert (asked.signal, asked.from_terminal, asked.sender_pid) == ("SIGINT", True, None)
    assert b"saved at step" in terminal.seen


def test_two_control_c_stop_at_once(tmp_path: Path) -> None:
    words = ["--phase", "VALIDATION", "--deaf"]
    terminal = Terminal(tmp_path, "--no-status-line", "--", sys.executable, TRAINER, *words)
    terminal.until(b"step 5\r\n")
    terminal.type(b"\x03")
    terminal.until(b"press Ctrl-C again")
    terminal.type(b"\x03")
    assert terminal.wait() == 75
    assert [each.urgency for each in events(tmp_path, StopRequested)] == ["graceful", "now"]


def test_script_sees_a_terminal_and_its_bytes_pass_unchanged(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.stdout.isatty(), sys.stderr.isatty(), input())"
    terminal = Terminal(tmp_path, "--no-status-line", "--", sys.executable, "-c", code)
    terminal.type(b"typed\n")
    assert terminal.wait() == 0
    assert b"True True typed\r\n" in terminal.seen
    log = (tmp_path / "run" / "attempts" / "1" / "output.log").read_bytes()
    assert log == b"True True typed\n"


def test_status_line_keeps_the_bottom_row_to_itself(tmp_path: Path) -> None:
    code = "import os; print(os.get_terminal_size(), flush=True); import time; time.sleep(60)"
    terminal = Terminal(tmp_path, "--", sys.executable, "-c", code)
    terminal.until(b"pitstop: starting")
    assert b"\x1b[1;%dr" % (_ROWS - 1) in terminal.seen
    terminal.until(b"lines=%d" % (_ROWS - 1))
    terminal.resize(30, 80)
    terminal.until(b"\x1b[1;29r")
    terminal.type(b"\x03")
    assert terminal.wait() == 75
    assert b"\x1b[1;30r" in terminal.seen.split(b"\x1b[1;29r")[-1]


def test_control_z_stops_the_script_too_and_it_goes_on_later(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "--no-status-line", "--", sys.executable, TRAINER)
    terminal.until(b"step 5\r\n")
    # As job control does it: the shell would own the terminal meanwhile.
    os.kill(terminal.pid, signal.SIGTSTP)
    _, status = os.waitpid(terminal.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    trainer = until(lambda: _stopped_trainer(terminal.pid))
    assert b"suspended" in call(tmp_path, "status", "run").stdout
    os.kill(terminal.pid, signal.SIGCONT)
    until(lambda: trainer.status() != "stopped")
    os.kill(terminal.pid, signal.SIGTSTP)
    os.waitpid(terminal.pid, os.WUNTRACED)
    assert call(tmp_path, "stop", "run").stdout.startswith(b"run is suspended; continuing process")
    assert terminal.wait() == 75


def _stopped_trainer(supervisor_pid: int) -> psutil.Process | None:
    children = psutil.Process(supervisor_pid).children()
    stopped = [each for each in children if each.status() == psutil.STATUS_STOPPED]
    return stopped[0] if stopped else None
