"""The thread that renews a lease, so that no long upload lets it run out."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from pitstop.remote.fault import StorageFault
from pitstop.remote.lease import EXPIRY_SECONDS, RENEW_SECONDS
from pitstop.remote.lease_holder import LeaseHolder


class LeaseKeeper:
    """Renews a lease that is held until it is given back."""

    def __init__(self, holder: LeaseHolder, on_lost: Callable[[], None]) -> None:
        """Begins to renew; `on_lost` is called when another run has taken the mirror."""
        self._holder = holder
        self._on_lost = on_lost
        self._released = False
        self._renewed_seconds = -EXPIRY_SECONDS
        self._wake = threading.Event()
        # A request that hangs must not keep the process.
        self._thread = threading.Thread(target=self._run, name="pitstop-lease", daemon=True)
        self._thread.start()

    def is_held(self) -> bool:
        """Whether the mirror is ours; where that is not known of late, the lease is renewed now.

        A network that was away, or a machine that was suspended, has let it run out.

        Raises:
            StorageFault: the mirror cannot be read or written.
        """
        if _now_seconds() - self._renewed_seconds < EXPIRY_SECONDS / 2 or self._renew():
            return True
        self._on_lost()
        return False

    def finishing(self) -> None:
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
            if not self._released and not self._is_ours():
                self._on_lost()
                return
        # Also behind a renewal that was under way when it was asked for.
        with contextlib.suppress(StorageFault):
            self._holder.release()

    def _is_ours(self) -> bool:
        """Renews it; False when another run has taken the mirror."""
        try:
            return self._renew()
        except StorageFault:
            # The sender meets the same fault, and tells of it.
            return True

    def _renew(self) -> bool:
        began_seconds = _now_seconds()
        is_ours = self._holder.renew()
        if is_ours:
            self._renewed_seconds = began_seconds
        return is_ours


def _now_seconds() -> float:
    """Of a clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
