"""The script's output, held back while it repeats what it has already said."""

import contextlib
import os
import sys
from types import TracebackType

from pitstop.engine.leaving import flush_output


class MutedOutput:
    """Discards stdout and stderr, by descriptor, since libraries print too."""

    def __init__(self) -> None:
        self._kept: dict[int, int] = {}
        self._excepthook = sys.excepthook

    def begin(self) -> None:
        flush_output()
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        for fd in (1, 2):
            with contextlib.suppress(OSError):  # the script may have closed it
                self._kept[fd] = os.dup(fd)
                os.dup2(nowhere, fd)
        os.close(nowhere)
        self._excepthook = sys.excepthook
        sys.excepthook = self._show

    def end(self) -> None:
        if not self._kept:
            return
        flush_output()
        for fd, kept in self._kept.items():
            os.dup2(kept, fd)
            os.close(kept)
        self._kept.clear()
        if sys.excepthook == self._show:
            sys.excepthook = self._excepthook

    def _show(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self.end()
        self._excepthook(kind, error, trace)
