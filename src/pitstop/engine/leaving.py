"""How the script is left: by an exception in its main thread, at once from any other."""

import contextlib
import gc
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
    # Some hundred thousand objects, of a few thousand classes: `IOBase` is slow to ask.
    objects = gc.get_objects()
    files = {kind for kind in {type(each) for each in objects} if issubclass(kind, io.IOBase)}
    flush_output(*(each for each in objects if type(each) in files))
    os._exit(int(leaves.code or 0))


def flush_output(*files: io.IOBase) -> None:
    for stream in (sys.stdout, sys.stderr, *files):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
