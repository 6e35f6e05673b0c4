"""The stacks that a trainer wrote down, as `faulthandler` formats them.  Pure."""

from __future__ import annotations

import re

from pitstop.record import record

_HEAD = re.compile(r"^(?:Current thread|Thread) 0x(?P<id>[0-9a-f]+) .*most recent call first")
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.+)$')
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python3|^<|__autograph_generated"
    r"|/pitstop/(?:engine|inject|keras|link|loop|replay|snapshot|tensorflow)/"
)


@record
class StackFrame:
    """One call: the source file, its line (0 when not known), and the function."""

    file: str
    line: int
    function: str

    @property
    def is_users(self) -> bool:
        """Whether it is code of the user's own, no library's."""
        return not _LIBRARY.search(self.file)

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}()"


@record
class Stack:
    """The calls of one thread, innermost first."""

    frames: tuple[StackFrame, ...]

    def has(self, path_part: str, function: str = "") -> bool:
        """Whether a call of this function, or of any, is in a file with this in its path."""
        return any(
            path_part in frame.file and function in ("", frame.function) for frame in self.frames
        )

    @property
    def users_frame(self) -> StackFrame | None:
        return next((frame for frame in self.frames if frame.is_users), None)


def parse(text: str) -> tuple[Stack, ...]:
    """The stacks of a dump, the main thread's first.

    `faulthandler` writes the threads from the youngest to the oldest.
    """
    stacks: list[list[StackFrame]] = []
    for line in text.splitlines():
        if _HEAD.match(line):
            stacks.append([])
        elif stacks and (match := _FRAME.match(line)):
            number = int(match["line"]) if match["line"].isdecimal() else 0
            stacks[-1].append(StackFrame(match["file"], number, match["function"]))
    return tuple(Stack(tuple(frames)) for frames in reversed(stacks))
