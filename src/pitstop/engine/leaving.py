"""How the script is left: by an exception in its main thread, at once from any other."""

import contextlib
import gc
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pitstop.exit_codes import EXIT_REFUSED, EXIT_STOPPED


class LeavesScript(SystemExit):
    """Ends the script; `finally` blocks and `atexit` run, `except Exception` lets it through."""


class TrainingStopped(LeavesScript):
    """Leaves the script at a step boundary after the state was saved."""

    def __init__(self) -> None:
        super().__init__(EXIT_STOPPED)


class Refused(LeavesScript):
    """Leaves the script because what is saved cannot be restored into it; nothing is lost."""

    def __init__(self) -> None:
        super().__init__(EXIT_REFUSED)


@contextmanager
def ending_threads() -> Iterator[None]:
    """What leaves the script in here ends the process, also where a thread trains."""
    try:
        yield
    except LeavesScript as leaves:
        if threading.current_thread() is not threading.main_thread():
            end_process(leaves)
        raise


def end_process(leaves: LeavesScript) -> None:
    flush_all(lambda kind: issubclass(kind, io.IOBase))
    os._exit(int(leaves.code or 0))


def flush_all(is_file: Callable[[type], bool]) -> None:
    # Some hundred thousand objects, of a few thousand classes, which are slow to ask.
    objects = gc.get_objects()
    kinds = set(filter(is_file, set(map(type, objects))))
    flush_output(*(each for each in objects if type(each) in kinds))


def flush_output(*files: Any) -> None:
    for stream in (sys.stdout, sys.stderr, *files):
        # Of any class, closed or broken.
        with contextlib.suppress(Exception):
            stream.flush()
