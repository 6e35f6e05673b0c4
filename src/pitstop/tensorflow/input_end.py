"""The end of an input that a stopped script does not wait for.

An iterator's destructor waits for the threads that read ahead for it (`PrefetchDatasetOp` joins
them), and so for whatever the script's own Python in the pipeline waits for, be it for ever.
"""

from __future__ import annotations

import atexit
import threading

LONGEST_SECONDS = 0.3


class InputEnd:
    """Destroys an iterator, beside the script and with little patience.

    Threads that run Python while the interpreter ends may take the process down with them: an
    input that is quick to end has ended before.
    """

    def __init__(self, iterator: object) -> None:
        """Holds the iterator, so that nobody else destroys it, until `let_go`."""
        self._held = [iterator]
        self._go = threading.Event()
        self._thread = threading.Thread(target=self._destroy, name="pitstop-input", daemon=True)
        self._thread.start()

    def let_go(self, longest_seconds: float = LONGEST_SECONDS) -> bool:
        """Destroys it, if nobody else holds it; whether that took no longer than this."""
        self._go.set()
        self._thread.join(longest_seconds)
        return not self._thread.is_alive()

    def _destroy(self) -> None:
        self._go.wait()
        self._held.clear()


def end_at_exit(iterator: object) -> None:
    """An iterator lives until the interpreter's exit, which does not wait for it long."""
    atexit.register(InputEnd(iterator).let_go)
