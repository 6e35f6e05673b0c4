"""The part of a process in a cluster of TensorFlow."""

from collections.abc import Mapping

from pitstop.events.base import Event

_PARTS: Mapping[str, str] = {
    "member": "is a member of a cluster (tf.distribute.Server)",
    "server": "waits for requests of a cluster (in join)",
    "coordinator": "coordinates parameter servers (ClusterCoordinator)",
    "monitored_session": "trains in a MonitoredSession",
    "session": "trains in a loop of a Session",
    "evaluator": "evaluates what the cluster saves (train_and_evaluate)",
}


class RoleTaken(Event):
    """A process has a part in a training whose steps are not seen, and which is not saved."""

    role: str  # "member", "server", "coordinator", "monitored_session", "session" or "evaluator"
    pid: int
    task: str = ""  # what TF_CONFIG says that it is ("worker 1"), or empty

    @property
    def part(self) -> str:
        """What the process does, to follow its name."""
        task = f" as {self.task}" if self.task else ""
        return f"{_PARTS.get(self.role, 'takes part in a cluster')}{task}"


class MemberJoined(Event):
    """Another task of the cluster talks with this one, which leads."""

    task: str
    host: str
    pid: int


class MemberEnded(Event):
    """The run of another task is over."""

    task: str
    host: str  # empty of the leader, in the journal of another member
    state: str  # "completed", "stopped", "failed", or "lost" if it went silent
    exit_code: int | None = None  # of its `pitstop run`; None where it went silent


class MemberRestarted(Event):
    """The process of another task has ended, and another is started, which holds nothing yet."""

    task: str
    host: str


class LeaderFound(Event):
    """This member talks with the supervisor of the task that leads."""

    leader: str


class MemberReleased(Event):
    """The training is over for this member."""

    leader: str
    outcome: str  # of the leader: "completed", "stopped", "failed", or "lost" where it went silent
    exit_code: int  # what this member exits with, if it only serves
    reason: str


class GangFormed(Event):
    """The members that train together have agreed on the state that all go on from."""

    gang: str  # its name, unlike that of any other; the states of the attempt belong to it
    task: str  # which of the members this run is
    members: int  # how many there are
    checkpoint: str = ""  # what this one goes on from; empty where all begin anew
    doubt: str = ""  # why that is not exact; empty where it is


class GangStopped(Event):
    """All members of a gang hold at this step, and stop there."""

    gang: str
    step: int
    seconds: float  # from the first question to this member to the agreement


class GangSaved(Event):
    """The state at this step is on the disks of all members of a gang."""

    gang: str
    step: int
    path: str  # the checkpoint of this one; name: what the user has called it, or empty
    name: str = ""


class GangBroken(Event):
    """The trainer of a member is gone, so that those of all others end as well."""

    gang: str
    task: str  # whose it was
    reason: str
