"""The process that keeps a run's mirror, and outlives a supervisor that dies.

It is started before the run folder is looked at: it takes the lease, fetches
what is newer elsewhere, and then sends what is committed.  No network library is
loaded in any other process of a run.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import random
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.errors import PeerClosed, PitstopError, UserError
from pitstop.events import Event, to_record
from pitstop.link.messages import (
    Abandon,
    Begin,
    Changed,
    EventReport,
    Finish,
    Finished,
    NotOpened,
    Opened,
    Say,
)
from pitstop.link.wire import Connection
from pitstop.remote.backoff import delay_seconds
from pitstop.remote.fault import StorageFault
from pitstop.remote.lease_holder import LeaseHolder, LeaseKeeper
from pitstop.remote.mirror import Mirror
from pitstop.remote.opening import Opening
from pitstop.remote.sender import Sender
from pitstop.remote.storage import Storage
from pitstop.store.lock import is_locked
from pitstop.store.run_folder import LOCK_FILE

_TAKEN = "another run has taken the mirror"
_ORPHAN_SECONDS = 120.0
_ORPHAN_LOOK_SECONDS = 0.5
_RELEASE_SECONDS = 5.0
_MOST_TRIES = 5
_NICENESS = 5


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
        self._lease = LeaseKeeper(holder, lambda: self._sender.stop(_TAKEN))
        on_end = functools.partial(os.eventfd_write, self._ended, 1)
        self._sender = Sender(mirror, self._report, on_end, self._lease.is_held)

    def run(self) -> None:
        """Serves until the sender has ended, or is not waited for any longer."""
        try:
            while not self._has_ended() and self._obey():
                pass
        except PeerClosed:
            if self._begun:
                self._serve_alone()
        self._connection.tell(Finished())
        self._lease.release(_RELEASE_SECONDS)

    def _obey(self) -> bool:
        """Does what the supervisor says; False when there is nothing left to do."""
        for received in self._connection.receive_ready():
            match received.message:
                case Begin():
                    self._begun = True
                    self._sender.thread.start()
                case Changed():
                    self._sender.changed()
                case Finish():
                    self._lease.finishing()
                    self._sender.finish()
                case Abandon(reason):
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

    def _has_ended(self) -> bool:
        """Waits for a message or the sender's end; whether it has ended."""
        sources = [self._connection.fileno(), self._ended]
        ready, _, _ = select.select(sources, [], [])
        return self._ended in ready

    def _report(self, event: Event) -> None:
        self._connection.tell(EventReport(to_record(event)))


def _open(connection: Connection, options: argparse.Namespace) -> Uploader | None:
    """Everything before the run begins; None when it cannot, and the supervisor knows."""
    try:
        storage = Storage(options.url)
        holder = LeaseHolder(storage, options.holder)
        _prepare(storage, holder, options, lambda line: connection.send(Say(line)))
    except PitstopError as error:
        connection.send(NotOpened(error.message, error.remedy, isinstance(error, UserError)))
        return None
    connection.send(Opened())
    return Uploader(connection, storage, options.run_dir, holder)


def _prepare(
    storage: Storage,
    holder: LeaseHolder,
    options: argparse.Namespace,
    say: Callable[[str], None],
) -> None:
    if options.again:
        # Training is under way; what the storage refuses now is tried again later.
        with contextlib.suppress(StorageFault):
            holder.acquire(say)
        return
    opening = Opening(storage, options.run_dir, say)
    patiently(lambda: opening.run(holder, new=options.new), say, time.sleep)


def patiently(
    act: Callable[[], None], say: Callable[[str], None], sleep: Callable[[float], None]
) -> None:
    """Does what the network may refuse, a few times over; `StorageFault` where it still does."""
    for failures in range(1, _MOST_TRIES):
        try:
            act()
        except StorageFault as fault:
            if fault.needs_user:
                raise
            say(f"{fault.message} It is tried again.")
            sleep(delay_seconds(failures, random.random()))
        else:
            return
    act()


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="pitstop-uploader")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--holder", required=True, help="who holds the lease")
    parser.add_argument("--new", action="store_true", help="the user begins anew")
    parser.add_argument("--again", action="store_true", help="in place of one that died")
    options = parser.parse_args(argv)
    # Terminal and scheduler signals are for the supervisor; sending goes on.
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(name, signal.SIG_IGN)
    os.nice(_NICENESS)
    connection = Connection(socket.socket(fileno=options.fd))
    with contextlib.suppress(PeerClosed):
        if uploader := _open(connection, options):
            uploader.run()
    connection.close()
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    # Not `sys.exit`: it would wait for the threads of a request that hangs.
    os._exit(status)
