"""Takes, renews and gives back the lease of a mirror."""

import contextlib
import dataclasses
import enum
import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from pitstop.errors import UserError
from pitstop.machine.own_process import is_there
from pitstop.record import Frozen, build
from pitstop.remote.plan import LEASE_KEY
from pitstop.remote.storage import Storage, StorageFault
from pitstop.store.format import parsed
from pitstop.store.lock import own_record

RENEW_SECONDS = 15.0
EXPIRY_SECONDS = 60.0  # A lease that is not renewed for this time has no owner

ABANDONED_SECONDS = 600.0
"""A lease this old by the clocks is not watched first: no two clocks differ so much."""

LIVE = "live"
FINISHING = "finishing"
RELEASED = "released"

_FORMAT = "pitstop-lease"
_LOOK_SECONDS = 1.0


class Lease(Frozen):
    """The holder of a mirror: a promise between runs of Pitstop, not a lock, see docs/remote.md."""

    holder: str
    host: str
    machine: str  # one boot of one machine, and the pid namespace
    pid: int
    start_time_ticks: int  # see `store.lock.LockRecord`
    state: str  # `LIVE`, `FINISHING` or `RELEASED`
    renewed_seconds: float


class LeaseVerdict(enum.Enum):
    TAKE = "take"
    WAIT = "wait"
    REFUSE = "refuse"


def judge_lease(
    lease: Lease,
    *,
    here: bool,
    holder_alive: bool,
    renewed: bool,
    unchanged_seconds: float,
    age_seconds: float,
) -> LeaseVerdict:
    """Whether the mirror may be taken, is in use, or needs another look.

    `here`: it was written on this machine since its boot.  `unchanged_seconds` count from its last
    change under our eyes, `age_seconds` by the two machines' clocks.
    """
    if lease.state == RELEASED or (here and not holder_alive):
        return LeaseVerdict.TAKE
    if max(unchanged_seconds / EXPIRY_SECONDS, age_seconds / ABANDONED_SECONDS) >= 1:
        return LeaseVerdict.TAKE
    if lease.state == FINISHING:
        return LeaseVerdict.WAIT
    return LeaseVerdict.REFUSE if here or renewed else LeaseVerdict.WAIT


def encode_lease(lease: Lease) -> bytes:
    return json.dumps({"format": _FORMAT, "version": 1, **asdict(lease)}, indent=2).encode()


def decode_lease(data: bytes) -> Lease | None:
    """The lease that `encode_lease` wrote; None for anything else, which protects nothing."""
    try:
        return build(Lease, "lease", parsed(data))
    except ValueError:
        return None


class MirrorInUse(UserError):
    """Another live run holds the mirror."""


class LeaseHolder:
    """A writer: one call of `pitstop run`; all its uploaders have the same random `holder`."""

    def __init__(self, storage: Storage, holder: str) -> None:
        self._storage = storage
        record = own_record()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        machine = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
        self._own = Lease(
            holder, record.host, machine, record.pid, record.start_time_ticks, LIVE, 0.0
        )
        # Apart from the rest: a renewal in another thread must not undo a change of it.
        self._state = LIVE
        self._released = False
        self._renewed_seconds = -EXPIRY_SECONDS
        self._wake = threading.Event()

    def acquire(self, say: Callable[[str], None]) -> None:
        """Takes the mirror, or waits for a dead holder's lease; `StorageFault` or `MirrorInUse`."""
        first = found = self._read()
        changed_at = time.monotonic()
        told = False
        while (verdict := self._judge(first, found, changed_at)) is not LeaseVerdict.TAKE:
            if verdict is LeaseVerdict.REFUSE and found is not None:
                raise self._refusal(found)
            if not told and found is not None:
                say(_waiting_line(self._storage.url, found))
            told = True
            time.sleep(_LOOK_SECONDS)
            if (latest := self._read()) != found:
                found, changed_at = latest, time.monotonic()
        self._take(found)

    def keep(self, on_lost: Callable[[], None]) -> None:
        """Renews it from now on; `on_lost` is called when another run has taken the mirror."""
        self._on_lost = on_lost
        # A request that hangs must not keep the process.
        self._thread = threading.Thread(target=self._run, name="pitstop-lease", daemon=True)
        self._thread.start()

    def is_held(self) -> bool:
        """Whether the mirror is ours; renews a lease that may have run out, or `StorageFault`."""
        if _now_seconds() - self._renewed_seconds < EXPIRY_SECONDS / 2 or self.renew():
            return True
        self._on_lost()
        return False

    def renew(self) -> bool:
        """Writes the lease anew, or `StorageFault`; False when another run has the mirror."""
        began_seconds = _now_seconds()
        found = self._read()
        if found is not None and not self._is_own(found):
            return False
        self._write(new=False)
        self._renewed_seconds = began_seconds
        return True

    def finishing(self) -> None:
        self._state = FINISHING
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
            # What the storage refuses, the sender meets as well, and tells of it.
            with contextlib.suppress(StorageFault):
                if not self._released and not self.renew():
                    self._on_lost()
                    return
        self._state = RELEASED
        # Also after a renewal that was under way when it was asked for.
        with contextlib.suppress(StorageFault):
            self.renew()

    def _judge(self, first: Lease | None, found: Lease | None, changed_at: float) -> LeaseVerdict:
        if found is None or self._is_own(found):
            return LeaseVerdict.TAKE
        here = found.machine == self._own.machine
        return judge_lease(
            found,
            here=here,
            holder_alive=here and is_there(found.pid, found.start_time_ticks),
            renewed=found != first,
            unchanged_seconds=time.monotonic() - changed_at,
            age_seconds=time.time() - found.renewed_seconds,
        )

    def _take(self, found: Lease | None) -> None:
        """Writes ours and reads it back: of two that write at once, one is refused."""
        try:
            self._write(new=found is None)
        except StorageFault:
            if self._read() is None:
                raise
        winner = self._read()
        if winner is None or not self._is_own(winner):
            raise self._refusal(winner or self._own)

    def _is_own(self, found: Lease) -> bool:
        return found.holder == self._own.holder

    def _read(self) -> Lease | None:
        data = self._storage.read(LEASE_KEY)
        return decode_lease(data) if data is not None else None

    def _write(self, *, new: bool) -> None:
        own = dataclasses.replace(self._own, state=self._state, renewed_seconds=time.time())
        self._storage.write(LEASE_KEY, encode_lease(own), new=new)

    def _refusal(self, found: Lease) -> MirrorInUse:
        return MirrorInUse(
            f"{self._storage.url} is in use by a live run (process {found.pid} on {found.host}).",
            "Stop it there, or use another --run-dir.",
        )


def _waiting_line(url: str, found: Lease) -> str:
    if found.state == FINISHING:
        return f"waiting for process {found.pid} on {found.host} to finish its upload to {url}."
    return (
        f"{url} was in use by process {found.pid} on {found.host}; waiting up to "
        f"{EXPIRY_SECONDS:.0f} s to see whether it still is in use."
    )


def _now_seconds() -> float:
    """The time of a clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
