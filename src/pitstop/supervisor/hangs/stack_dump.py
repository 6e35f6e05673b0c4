"""The stacks of the processes of a run: asked for, and read as `faulthandler` formats them."""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pitstop.link.settings import STACKS_SIGNAL
from pitstop.machine.own_process import catches
from pitstop.record import Frozen
from pitstop.supervisor.processes import family

_HEAD = re.compile(r"^(?:Current thread|Thread) 0x(?P<id>[0-9a-f]+) .*most recent call first")
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.+)$')
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python3|^<|__autograph_generated"
    r"|/pitstop/(?:engine|inject|keras|link|loop|replay|snapshot|tensorflow)/"
)
_MOST_PROCESSES = 4
_TURNS = 3  # that the trainer has for its answer
_NO_STACKS = "the Python stacks of the trainer (it does not answer)"
_NO_FILE = "the Python stacks of the trainer (the disk cannot be written)"


class StackFrame(Frozen):
    """One call: the source file, its line (0 when not known), and the function."""

    file: str
    line: int
    function: str

    @property
    def is_users(self) -> bool:
        return not _LIBRARY.search(self.file)

    def is_in(self, path_parts: Iterable[str]) -> bool:
        return any(part in self.file for part in path_parts)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}()"


class Stack(Frozen):
    """The calls of one thread, innermost first."""

    frames: tuple[StackFrame, ...]

    def has(self, *path_parts: str) -> bool:
        return any(frame.is_in(path_parts) for frame in self.frames)

    @property
    def users_frame(self) -> StackFrame | None:
        return next((frame for frame in self.frames if frame.is_users), None)


def parse(text: str) -> tuple[Stack, ...]:
    """The stacks of a dump, the main thread's first: `faulthandler` writes the youngest first."""
    stacks: list[list[StackFrame]] = []
    for line in text.splitlines():
        if _HEAD.match(line):
            stacks.append([])
        elif stacks and (match := _FRAME.match(line)):
            number = int(match["line"]) if match["line"].isdecimal() else 0
            stacks[-1].append(StackFrame(match["file"], number, match["function"]))
    return tuple(Stack(tuple(frames)) for frames in reversed(stacks))


class StackAnswer(Frozen):
    """Stacks of the trainer's threads, the main one first; the file of all; what is `missing`."""

    stacks: tuple[Stack, ...] = ()
    file: str = ""
    missing: tuple[str, ...] = ()


class StackRequest:
    """A question that takes a few turns: a process is given the time to its next one.

    The trainer is asked by `request` first, which is safe; by the signal only where it does not
    answer, because native code holds the lock of the interpreter.
    """

    def __init__(self, file: Path, request: Callable[[], None]) -> None:
        self._file = file
        self._request = request
        self._turns = 0
        self._asked_at = 0
        self._waiting: list[int] | None = None
        self._of_trainer = (0, 0)
        self._missing: list[str] = []

    def ask(self, trainer_pid: int, pids: Sequence[int], title: str) -> StackAnswer | None:
        """Continues to ask, the trainer first; returns the answer once all were asked."""
        if self._waiting is None:
            others = [pid for pid in pids if pid != trainer_pid]
            self._waiting = others[: _MOST_PROCESSES - 1]
            self._missing = []
            self._turns = 0
            start = self._size()
            self._put(trainer_pid, title, of_trainer=True)
            self._of_trainer = (start, 0)
            return None
        if self._turns and self._size() == self._asked_at:
            self._turns -= 1
            if not self._turns:
                _signal(trainer_pid)
            return None
        if not self._of_trainer[1]:
            self._of_trainer = (self._of_trainer[0], self._size())
        if self._waiting:
            self._put(self._waiting.pop(0), title)
            return None
        self._waiting = None
        return self._answer()

    def withdraw(self) -> None:
        self._waiting = None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if not self._size():
                self._file.unlink()

    def _put(self, pid: int, title: str, *, of_trainer: bool = False) -> None:
        if not catches(pid, STACKS_SIGNAL):
            if of_trainer:
                self._missing.append(_NO_STACKS)
            return
        command = family.command_of(pid)
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"== process {pid} ({command}): {title}\n\n")
        except OSError:
            self._missing.append(_NO_FILE)
            return
        if of_trainer:
            self._asked_at, self._turns = self._size(), _TURNS
            self._request()
        else:
            _signal(pid)

    def _answer(self) -> StackAnswer:
        start, end = self._of_trainer
        try:
            with self._file.open("rb") as file:
                file.seek(start)
                text = file.read(end - start).decode(errors="replace")
        except OSError:
            text = ""
        stacks = parse(text)
        name = "/".join(self._file.parts[-3:]) if self._size() else ""
        return StackAnswer(stacks, name, tuple(self._missing))

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except OSError:
            return 0


def _signal(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, STACKS_SIGNAL)
