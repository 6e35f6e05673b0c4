"""How exact a resume of a running `fit` is: as exact as its weakest part."""

from __future__ import annotations

from collections.abc import Iterable

from pitstop.engine.exactness import EXACT, Exactness
from pitstop.engine.session import Session
from pitstop.events import LevelKnown
from pitstop.tensorflow.devices import level_of_process

_NAMED = 3


class FitLevel:
    """The levels of the parts of a `fit`, put together and told.

    Attributes:
        step: what the training step does, and who else does it; None where it keeps
            nothing hidden.
        shared: what random generators make of it that the input shares with callbacks.
        unverified: names of what is not restored.
        deviation: why the training is not what it would have been without an interruption;
            empty where it is.
    """

    def __init__(self, session: Session | None = None) -> None:
        self.step: Exactness | None = level_of_process(session)
        self.shared: Exactness | None = None
        self.unverified: list[str] = []
        self.deviation = ""
        self._reported: Exactness | None = None

    def doubt(self, reason: str) -> None:
        """A resume will not be exact; the first reason is the one that is told."""
        if self.step is None:
            self.step = Exactness("not_exact", reason)

    def deviate(self, reason: str) -> None:
        """The training goes on otherwise than it would have, and so does what follows from it."""
        if reason:
            self.deviation = self.deviation or reason
            self.doubt(reason)

    def with_parts(self, parts: Iterable[Exactness]) -> Exactness:
        """The level of all together; the first of the parts is the input's."""
        levels = [*parts]
        if self.step is not None:
            levels.append(self.step)
        if self.unverified:
            levels.append(Exactness("not_exact", missing(self.unverified)))
        if self.shared is not None and levels[0].level == "exact_by_replay":
            levels.append(self.shared)
        by_rank = {level.level: level for level in reversed(levels)}
        weakest = by_rank.get("not_exact") or by_rank.get("exact_by_replay")
        return weakest or levels[0] if levels else EXACT

    def report(self, session: Session, level: Exactness) -> None:
        if level != self._reported:
            self._reported = level
            session.report(LevelKnown(level.level, level.reason, self.unverified))


def missing(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"state that is not restored: {shown}{more}"
