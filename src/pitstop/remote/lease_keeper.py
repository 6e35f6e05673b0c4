"""The thread that renews a lease, so that no long upload lets it run out."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pitstop.remote.fault import StorageFault
from pitstop.remote.lease import RENEW_SECONDS
from pitstop.remote.lease_holder import LeaseHolder


class LeaseKeeper:
    """Renews a lease that is held until it is given back."""

    def __init__(self, holder: LeaseHolder, on_lost: Callable[[], None]) -> None:
        """Begins to renew.

        Args:
            on_lost: called when another run has taken the mirror.
        """
        self._holder = holder
        self._on_lost = on_lost
        self._released = False
        self._wake = threading.Event()
        # A request that hangs must not keep the process.
        self._thread = threading.Thread(target=self._run, name="pitstop-lease", daemon=True)
        self._thread.start()

    def finishing(self) -> None:
        """Says that only the last uploads are left."""
        self._holder.finishing()
        self._wake.set()

    def release(self, timeout_seconds: float) -> None:
        """Gives the lease back, or leaves it to run out when that takes too long."""
        self._released = True
        self._wake.set()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        while not self._released:
            self._wake.wait(RENEW_SECONDS)
            self._wake.clear()
            if not self._write():
                self._on_lost()
                return

    def _write(self) -> bool:
        try:
            if not self._released:
                return self._holder.renew()
            self._holder.release()
        except StorageFault:
            # The sender meets the same fault, and tells of it.
            return True
        return True
