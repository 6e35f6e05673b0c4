"""The states that a member of a gang holds, each by the mark that all members know it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from pitstop.cluster.messages import Muster
from pitstop.cluster.resume_agreement import mark_of
from pitstop.events import GangFormed
from pitstop.record import Frozen
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo

_MOST_GANGS = 200


class GangStates(Frozen):
    """What there is to go on from, newest first.

    `names`: of the checkpoints, by their marks, see `cluster.resume_agreement`.  `gangs`: all that
    this run was in, as this task.  `strays`: there are others, that no gang has agreed on.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    gangs: tuple[str, ...] = ()
    strays: bool = False

    def muster(self, attempt: int) -> Muster:
        return Muster(
            attempt, list(self.names), list(self.levels.values()), list(self.gangs), self.strays
        )


def held_states(
    saved: Iterable[CheckpointEntry], formed: Mapping[int, GangFormed], task: str
) -> GangStates:
    names: dict[str, str] = {}
    levels: dict[str, str] = {}
    strays = False
    for name, info in ((each.path.name, each.manifest.info) for each in saved if each.manifest):
        gang = formed.get(info.attempt)
        if gang is None or gang.task != task:
            strays = True
            continue
        mark = mark_in(gang.gang, info)
        if mark not in names:
            names[mark], levels[mark] = name, info.level
    gangs = tuple(each.gang for each in formed.values() if each.task == task)
    return GangStates(names, levels, gangs[-_MOST_GANGS:], strays)


def mark_in(gang: str, info: CheckpointInfo) -> str:
    return mark_of(gang, info.fit, info.step, info.milestone)
