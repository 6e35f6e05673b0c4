"""The one state that all members of a gang go on from, and the states that each holds.  Pure.

Each member says which states it holds, newest first (`Muster`).  When all have, the leader
proposes the newest of its own that all the others hold too, and each reads every byte of it.  Where
it is damaged for one of them, the next is proposed; where none is left, all begin anew.

A state is known by its mark: the gang that it was saved in, and the step.  Two gangs never have the
same name, so that two states of one step, which differ, are never taken for one another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from pitstop.cluster.messages import GangReady, GangRefused, Muster, ResumeAnswer, ResumeProposal
from pitstop.cluster.spec import Task
from pitstop.events import GangFormed
from pitstop.record import Frozen
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo

ANEW = ""  # the mark of no state
_EXACT = ("exact", "exact_by_replay")
_MOST_GANGS = 200
_STATE_OF = "the saved state of "

Words = tuple[tuple[Task, ResumeProposal | GangReady | GangRefused], ...]  # what is sent to whom


class ResumeAgreement(Frozen):
    """What the leader knows of the gang that begins; its own order of states counts."""

    members: frozenset[Task]
    leader: Task
    name: str  # of the gang, unlike that of any other
    musters: Mapping[Task, Muster] = field(default_factory=dict)  # of those that are there
    proposal: int = 0  # number of the last proposal, 0 before the first; it names `mark`
    mark: str = ANEW
    damaged: frozenset[str] = frozenset()  # marks that one member could not read
    verified: frozenset[Task] = frozenset()  # who has read what was proposed
    outcome: GangReady | GangRefused | None = None  # what all were told at last, None before

    @property
    def missing(self) -> frozenset[Task]:
        return self.members - self.musters.keys()


def mustered(
    agreement: ResumeAgreement, task: Task, muster: Muster
) -> tuple[ResumeAgreement, Words]:
    if agreement.outcome is not None:
        return agreement, ((task, agreement.outcome),)
    before = agreement.musters.get(task)
    known = replace(agreement, musters={**agreement.musters, task: muster})
    if known.missing:
        return known, ()
    if agreement.proposal and before is not None and before.attempt == muster.attempt:
        return known, ((task, ResumeProposal(known.proposal, known.mark)),)
    if problem := _problem(known):
        return _told_all(known, GangRefused(problem))
    return _proposed(known)


def verified(
    agreement: ResumeAgreement, task: Task, answer: ResumeAnswer
) -> tuple[ResumeAgreement, Words]:
    if agreement.outcome is not None or answer.proposal != agreement.proposal:
        return agreement, ()
    if not answer.verified:
        return _proposed(replace(agreement, damaged=agreement.damaged | {agreement.mark}))
    known = replace(agreement, verified=agreement.verified | {task})
    if known.verified != known.members:
        return known, ()
    return _told_all(known, GangReady(known.name, known.mark, _doubt(known)))


def _proposed(agreement: ResumeAgreement) -> tuple[ResumeAgreement, Words]:
    held = [set(muster.marks) for muster in agreement.musters.values()]
    whole = set.intersection(*held) - agreement.damaged
    usable = (mark for mark in agreement.musters[agreement.leader].marks if mark in whole)
    mark, number = next(usable, ANEW), agreement.proposal + 1
    following = replace(agreement, proposal=number, mark=mark, verified=frozenset())
    order = ResumeProposal(number, mark)
    return following, tuple((task, order) for task in sorted(agreement.members))


def _told_all(
    agreement: ResumeAgreement, outcome: GangReady | GangRefused
) -> tuple[ResumeAgreement, Words]:
    told = tuple((task, outcome) for task in sorted(agreement.members))
    return replace(agreement, outcome=outcome), told


def _problem(agreement: ResumeAgreement) -> str:
    """Why the members may not go on; empty where they may."""
    musters = sorted(agreement.musters.items())
    for task, muster in musters:
        if muster.strays:
            return f"{task} has a state that was not saved together with the other members"
    gangs = {gang for _, muster in musters for gang in map(gang_of, muster.marks)}
    present = len(agreement.members)
    for size in sorted({size_of(gang) for gang in gangs} - {present}):
        return f"{size} members saved their states together, but now there are {present}"
    for task, muster in musters:
        if unknown := gangs - set(muster.gangs):
            other = next(t for t, m in musters if unknown & set(map(gang_of, m.marks)))
            return f"{task} did not take part in the training of {other}: it uses another folder"
    return ""


def _doubt(agreement: ResumeAgreement) -> str:
    if agreement.mark == ANEW:
        return ""
    for task, muster in sorted(agreement.musters.items()):
        if muster.levels[muster.marks.index(agreement.mark)] not in _EXACT:
            if muster.doubt.startswith(_STATE_OF):
                return muster.doubt
            reason = f": {muster.doubt}" if muster.doubt else ""
            return f"{_STATE_OF}{task} is not exact{reason}"
    return ""


def mark_of(gang: str, fit: int, step: int, milestone: str) -> str:
    return f"{gang}:{fit}:{step}:{milestone}"


def gang_name(identity: str, size: int) -> str:
    return f"{identity}-{size}"


def size_of(gang: str) -> int:
    return int(gang.rpartition("-")[2])


def step_of(mark: str) -> int:
    return int(mark.split(":")[2])


def gang_of(mark: str) -> str:
    return mark.partition(":")[0]


class GangStates(Frozen):
    """What there is to go on from, newest first.

    `names`: of the checkpoints, by their marks, see `cluster.resume_agreement`.  `gangs`: all that
    this run was in, as this task.  `strays`: there are others, that no gang has agreed on.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    gangs: tuple[str, ...] = ()
    strays: bool = False

    def muster(self, attempt: int, doubt: str) -> Muster:
        marks, levels = list(self.names), list(self.levels.values())
        return Muster(attempt, marks, levels, list(self.gangs), self.strays, doubt)


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
