"""What the supervisors of a cluster say to each other; the specification is docs/clusters.md.

They are checked, written and read like the messages between the processes of one run, see
`link.messages`.  They travel in sealed frames, see `cluster.frames`.
"""

from __future__ import annotations

from pitstop.link.messages import Count, Counts, Message
from pitstop.record import record

PROTOCOL = 1


@record
class JoinRequest(Message):
    """To the leader, first: who this member is.

    Attributes:
        task: its `spec.Task`, in words.
        shape: how many tasks of each kind it knows of; all must agree.
        host: the machine that it runs on.
    """

    protocol: Count
    task: str
    shape: Counts
    version: str
    host: str
    pid: Count


@record
class Beat(Message):
    """Each way, every second: this supervisor is there, and what its run does.

    Attributes:
        state: as `pitstop status` names it.
        step: None where no steps are seen.
        serves: it waits for the requests of others, and never ends by itself.
    """

    state: str
    phase: str
    step: Count | None = None
    serves: bool = False


@record
class StopProposal(Message):
    """To the leader: this member was asked to stop, and so the whole cluster is.

    Attributes:
        reason: who asked, in words.
    """

    reason: str
    now: bool = False


@record
class Release(Message):
    """To a member: the training is over for it.

    Attributes:
        outcome: of the leader: "completed", "stopped" or "failed".
        exit_code: of the leader.
        reason: why, in words.
    """

    outcome: str
    exit_code: Count
    reason: str


@record
class EndReport(Message):
    """To the leader, last: how the run of this member ended."""

    state: str
    exit_code: Count
