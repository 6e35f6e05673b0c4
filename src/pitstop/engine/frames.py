"""Frames of the script among those of libraries and of Pitstop."""

import functools
import os
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from types import CodeType, FrameType, TracebackType
from typing import Any

from pitstop.engine.program import MOST_FILES, STDIN, TEXT, is_installed, is_of_program, is_own_file

_LIBRARIES = tuple(
    path + os.sep
    for key in ("purelib", "platlib", "stdlib", "platstdlib")
    if (path := sysconfig.get_paths().get(key))
)


@functools.lru_cache(maxsize=MOST_FILES)
def is_user_file(filename: str) -> bool:
    if is_own_file(filename):
        return False
    return (
        filename == STDIN
        or is_of_program(filename)
        or not (
            filename.startswith((*_LIBRARIES, "<"))
            or is_installed(filename)
            or "__autograph_generated_file" in filename
            or filename.endswith(".pyx")  # compiled code knows the path of its build only
        )
    )


def is_of_script(code: CodeType, scope: Mapping[str, Any]) -> bool:
    """Also what the script runs from a text: by `exec` or `eval`, or all of it (`python -c`)."""
    if code.co_filename != TEXT:
        return is_user_file(code.co_filename)
    file = scope.get("__file__")
    return is_user_file(str(file)) if file else scope.get("__name__", "__main__") == "__main__"


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, and those that have called it, from the innermost out."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not is_own_file(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    for link, following in zip_longest(kept, kept[1:]):
        link.tb_next = following
    return kept[0] if kept else None


def innermost_user_frame(frames: Iterable[tuple[FrameType, int]]) -> tuple[str, int, str]:
    """File, line and function of the user's last frame, outermost first; empty without one."""
    found = ("", 0, "")
    for frame, line in frames:
        if is_user_file(frame.f_code.co_filename):
            found = (frame.f_code.co_filename, line, frame.f_code.co_name)
    return found


def place_on_stack() -> str:
    file, line, _ = innermost_user_frame(reversed(list(traceback.walk_stack(None))))
    return f"{file}:{line}" if file else "a library"
