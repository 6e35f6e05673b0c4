"""Tells the supervisor what all threads of this process do, when it asks.

`tell` holds the lock of the interpreter, so that no thread changes its frames meanwhile.  The
handler of the signal is in C and needs no lock: it answers while native code holds on to it, and in
forked children.  It may crash a process whose other threads run Python code at that moment.
"""

import contextlib
import faulthandler
import os
import signal

from pitstop.link.settings import STACKS_SIGNAL

_fds: list[int] = []  # of the file that stacks are appended to, at most one


def tell() -> None:
    for fd in _fds:
        faulthandler.dump_traceback(file=fd, all_threads=True)


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
