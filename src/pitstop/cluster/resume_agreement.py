"""The one state that all members of a gang go on from, and the states that each holds.  No I/O.

Each member says which states it holds, newest first (`Muster`).  When all have, the leader
proposes the newest of its own that all the others hold too, and each reads every byte of it.  Where
it is damaged for one of them, the next is proposed; where none is left, all begin anew.

A state is known by its mark: the gang that it was saved in, and the step.  Two gangs never have the
same name, so that two states of one step, which differ, are never taken for one another.
"""

from collections.abc import Iterable, Mapping, Sequence
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
_FIRST_PAUSE_SECONDS = 0.1
_LAST_PAUSE_SECONDS = 1.0
_STATE_OF = "the saved state of "

Words = tuple[tuple[Task, ResumeProposal | GangReady | GangRefused], ...]  # what is sent to whom


class ResumeAgreement:
    """What the leader knows of the gang that begins, and decides.  No I/O.

    `name`: of the gang, unlike that of any other.  `musters`: of the members that are there.
    `outcome`: what the leader's own trainer was told at last, None before.  Thousands of members
    say something each, so nothing that grows with them is copied or looked through for one of them.
    """

    def __init__(self, members: Sequence[Task], leader: Task, name: str) -> None:
        self.name = name
        self.musters: dict[Task, Muster] = {}
        self.outcome: GangReady | GangRefused | None = None
        self._members = members
        self._leader = leader
        self._missing = set(members)
        self._proposal = ResumeProposal(0, ANEW)
        self._unread: set[Task] = set()  # who has not read what is proposed
        self._damaged: set[str] = set()  # marks that one member could not read

    def mustered(self, task: Task, muster: Muster) -> Words:
        if self.outcome is not None:
            return ((task, self._outcome_for(task, self.outcome)),)
        before = self.musters.get(task)
        if self._unread and before is not None and before.attempt == muster.attempt:
            return ((task, self._proposal),) if task in self._unread else ()
        self.musters[task] = muster
        self._missing.discard(task)
        if self._missing:
            return ()
        if problem := self._problem():
            return self._told_all(GangRefused(problem))
        return self._proposed()

    @property
    def is_open(self) -> bool:
        """Whether a state is proposed, and not all have read it."""
        return bool(self._unread)

    def proposed_again(self) -> Words:
        """To all that have not read what is proposed: the word may be lost."""
        return tuple((task, self._proposal) for task in self._unread)

    def verified(self, task: Task, answer: ResumeAnswer) -> Words:
        if answer.proposal != self._proposal.proposal or task not in self._unread:
            return ()
        if not answer.verified:
            self._damaged.add(self._proposal.mark)
            return self._proposed()
        self._unread.remove(task)
        if self._unread:
            return ()
        leader, mark = self.musters[self._leader], self._proposal.mark
        whole = self._held_by_all()
        common = [each for each in leader.marks if each in whole] if mark != ANEW else []
        ready = GangReady(leader.attempt, self.name, mark, self._doubt(), common)
        return self._told_all(ready)

    def _proposed(self) -> Words:
        """The newest of the leader's own states that all the others hold too, else none."""
        whole = self._held_by_all() - self._damaged
        usable = (mark for mark in self.musters[self._leader].marks if mark in whole)
        self._proposal = ResumeProposal(self._proposal.proposal + 1, next(usable, ANEW))
        self._unread = set(self._members)
        return tuple((task, self._proposal) for task in self._members)

    def _held_by_all(self) -> set[str]:
        return set.intersection(*(set(muster.marks) for muster in self.musters.values()))

    def _told_all(self, outcome: GangReady | GangRefused) -> Words:
        self.outcome = outcome
        self._unread.clear()
        return tuple((task, self._outcome_for(task, outcome)) for task in self._members)

    def _outcome_for(self, task: Task, outcome: GangReady | GangRefused) -> GangReady | GangRefused:
        """It names the attempt: a later one of the same member is not in this gang."""
        if isinstance(outcome, GangRefused):
            return outcome
        return replace(outcome, attempt=self.musters[task].attempt)

    def _problem(self) -> str:
        """Why the members may not go on; empty where they may."""
        musters = [(task, self.musters[task]) for task in self._members]
        for task, muster in musters:
            if muster.strays:
                return f"{task} has a state that was not saved together with the other members"
        gangs = {gang for _, muster in musters for gang in map(gang_of, muster.marks)}
        present = len(musters)
        for size in sorted({size_of(gang) for gang in gangs} - {present}):
            return f"{size} members saved their states together, but now there are {present}"
        for task, muster in musters:
            if unknown := gangs - set(muster.gangs):
                other = next(t for t, m in musters if unknown & set(map(gang_of, m.marks)))
                return (
                    f"{task} did not take part in the training of {other}: it uses another folder"
                )
        return ""

    def _doubt(self) -> str:
        mark = self._proposal.mark
        if mark == ANEW:
            return ""
        for task in self._members:
            muster = self.musters[task]
            if muster.levels[muster.marks.index(mark)] not in _EXACT:
                if muster.doubt.startswith(_STATE_OF):
                    return muster.doubt
                reason = f": {muster.doubt}" if muster.doubt else ""
                return f"{_STATE_OF}{task} is not exact{reason}"
        return ""


def pause_seconds(said: int) -> float:
    """The pause before a message that was sent so often is sent again, without an answer."""
    return min(_FIRST_PAUSE_SECONDS * (1 << min(said, 8)), _LAST_PAUSE_SECONDS)


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
    """The states that a member can continue from, newest first.

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
