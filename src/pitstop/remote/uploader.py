"""The process that keeps a run's mirror, and outlives a supervisor that dies.

It takes the lease before the run folder is looked at, fetches what is newer elsewhere, and then
sends what is committed.  No other process of a run loads a network library.
"""

import contextlib
import functools
import itertools
import os
import random
import select
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.durations import delay_seconds
from pitstop.errors import PeerClosed, PitstopError, UserError
from pitstop.events import Event, UploadFailed, UploadGivenUp, to_record
from pitstop.link import messages
from pitstop.link.helper import begun
from pitstop.link.wire import Connection
from pitstop.remote.lease_holder import LeaseHolder
from pitstop.remote.mirror import Mirror
from pitstop.remote.opening import Opening
from pitstop.remote.storage import Storage, StorageFault
from pitstop.store.lock import is_locked
from pitstop.store.run_folder import LOCK_FILE

RECORDS_SECONDS = 30.0
"""The interval at which the journal and the output are sent; they go with every checkpoint too."""

LAST_TRIES_SECONDS = 300.0
"""At the end of an attempt the tries end after this time of failures, or when the user must act."""

_LAST_DELAY_SECONDS = 5.0
_NEVER = float("inf")


@dataclass(eq=False)
class Sender:
    """Keeps a mirror up to date until `finish` or `stop`; other threads change it under `_wake`."""

    _mirror: Mirror
    _report: Callable[[Event], None]
    _on_end: Callable[[], None]
    _is_ours: Callable[[], bool] = lambda: True  # else `stop` was called

    def __post_init__(self) -> None:
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
            # A request that came during the pass is not delayed.
            at_once = self._asked and (self._finishing or not self._failures)
            self._due_seconds = 0.0 if at_once else time.monotonic() + seconds


_TAKEN = "another run has taken the mirror"
_ORPHAN_SECONDS = 120.0
_ORPHAN_LOOK_SECONDS = 0.5
_RELEASE_SECONDS = 5.0
_MOST_TRIES = 5


class Uploader:
    """Obeys the supervisor's messages until the last upload, or until it is gone."""

    def __init__(
        self, connection: Connection, storage: Storage, run_dir: Path, holder: LeaseHolder
    ) -> None:
        self._connection = connection
        self._run_dir = run_dir
        self._begun = False
        self._ended = os.eventfd(0, os.EFD_CLOEXEC)
        mirror = Mirror(storage, run_dir, self._report)
        on_end = functools.partial(os.eventfd_write, self._ended, 1)
        self._lease = holder
        self._sender = Sender(mirror, self._report, on_end, holder.is_held)
        holder.keep(lambda: self._sender.stop(_TAKEN))

    def run(self) -> None:
        try:
            sources = [self._connection.fileno(), self._ended]
            while self._ended not in select.select(sources, [], [])[0] and self._obey():
                pass
        except PeerClosed:
            if self._begun:
                self._serve_alone()
        self._connection.tell(messages.Finished())
        self._lease.release(_RELEASE_SECONDS)

    def _obey(self) -> bool:
        """Does what the supervisor says; False when there is nothing left to do."""
        for received in self._connection.receive_ready():
            match received.message:
                case messages.Changed():
                    self._sender.changed()
                    if not self._begun:
                        self._begun = True
                        self._sender.thread.start()
                case messages.Finish():
                    self._lease.finishing()
                    self._sender.finish()
                case messages.Abandon(reason):
                    # Before the beginning, the run folder was refused to the supervisor.
                    if self._begun:
                        self._sender.give_up(reason)
                    return False
        return True

    def _serve_alone(self) -> None:
        """The supervisor is gone: sends what the persister still saves, and ends."""
        self._lease.finishing()
        give_up_at = time.monotonic() + _ORPHAN_SECONDS
        while is_locked(self._run_dir / LOCK_FILE) and time.monotonic() < give_up_at:
            time.sleep(_ORPHAN_LOOK_SECONDS)
        self._sender.finish()
        select.select([self._ended], [], [], max(0.0, give_up_at - time.monotonic()))

    def _report(self, event: Event) -> None:
        self._connection.tell(messages.EventReport(to_record(event)))


def _open(connection: Connection, told: Mapping[str, Any]) -> Uploader | None:
    """Everything before the run begins; None if it cannot begin, which the supervisor was told."""

    def say(line: str) -> None:
        connection.send(messages.Say(line))

    try:
        storage, run_dir = Storage(told["url"]), Path(told["run_dir"])
        holder = LeaseHolder(storage, told["holder"])
        if told["again"]:
            # Training is under way; what the storage refuses now is tried again later.
            with contextlib.suppress(StorageFault):
                holder.acquire(say)
        else:
            _open_patiently(Opening(storage, run_dir, say), holder, told["new"], say)
    except PitstopError as error:
        by_user = isinstance(error, UserError)
        connection.send(messages.NotOpened(error.message, error.remedy, by_user))
        return None
    connection.send(messages.Opened())
    return Uploader(connection, storage, run_dir, holder)


def _open_patiently(
    opening: Opening, holder: LeaseHolder, new: bool, say: Callable[[str], None]
) -> None:
    """Retries after faults of the network; `StorageFault` if they continue."""
    for failures in itertools.count(1):
        try:
            opening.run(holder, new=new)
            return
        except StorageFault as fault:
            if fault.needs_user or failures == _MOST_TRIES:
                raise
            say(f"{fault.message} Pitstop retries it.")
            time.sleep(delay_seconds(failures, random.random()))


def main() -> None:
    connection, told = begun()
    with contextlib.suppress(PeerClosed):
        if uploader := _open(connection, told):
            uploader.run()
    connection.close()


if __name__ == "__main__":
    main()
    # Not `sys.exit`: it would wait for the threads of a request that hangs.
    os._exit(0)
