"""The two copies of a run, and which of them it goes on from.  Pure.

Both copies begin alike.  Where one machine has lost the network and another has gone on from the
mirror, each has a line of its own.  The journals tell: they only grow, so of two copies
of one line the one begins with the other.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable

from pitstop.events import CheckpointCommitted
from pitstop.journal import decode
from pitstop.record import record
from pitstop.store.manifest import Manifest


class MirrorChoice(enum.Enum):
    """Where the run goes on from; `BESIDE` is the local copy, with the mirror's beside it."""

    BEGIN = "begin"
    LOCAL = "local"
    FETCH = "fetch"
    REPLACE = "replace"
    BESIDE = "beside"


@record
class MirrorSide:
    """How far one of the two copies is.

    Attributes:
        saved: of each checkpoint the number and the time, in seconds since the epoch.
    """

    journal: bytes
    saved: frozenset[tuple[int, float]] = frozenset()
    step: int = 0
    attempt: int = 0

    @classmethod
    def of(cls, manifests: Iterable[Manifest], journal: bytes) -> MirrorSide:
        found = sorted(manifests, key=lambda each: each.sequence)
        saved = frozenset((each.sequence, each.info.created_seconds) for each in found)
        if not found:
            return cls(journal)
        return cls(journal, saved, found[-1].info.step, found[-1].info.attempt)

    @property
    def newest(self) -> tuple[int, float]:
        """Number and time of the newest checkpoint, zeros without one."""
        return max(self.saved, default=(0, 0.0))

    @property
    def place(self) -> str:
        return f"at step {self.step} of attempt {self.attempt}" if self.saved else "without a state"


def choose(local: MirrorSide | None, remote: MirrorSide | None) -> MirrorChoice:
    """Where a run goes on from; None for a side without a run.

    Of one line the copy that is further, of two lines the longer one.  No line is lost: a local
    one that is not used is put aside, and the mirror's is fetched beside the local one.
    """
    if remote is None:
        return MirrorChoice.BEGIN if local is None else MirrorChoice.LOCAL
    if local is None:
        return MirrorChoice.FETCH
    if not have_parted(local, remote):
        is_newer = (*remote.newest, len(remote.journal)) > (*local.newest, len(local.journal))
        return MirrorChoice.REPLACE if is_newer else MirrorChoice.LOCAL
    if (remote.step, remote.newest[1]) >= (local.step, local.newest[1]):
        return MirrorChoice.REPLACE
    return MirrorChoice.LOCAL if remote.newest in local.saved else MirrorChoice.BESIDE


def have_parted(one: MirrorSide, other: MirrorSide) -> bool:
    """Whether each has lines in its journal that do not come in the other's."""
    return all(_own_lines(one.journal, other.journal))


def has_saved_apart(one: MirrorSide, other: MirrorSide) -> bool:
    """Whether the one has saved states on a line of its own."""
    lines, others = _own_lines(one.journal, other.journal)
    entries = map(decode, lines)
    return bool(others) and any(
        entry is not None and isinstance(entry.event, CheckpointCommitted) for entry in entries
    )


def _own_lines(one: bytes, other: bytes) -> tuple[list[bytes], list[bytes]]:
    """What either journal holds behind the lines that both begin with."""
    first, second = _whole_lines(one), _whole_lines(other)
    pairs = zip(first, second, strict=False)
    begin = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return first[begin:], second[begin:]


def _whole_lines(journal: bytes) -> list[bytes]:
    """Without what a crash has left of a last line."""
    return journal[: journal.rfind(b"\n") + 1].splitlines(keepends=True)
