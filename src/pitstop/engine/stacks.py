"""Tells the supervisor what all threads of this process do, when it asks.

The answer is written by a handler in C that needs no lock of the interpreter, so
that it comes also while native code holds on to it.  Forked children inherit it.
"""

import contextlib
import faulthandler
import os
import signal

from pitstop.link.settings import STACKS_SIGNAL


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
        return True
    return False
