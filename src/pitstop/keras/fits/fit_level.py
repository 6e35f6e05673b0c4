"""How exact a resume of a running `fit` is."""

from collections.abc import Iterable

from pitstop.engine.exactness import EXACT, Exactness, missing, not_exact
from pitstop.engine.session.session import Session
from pitstop.events import LevelKnown
from pitstop.tensorflow.devices import level_of_process


class FitLevel:
    """The levels of the parts of a `fit`, put together and told."""

    def __init__(self, session: Session | None = None) -> None:
        # what the training step does, and who else does it; None where it keeps nothing hidden
        self.step: Exactness | None = level_of_process(session)
        # what random generators make of it that the input shares with callbacks
        self.shared: Exactness | None = None
        self.unverified: list[str] = []  # names of what is not restored
        # why the training is not what it would have been without an interruption; empty where it is
        self.deviation = ""
        self._reported: Exactness | None = None

    def doubt(self, reason: str) -> None:
        """A resume will not be exact; the first reason is the one that is told."""
        if self.step is None:
            self.step = not_exact(reason)

    def deviate(self, reason: str) -> None:
        if reason:
            self.deviation = self.deviation or reason
            self.doubt(reason)

    def with_parts(self, parts: Iterable[Exactness]) -> Exactness:
        levels = [*parts]
        if self.step is not None:
            levels.append(self.step)
        if self.unverified:
            levels.append(not_exact(missing(self.unverified)))
        if self.shared is not None and levels[0].level == "exact_by_replay":
            levels.append(self.shared)
        by_rank = {level.level: level for level in reversed(levels)}
        weakest = by_rank.get("not_exact") or by_rank.get("exact_by_replay")
        return weakest or levels[0] if levels else EXACT

    def report(self, session: Session, level: Exactness) -> None:
        if level != self._reported:
            self._reported = level
            is_resumed = session.trainings.newest is not None
            has_deviated = is_resumed and level.reason == self.deviation != ""
            session.report(LevelKnown(level.level, level.reason, self.unverified, has_deviated))
