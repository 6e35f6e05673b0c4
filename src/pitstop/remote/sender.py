"""The thread that sends: at once when something changed, later when it failed."""

import random
import threading
import time
from collections.abc import Callable

from pitstop.durations import delay_seconds
from pitstop.errors import PitstopError
from pitstop.events import Event, UploadFailed, UploadGivenUp
from pitstop.remote.mirror import Mirror
from pitstop.remote.storage import StorageFault

RECORDS_SECONDS = 30.0
"""The interval at which the journal and the output are sent; they go with every checkpoint too."""

LAST_TRIES_SECONDS = 300.0
"""At the end of an attempt the tries end after this time of failures, or when the user must act."""

_LAST_DELAY_SECONDS = 5.0
_NEVER = float("inf")


class Sender:
    """Keeps a mirror up to date until `finish` or `stop`; other threads change it under `_wake`."""

    def __init__(
        self,
        mirror: Mirror,
        report: Callable[[Event], None],
        on_end: Callable[[], None],
        is_ours: Callable[[], bool] = lambda: True,
    ) -> None:
        """`is_ours`: whether the mirror may be written; where not, `stop` was called."""
        self._mirror = mirror
        self._report = report
        self._on_end = on_end
        self._is_ours = is_ours
        self._wake = threading.Condition()
        self._due_seconds = 0.0
        self._asked = self._finishing = self._stopped = False
        self._stop_reason = ""
        self._failures = 0
        self._failing_since_seconds = _NEVER
        self._last_error = ""
        # A request that hangs must not keep the process.
        self.thread = threading.Thread(target=self._run, name="pitstop-sender", daemon=True)

    def changed(self) -> None:
        with self._wake:
            self._asked = True
            if not self._failures:
                self._due_seconds = 0.0
            self._wake.notify()

    def finish(self) -> None:
        with self._wake:
            self._asked = self._finishing = True
            self._due_seconds = 0.0
            self._wake.notify()

    def stop(self, reason: str) -> None:
        """End after the step that is under way."""
        with self._wake:
            self._stopped, self._stop_reason = True, reason
            self._wake.notify()

    def give_up(self, error: str) -> None:
        """Says what is missing; from any thread, also while a request hangs."""
        try:
            missing = self._mirror.missing()
        except PitstopError:
            # The folder cannot be read either: what is missing is not known.
            self._report(UploadGivenUp([], error))
            return
        if missing:
            self._report(UploadGivenUp(missing, error))

    def _run(self) -> None:
        while not (self._stopped or self._try_once()):
            with self._wake:
                while not self._stopped and (left := self._due_seconds - time.monotonic()) > 0:
                    self._wake.wait(left)
        if self._stopped:
            self.give_up(self._stop_reason)
        self._on_end()

    def _try_once(self) -> bool:
        """One pass; whether it was the last."""
        with self._wake:
            finishing, self._asked = self._finishing, False
        try:
            complete = self._mirror.update(lambda: not self._stopped and self._is_ours())
        except StorageFault as fault:
            return self._failed(fault, finishing)
        except PitstopError as error:
            self.give_up(error.message)
            return True
        self._failures, self._last_error = 0, ""
        self._failing_since_seconds = _NEVER
        self._wait(RECORDS_SECONDS if complete else 0.0)
        return complete and finishing

    def _failed(self, fault: StorageFault, finishing: bool) -> bool:
        now = time.monotonic()
        self._failures += 1
        self._failing_since_seconds = min(self._failing_since_seconds, now)
        if fault.message != self._last_error:
            self._last_error = fault.message
            self._report(UploadFailed(fault.message, fault.remedy, fault.needs_user))
        hopeless = now - self._failing_since_seconds >= LAST_TRIES_SECONDS
        if finishing and (fault.needs_user or hopeless):
            self.give_up(fault.message)
            return True
        delay = delay_seconds(self._failures, random.random())
        self._wait(min(delay, _LAST_DELAY_SECONDS) if finishing else delay)
        return False

    def _wait(self, seconds: float) -> None:
        with self._wake:
            # What was asked for during the pass is not put off by it.
            at_once = self._asked and (self._finishing or not self._failures)
            self._due_seconds = 0.0 if at_once else time.monotonic() + seconds
