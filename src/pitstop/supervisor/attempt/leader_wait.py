"""The wait for a leader that an earlier attempt had reached, and that may have gone for good."""

from collections.abc import Iterator

from pitstop.cluster.spec import ASSEMBLING, Task
from pitstop.events import Event, MemberReleased, Notice
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_STOPPED
from pitstop.store.gang_folder import MEMBERS_DIR
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.records.history import LEADER_AWAITED, LeaderBefore
from pitstop.supervisor.status import has_completed

_TOLD_SECONDS = 3.0
_SESSIONS = ("member", "monitored_session")
"""The roles of members that have a session of TensorFlow's, or are about to have one."""
_COMPLETED = "its training had completed before this run was started again"


class LeaderWait:
    """One attempt's wait; `assembles`: its process waits for the trainers of all members."""

    def __init__(self, resources: AttemptResources) -> None:
        self._resources = resources
        self._known: LeaderBefore | None = None
        self.assembles = False

    def role_asked(self, role: str) -> None:
        self.assembles = role == ASSEMBLING

    @property
    def session_waits(self) -> bool:
        """Whether it is a member of a cluster that has no session of TensorFlow's yet."""
        role = self._resources.attempt_state.role
        is_member = role is not None and role.role in _SESSIONS
        return is_member and not self._resources.beacon.progress().step

    def look(self) -> Iterator[Event]:
        """Ends a wait that has lasted too long: that of TensorFlow has no end."""
        cluster, attempt_state = self._resources.run.cluster, self._resources.attempt_state
        waits = attempt_state.serves or self.session_waits or self.assembles
        seconds = cluster.unreached_seconds
        if not waits or seconds < _TOLD_SECONDS:
            return
        leader, known = str(cluster.awaited_leader), self._known
        if known is None:
            known = self._known = self._leader_before(cluster.awaited_leader)
            if known is LeaderBefore.THERE:
                yield _told(leader, cluster.linger_seconds)
        if known is LeaderBefore.COMPLETED and seconds >= cluster.lease_seconds:
            yield MemberReleased(leader, "completed", EXIT_COMPLETED, _COMPLETED)
        elif known is LeaderBefore.THERE and seconds >= cluster.linger_seconds:
            reason = f"it did not answer for {seconds:.0f} s"
            yield MemberReleased(leader, "lost", EXIT_STOPPED, reason)

    def _leader_before(self, leader: Task | None) -> LeaderBefore:
        run_dir = self._resources.plan.request.run_dir.absolute()
        is_launched = leader is not None and run_dir.parent.name == MEMBERS_DIR
        if leader and is_launched and has_completed(leader, run_dir.parent.parent):
            return LeaderBefore.COMPLETED
        return self._resources.plan.history.leader


def _told(leader: str, seconds: float) -> Notice:
    return Notice(
        LEADER_AWAITED,
        f"Waiting up to {seconds:.0f} s for {leader}, which does not answer: the others went on "
        "when this run had ended, and their training may be over.",
        "Start all members; if the training has completed, there is nothing left to do here.",
    )
