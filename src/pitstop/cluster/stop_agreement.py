"""The one step at which all members of a gang stop, or save: the leader's side.  Pure.

1. All members are told to hold at a step (`Hold`).  Each answers whether it holds there, is still
   on its way, or had passed it before it heard of it.
2. Where one had passed it, another round begins, with the step where the furthest of those will
   hold.  They are told first.  Members that hold already go on when all of those have answered:
   else they could pull them past the step again, since all members end a step together.
3. When all members hold at the step of the round, it is agreed, and never changes.

A trainer that holds waits for its supervisor, outside of any collective of TensorFlow's; nobody
leaves a collective in which another member waits.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from pitstop.cluster.messages import Commit, Hold, HoldAnswer
from pitstop.cluster.spec import Task
from pitstop.record import Frozen

ON_ITS_WAY = "on its way"
HOLDS = "holds"
PASSED = "passed"

Orders = tuple[tuple[Task, Hold | Commit], ...]


class StopAgreement(Frozen):
    """What the leader knows of a round (from 1): its step, who was told, their last answers.

    `saves`: all save at the step, by this name if any, and go on.  `agreed`: all hold at the step.
    """

    members: frozenset[Task]
    reason: str
    round: int
    step: int
    told: frozenset[Task]
    answers: Mapping[Task, HoldAnswer] = field(default_factory=dict)
    agreed: bool = False
    saves: bool = False
    name: str = ""

    @property
    def orders(self) -> Orders:
        if self.agreed:
            return tuple((task, Commit(self.step)) for task in sorted(self.members))
        return _hold(self, self.told)


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
        agreement = StopAgreement(members, reason, number, step, members, saves=saves, name=name)
    return agreement, agreement.orders


def answered(
    agreement: StopAgreement, task: Task, answer: HoldAnswer
) -> tuple[StopAgreement, Orders]:
    if agreement.agreed:
        return agreement, ((task, Commit(agreement.step)),)
    if answer.round != agreement.round or task not in agreement.told:
        return agreement, ()
    known = replace(agreement, answers={**agreement.answers, task: answer})
    if known.told - known.answers.keys():
        return known, ()
    passed = [each.step for each in known.answers.values() if each.state == PASSED]
    if passed:
        return _another_round(known, max(passed))
    if rest := known.members - known.told:
        return replace(known, told=known.members), _hold(known, rest)
    if all(each.state == HOLDS for each in known.answers.values()):
        agreed = replace(known, agreed=True)
        return agreed, agreed.orders
    return known, ()


def _another_round(agreement: StopAgreement, step: int) -> tuple[StopAgreement, Orders]:
    waiting = {task for task, each in agreement.answers.items() if each.state == HOLDS}
    told = agreement.told - waiting
    following = replace(agreement, round=agreement.round + 1, step=step, told=told, answers={})
    return following, following.orders


def _hold(agreement: StopAgreement, tasks: frozenset[Task]) -> Orders:
    order = Hold(agreement.round, agreement.step, agreement.reason, agreement.saves, agreement.name)
    return tuple((task, order) for task in sorted(tasks))


def answer_to(order: Hold, entering: int, held: int) -> HoldAnswer:
    """What a member answers; its trainer enters one step, and holds at `held`, or did last."""
    if held == order.step == entering - 1:
        return HoldAnswer(order.round, HOLDS, held)
    if entering > order.step:
        return HoldAnswer(order.round, PASSED, held if held == entering - 1 else entering)
    return HoldAnswer(order.round, ON_ITS_WAY, entering)
