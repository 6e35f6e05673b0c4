"""Tells the supervisor what all threads of this process do, when it asks.

`tell` holds the lock of the interpreter, so that no thread changes its frames meanwhile.  The
handler of the signal is in C and needs no lock: it answers while native code holds on to it, and in
forked children.  It may crash a process whose other threads run Python code at that moment.
"""

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import types

from pitstop.link.settings import STACKS_SIGNAL

_MOST_THREADS = 100
"""How many `faulthandler` writes, the youngest first (Python/traceback.c)."""

_fds: list[int] = []  # of the file that stacks are appended to, at most one


def tell() -> None:
    frames = sys._current_frames()
    main = threading.main_thread().ident
    for fd in _fds:
        faulthandler.dump_traceback(file=fd, all_threads=True)
        if len(frames) > _MOST_THREADS and main in frames:
            os.write(fd, _stack(main, frames[main]).encode())


def _stack(thread: int, frame: types.FrameType | None) -> str:
    """The stack of a thread as `faulthandler` writes it."""
    lines = [f"\nThread 0x{thread:016x} (most recent call first):\n"]
    while frame is not None:
        code = frame.f_code
        lines.append(f'  File "{code.co_filename}", line {frame.f_lineno} in {code.co_name}\n')
        frame = frame.f_back
    return "".join(lines)


def answer_in(path: str | os.PathLike[str]) -> bool:
    """From now on the signal appends the stacks of all Python threads to a file.

    False where the script uses the signal itself, or the file cannot be written.
    """
    if signal.getsignal(STACKS_SIGNAL) != signal.SIG_DFL:
        return False
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        # Kept open for the life of the process: the handler can open nothing.
        fd = os.open(path, flags, 0o644)
        faulthandler.register(STACKS_SIGNAL, file=fd, all_threads=True, chain=False)
        _fds[:] = [fd]
        return True
    return False
