"""The trainings of a run as this process meets them: which are saved, and which it is at."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Self

from pitstop.engine.trainings import matching
from pitstop.engine.trainings.identity import Identity, RestorePoint
from pitstop.link.beacon import Beacon


class Trainings:
    """Saved trainings, each of which one call of the process is at most; `begun` counts calls."""

    def __init__(self, points: Sequence[RestorePoint], beacon: Beacon) -> None:
        self._points = list(points)
        self._beacon = beacon
        self._claimed: set[int] = set()
        self._passed: set[int] = set()
        self._begun: set[int] = set()
        self._visits: Counter[tuple[str, ...]] = Counter()
        self.begun = 0
        self._strayed = False

    # -- known by their number: loops of the script's own ------------------------------

    def next_index(self) -> int:
        return self._beacon.take_training()

    def is_past(self, index: int) -> bool:
        return any(point.fit > index for point in self._points)

    def point_for(self, index: int) -> RestorePoint | None:
        loops = (point for point in self._points if point.is_loop)
        return next((point for point in loops if point.fit == index), None)

    @property
    def has_loop(self) -> bool:
        return any(point.is_loop for point in self._points)

    def of_this_number(self) -> RestorePoint | None:
        """The state with the next number, where all are of loops; else None."""
        return None if self._known() else self.point_for(self._beacon.trainings())

    @property
    def newest(self) -> RestorePoint | None:
        return self._points[-1] if self._points else None

    # -- known by what they are ----------------------------------------------------------

    def count(self, frames: tuple[str, ...]) -> tuple[int, int]:
        found = self.begun, self._visits[frames]
        self.begun += 1
        self._visits[frames] += 1
        return found

    def match(self, identity: Identity) -> matching.TrainingMatch:
        """What a call is to the saved trainings that no call of this process was yet."""
        saved = self._open()
        found = matching.match(identity, saved, strayed=self._strayed)
        self._strayed |= bool(saved) and found.verdict is not matching.TrainingVerdict.SAME
        self._passed |= {each.fit for each in saved if matching.replaces(identity, each.identity)}
        return found

    def left_out(self, identity: Identity, point: RestorePoint | None = None) -> list[Identity]:
        """The finished trainings before a call that this process neither made nor replaced."""
        here = [each for each in self._known() if matching.replaces(identity, each.identity)]
        first = min((each.fit for each in (*here, point) if each), default=sys.maxsize)
        return [
            each.identity
            for each in self._open()
            if each.finished and each.fit < first and each.fit not in self._passed
        ]

    @property
    def awaits(self) -> bool:
        """Whether the next call may be a saved training; later ones wait for their turn."""
        is_near = any(each.identity.ordinal <= self.begun for each in self._open())
        return is_near or self.has_loop

    def has_interrupted(self, identity: Identity) -> bool:
        """Whether a training that has not ended is no call of this process yet."""
        waiting = (each.identity for each in self._open() if not each.finished)
        return any(not matching.is_changed(identity, each) for each in waiting)

    @property
    def misses_newest(self) -> bool:
        """Whether no call has gone on with the newest training, and a new one is made instead."""
        newest = next(reversed(self._known()), None)
        if newest is None or newest.fit in self._claimed:
            return False
        return not newest.finished or newest.fit in self._passed

    def repeats(self, identity: Identity) -> bool:
        """Whether a new call comes before the newest state, where short trainings were left out."""
        newest = self.newest.identity if self.newest is not None else Identity()
        return newest.left_out > 0 and identity.ordinal < newest.ordinal

    def claim(self, point: RestorePoint) -> None:
        self._claimed.add(point.fit)
        self._passed |= {each.fit for each in self._known() if each.fit < point.fit}
        self._beacon.take_training(point.fit)

    def begin_another(self) -> int:
        number = self._beacon.take_training(
            1 + max((each.fit for each in self._points), default=-1)
        )
        self._begun.add(number)
        return number

    # -- of a process that outlives an attempt: a notebook -----------------------------------

    def follow(self, before: Self) -> None:
        self._claimed = before._claimed | before._begun
        self._visits, self.begun = before._visits, before.begun

    def reopen(self, number: int) -> None:
        self._claimed.discard(number)

    @property
    def reached_step(self) -> int:
        return max((point.step for point in self._points), default=0)

    def _known(self) -> list[RestorePoint]:
        return [each for each in self._points if not each.is_loop]

    def _open(self) -> list[RestorePoint]:
        return [each for each in self._known() if each.fit not in self._claimed]
