"""What the supervisors of a cluster say to each other; the specification is docs/clusters.md.

Checked, written and read as `link.messages`; they travel in sealed frames, see `conversation`.
"""

from collections.abc import Sequence

from pitstop.events import JsonValue
from pitstop.link.messages import Count, Message, Name

PROTOCOL = 8


class JoinRequest(Message):
    """To the leader, first: who this member is, its `spec.Task` in words, on which machine.

    `shape`: how many tasks of each kind it knows of; all must agree.
    """

    protocol: Count
    task: str
    shape: dict[str, Count]
    version: str
    host: str
    pid: Count


class Beat(Message):
    """Each way, every second: this supervisor is there, and what its run does.

    `state` is as `pitstop status` names it, `step` None where no steps are seen.
    `serves`: it waits for the requests of others, and never ends by itself.
    """

    state: str
    phase: str
    step: Count | None = None
    serves: bool = False


class StopProposal(Message):
    """To the leader: this member was asked to stop, for this reason; so the cluster is to stop."""

    reason: str
    now: bool = False


class Release(Message):
    """To a member: the training is over for it, and why, in words.

    Outcome ("completed", "stopped" or "failed") and exit code are the leader's.
    """

    outcome: str
    exit_code: Count
    reason: str


class EndReport(Message):
    """To the leader, last: how the run of this member ended."""

    state: str
    exit_code: Count


class RowsRequest(Message):
    """To the leader: a command asks this member for a row of each task."""


class TaskRow(Message):
    """To a member that asked, one of several: a task that has joined; `more` rows follow."""

    task: str
    host: str
    state: str
    phase: str
    step: Count | None = None
    more: Count = 0

    @property
    def shown(self) -> dict[str, JsonValue]:
        return {name: value for name, value in vars(self).items() if name != "more"}


class CheckpointRequest(Message):
    """To the leader: this member was asked for a checkpoint, of this name if any; it saves none."""

    number: Count
    name: Name = ""


class CheckpointReply(Message):
    """To a member: what the leader has saved for the request of this number, or why it has not."""

    number: Count
    checkpoint: str = ""
    step: Count = 0
    refusal: str = ""


# -- of members that train together, see `gang` -----------------------------------------


class ToLeader(Message, sent=False):
    """Of a member, this one included."""


class ToMember(Message, sent=False):
    """Of the leader."""


class Muster(ToLeader):
    """To the leader, every second until it is answered: this member's trainer is there.

    `marks` name the states that it holds, see `resume_agreement`, newest first; `levels` say how
    exact each is.  `gangs`: all that it has been in.  `strays`: it holds states that no gang has
    agreed on.  `doubt`: why the last inexact state was not exact.
    """

    attempt: Count
    marks: Sequence[str] = ()
    levels: Sequence[str] = ()
    gangs: Sequence[str] = ()
    strays: bool = False
    doubt: str = ""


class ResumeProposal(ToMember):
    """To a member: read this whole state; an empty mark stands for no state."""

    proposal: Count
    mark: str


class ResumeAnswer(ToLeader):
    """To the leader: whether the proposed state is whole on this member."""

    proposal: Count
    verified: bool


class GangReady(ToMember):
    """To a member: all go on from the state of this mark, as one gang; meant for this attempt.

    An empty mark: all begin anew.  `doubt`: why this is not exact; empty if it is.  `common`: the
    marks of the states that all hold.
    """

    attempt: Count
    gang: str
    mark: str
    doubt: str = ""
    common: Sequence[str] = ()


class GangRefused(ToMember):
    """To a member: the members cannot go on together."""

    reason: str


class SaveProposal(ToLeader):
    """To the leader: this member was asked for a checkpoint of this name; all are to save it."""

    name: str = ""


class Hold(ToMember):
    """To a member: its trainer is to wait at the end of this step; see `stop_agreement`.

    `reason`: who asked for the stop, in words.  `saves`: all are to save there, with this name if
    any, and go on.
    """

    round: Count
    step: Count
    reason: str
    saves: bool = False
    name: str = ""


class HoldAnswer(ToLeader):
    """To the leader: whether the trainer is "on its way", "holds" or "passed".

    `step`: where it holds, or comes to hold next.  After a `Commit`, this member "confirms" it.
    """

    round: Count
    state: str
    step: Count


class Commit(ToMember):
    """To a member: all hold at this step; they stop there, or save and go on."""

    step: Count


class SnapshotOrder(ToMember):
    """To a member: all save their state at the end of this step."""

    step: Count


class SavedReport(ToLeader):
    """To the leader: this state is on this member's disk."""

    mark: str


class Settled(ToMember):
    """To a member: the state of this mark is on all disks, and is kept until the next one is."""

    mark: str


class LevelReport(ToLeader, ToMember):
    """Both ways: one member does not restore its state exactly; so no member does."""

    reason: str


class MemberDown(ToLeader):
    """To the leader: the trainer of this member is gone, before the training was over."""

    attempt: Count
    reason: str


class GangOver(ToMember):
    """To all members: this task was lost first; the other trainers end because of it."""

    gang: str
    task: str
    reason: str
