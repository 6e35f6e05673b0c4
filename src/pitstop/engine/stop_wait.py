"""Waits, beside a training that is not saved by Pitstop, for the request to end."""

from __future__ import annotations

import threading

from pitstop.engine.cluster_role import serve


class StopWait:
    """Whether the run was asked to stop.

    Attributes:
        exit_code: what the process is to end with; None while nobody asks.  The thread sets it
            once, and others only read it.
    """

    def __init__(self, socket_path: str) -> None:
        self.exit_code: int | None = None
        self._socket_path = socket_path
        threading.Thread(target=self._wait, name="pitstop-release", daemon=True).start()

    def _wait(self) -> None:
        self.exit_code = serve(self._socket_path)
