"""Tells of children of this process that die: data workers, whose pool then waits for ever.

`multiprocessing.Pool` puts another worker in the place of a dead one, but what
it was working on is lost, and who waits for that result waits in vain.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import popen_fork
from typing import Any

from pitstop.engine.fence import observing
from pitstop.events import WorkerDied
from pitstop.machine.signalling import signal_name


class WorkerWatch:
    """Hears of every child whose status `multiprocessing` collects.

    Children that this process ended itself are none to tell of, and so are those that
    returned 0.
    """

    def __init__(self, report: Callable[[WorkerDied], None]) -> None:
        self._report = report
        self._pid = os.getpid()
        self._poll: Any = popen_fork.Popen.poll
        self._send_signal: Any = vars(popen_fork.Popen)["_send_signal"]
        self._ended_by_us: set[int] = set()

    def install(self) -> None:
        """Takes the place of two methods of `multiprocessing`'s handle of a process."""
        watch = self

        def poll(popen: Any, flag: int = os.WNOHANG) -> int | None:
            known = popen.returncode is not None
            code: int | None = watch._poll(popen, flag)
            if code and not known:
                watch.collected(popen.pid, code)
            return code

        def send_signal(popen: Any, number: int) -> None:
            watch._ended_by_us.add(popen.pid)
            watch._send_signal(popen, number)

        handle: Any = popen_fork.Popen
        handle.poll = poll
        handle._send_signal = send_signal

    @observing()
    def collected(self, pid: int, code: int) -> None:
        """A child has ended with this code, negative for a signal."""
        if os.getpid() != self._pid or pid in self._ended_by_us:
            return
        if code < 0:
            self._report(WorkerDied(pid, signal=signal_name(-code)))
        else:
            self._report(WorkerDied(pid, exit_code=code))
