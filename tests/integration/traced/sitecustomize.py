"""Records in which order each thread of a process calls the functions of Pitstop.

One file for each process, `TRACED_CALLS/PROGRAM-PID.txt`; a line is the thread's name and
`package.module:qualified_name`.  A function that calls itself over and over is written once.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

_PACKAGE = f"{os.sep}pitstop{os.sep}"
_LONGEST_CALLS = 400_000


class Tracer:
    """The profile function of all threads; each writes a line with one call of the system."""

    def __init__(self, folder: Path) -> None:
        words = [Path(word).name for word in sys.orig_argv[1:] if not word.startswith("-")]
        name = "-".join(words[:2]).replace(os.sep, "_")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = os.open(folder / f"{name}-{os.getpid()}.txt", flags, 0o644)
        self._left = _LONGEST_CALLS

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or self._left <= 0:
            return
        path = frame.f_code.co_filename
        if _PACKAGE not in path or frame.f_code.co_name.startswith("<"):
            return
        self._left -= 1
        module = path.rpartition(_PACKAGE)[2].removesuffix(".py").replace(os.sep, ".")
        thread = threading.current_thread().name
        os.write(self._file, f"{thread} {module}:{frame.f_code.co_qualname}\n".encode())


if folder := os.environ.get("TRACED_CALLS"):
    tracer = Tracer(Path(folder))
    threading.setprofile(tracer)
    sys.setprofile(tracer)
