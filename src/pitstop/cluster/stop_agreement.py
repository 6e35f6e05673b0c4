"""The one step at which all members of a gang stop, or save: the leader's side.  Pure.

1. All members are told to hold at a step (`Hold`).  Each answers whether it holds there, is still
   on its way, or had passed it before it heard of it.
2. Where one had passed it, another round begins, with the step where the furthest of those will
   hold.  By then each trainer holds, or will at the end of its step: none gets past the new one.
3. When all members hold at the step of the round, it is agreed, and never changes.  Each confirms
   that it has heard of it.

A trainer that holds waits for its supervisor, outside of any collective of TensorFlow's; nobody
leaves a collective in which another member waits.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from pitstop.cluster.messages import Commit, Hold, HoldAnswer
from pitstop.cluster.spec import Task
from pitstop.record import Frozen

ON_ITS_WAY = "on its way"
HOLDS = "holds"
PASSED = "passed"
CONFIRMS = "confirms"

Orders = tuple[tuple[Task, Hold | Commit], ...]
Members = int
"""Some members: the bit n stands for the one with the number n.  Each of thousands of answers makes
a new value of it, which a set would be too large for."""


class StopAgreement(Frozen):
    """What the leader knows of a round (from 1): its step, and what the members answered.

    `silent`: who has not answered; once it is `agreed`, who has not confirmed.  `moving`: who is on
    its way.  `furthest`: where the furthest of those holds that had passed the step, or -1.
    `saves`: all save at the step, by this name if any, and go on.
    """

    numbers: Mapping[Task, int]
    reason: str
    round: int
    step: int
    silent: Members = 0
    moving: Members = 0
    furthest: int = -1
    agreed: bool = False
    saves: bool = False
    name: str = ""

    @property
    def all(self) -> Members:
        return (1 << len(self.numbers)) - 1

    @property
    def awaited(self) -> Members:
        """The members whose answers are missing before the next orders."""
        return self.silent or self.moving

    def asked(self) -> Self:
        """The same round when all have been asked, and nobody has answered."""
        return replace(self, silent=self.all, moving=0, furthest=-1)

    def orders(self, members: Members) -> Orders:
        """What these members are told."""
        order: Hold | Commit = Commit(self.step)
        if not self.agreed:
            order = Hold(self.round, self.step, self.reason, self.saves, self.name)
        return tuple((task, order) for task, n in self.numbers.items() if members >> n & 1)


def begun(
    members: frozenset[Task],
    step: int,
    reason: str,
    *,
    saves: bool = False,
    name: str = "",
    before: StopAgreement | None = None,
) -> tuple[StopAgreement, Orders]:
    """The first round; `before`: an agreement to save, which this one replaces or follows."""
    if before is not None and not before.agreed:
        agreement = replace(before, reason=reason, saves=saves, name=name)
    else:
        # A later round counts also for who has not heard yet that it may go on.
        number = before.round + 1 if before is not None else 1
        numbers = {task: n for n, task in enumerate(sorted(members))}
        agreement = StopAgreement(numbers, reason, number, step, saves=saves, name=name).asked()
    return agreement, agreement.orders(agreement.all)


def answered(
    agreement: StopAgreement, task: Task, answer: HoldAnswer
) -> tuple[StopAgreement, Orders]:
    number = agreement.numbers.get(task)
    own = 0 if number is None else 1 << number
    if agreement.agreed:
        if answer.state == CONFIRMS:
            return replace(agreement, silent=agreement.silent & ~own), ()
        return agreement, agreement.orders(own)
    if answer.round != agreement.round or not own:
        return agreement, ()
    moving = agreement.moving & ~own
    known = replace(
        agreement,
        silent=agreement.silent & ~own,
        moving=moving | own if answer.state == ON_ITS_WAY else moving,
        furthest=max(agreement.furthest, answer.step if answer.state == PASSED else -1),
    )
    if known.silent or (known.moving and known.furthest < 0):
        return known, ()
    following = replace(known, agreed=True)
    if known.furthest >= 0:
        following = replace(known, round=known.round + 1, step=known.furthest)
    following = following.asked()
    return following, following.orders(following.all)


def answer_to(order: Hold, entering: int, held: int) -> HoldAnswer:
    """What a member answers; its trainer enters `entering`, and holds, or held last, at `held`."""
    if held == order.step == entering - 1:
        return HoldAnswer(order.round, HOLDS, held)
    if entering > order.step:
        return HoldAnswer(order.round, PASSED, held if held == entering - 1 else entering)
    return HoldAnswer(order.round, ON_ITS_WAY, order.step)
