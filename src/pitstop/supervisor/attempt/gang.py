"""The trainer of this run as a member of a gang: it resumes, saves and stops where all do."""

import time
from collections.abc import Iterator

from pitstop import events
from pitstop.cluster import cluster_link, messages, resume_agreement, stop_agreement
from pitstop.cluster.gang import LeaderProgress
from pitstop.cluster.resume_agreement import GangStates, held_states, mark_in
from pitstop.cluster.roster import WAS_SUSPENDED
from pitstop.cluster.spec import ASSEMBLING, REPLICA, ClusterSpec
from pitstop.link.beacon import NEVER, Phase, Stop
from pitstop.link.messages import Keep
from pitstop.supervisor.attempt.assembly_wait import AssemblyWait, waiting_for
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.helpers.restoring import Restoring
from pitstop.supervisor.lifecycle.occurrences import Occurrence, RoleAsked, StopAsked
from pitstop.supervisor.lifecycle.table import Instruction, State, Trigger

_FORM_SECONDS = 60.0
"""For all trainers to appear: TensorFlow has made them wait for each other."""
_TOLD_SECONDS = 3.0
_DOUBT_SECONDS = 2.0
"""For another member to report a lost trainer, which raises an exception here."""
_MISSES_ANOTHER = ("UnavailableError", "AbortedError")  # by which TensorFlow reports a lost member
_OTHER = "of another member, "
_NOT_AGREED = "not all members answered: no common state was agreed on"
_NO_GANG = events.Notice(
    "no_gang",
    "Some members that train together are not supervised or cannot reach their leader: each "
    "member is saved separately, and may stop and resume at a different step.",
    "Start each of them with `pitstop run`, or all with `pitstop launch`.",
)
_ONE_OF_SEVERAL = (
    "The script starts workers that train together, and this `pitstop run` sees one of them: "
    "nothing is saved"
)
_ONE_SCRIPT = events.Notice(
    "no_gang",
    f"{_ONE_OF_SEVERAL}, since that one cannot continue alone. A stop ends all.",
    "Start the workers with `pitstop launch`, or each with a `pitstop run` of its own.",
)


class GangPart:
    """One attempt of a member; does nothing for a run that trains alone."""

    def __init__(self, resources: AttemptResources, restoring: Restoring) -> None:
        self._plan = resources.plan
        self._resources = resources
        self._cluster = resources.run.cluster
        self._beacon = resources.beacon
        self._restoring = restoring
        self._task = ""  # of its trainer; empty until that takes part in a strategy
        self._tasks: set[str] = set()  # of all trainers that the script has started here
        self._others: list[str] = []  # the tasks that train together with this one
        self._assembles = False  # see `assembles`
        self._assembly = AssemblyWait(self._cluster)
        self._states = GangStates()  # those that it could continue from
        self._waits_since: float | None = None  # for an agreement on one of them
        self._told_waiting = False
        self._repeat_at = 0.0  # when it tells its states again
        self._said = 0  # how often it has told them
        self._proposal: messages.ResumeProposal | None = None  # not answered yet
        self._proposed = False  # whether there was one
        self._gang = ""  # the name of the gang, once all members have agreed
        self._stop_reason = ""
        self._order: messages.Hold | None = None  # where all members are to stop or save
        self._ordered_at = 0.0
        self._answer: messages.HoldAnswer | None = None  # the last one to `_order`
        self._was_suspended = False  # for so long that TensorFlow may take members for lost
        self._raised = ""  # an exception that the script raised, in words
        self._tell_raised_at = 0.0
        self._down = False  # the leader was told that the trainer of this run is gone
        self._over = False  # the gang has ended: nothing is agreed on any more

    @property
    def awaits_verdict(self) -> bool:
        """Whether its trainer is gone, and the leader has not said yet which one was gone first."""
        return self._down and bool(self._gang) and not self._over

    @property
    def is_split(self) -> bool:
        return len(self._tasks) > 1

    @property
    def _no_gang(self) -> events.Notice:
        return _ONE_SCRIPT if self.is_split else _NO_GANG

    @property
    def is_formed(self) -> bool:
        return bool(self._gang) and not self._over

    @property
    def assembles(self) -> bool:
        """Whether its trainer waits for the trainers of all others."""
        return self._assembles and self._beacon.phase() is Phase.STARTING

    @property
    def is_agreeing(self) -> bool:
        """Whether a stop or a save is asked for, and where is still open."""
        return self._order is not None and not self._beacon.stop()

    @property
    def has_stopped(self) -> bool:
        return self._stops and bool(self._beacon.stop())

    @property
    def _stops(self) -> bool:
        return self._order is not None and not self._order.saves

    @property
    def _left_in_order(self) -> bool:
        """Whether its trainer has stopped, and saved: the others may be about to."""
        found = self._resources.attempt_state
        return self.has_stopped or found.trainer_stopped or self._plan.is_served(found)

    def role_asked(self, asked: RoleAsked) -> Iterator[Occurrence]:
        """The trainer takes part in a strategy; the run has joined the cluster, if it can."""
        role, others = asked.event.role, _others(asked)
        if role not in (ASSEMBLING, REPLICA) or not others:
            return
        self._tasks.add(asked.event.task)
        if self._task:
            return
        self._assembles = role == ASSEMBLING
        if self._assembles:
            self._assembly.begin(others)
            return
        for _ in self._cluster.orders():  # of an earlier attempt
            continue
        self._task, self._others = asked.event.task, others
        if self._cluster.part is None:
            yield self._no_gang
        elif self._restoring.await_agreement():
            self._waits_since = time.monotonic()

    def tick(self) -> Iterator[Occurrence]:
        if self._cluster.part is None:
            return
        leads, gone = self._cluster.leads, ""
        if leads and (self._plan.history.gangs or self.assembles):
            gone = leads.gone_for_good(launched=bool(self._plan.request.launcher_pid))
        if gone and not (self._over or self.has_stopped):
            # TensorFlow would wait for it, before the script prints anything; no restart helps.
            self._over = True
            yield from self._end(f"{gone}: its run has ended")
        if not self._task:
            if self.assembles:
                yield from self._assembly.look()
            return
        now = time.monotonic()
        if self._raised and now >= self._tell_raised_at and not self._down:
            self._tell_down(self._raised)
        if leads:
            leads.gang.tick(now, self._progress())
        yield from self._wait(now)
        self._tell_verdict()
        for order in self._cluster.orders():
            yield from self._obey(order)
            # The leader's own answer may be the last, and then it tells itself what follows.
            self._tell_verdict()
        self._tell_place()

    def recorded(self, event: events.Event) -> Iterator[Occurrence]:
        match event:
            case events.StopRequested():
                reason = event.reason or event.signal or event.source
                # Whoever asks the leader is named by it.
                leads = self._cluster.leads and event.source != "cluster"
                self._stop_reason = f"{self._task}: {reason}" if leads else reason
            case events.CheckpointCommitted() if self._gang:
                for mark in (mark for path, mark, _ in self._marks() if path == event.path):
                    self._cluster.tell_gang(messages.SavedReport(mark))
            case events.LevelKnown(level="not_exact") if self._gang and event.reason:
                if not event.reason.startswith(_OTHER):
                    self._cluster.tell_gang(messages.LevelReport(event.reason))
            case events.MemberReleased(outcome="lost" | "failed") if self._gang:
                yield from self._broken(event.leader, event.reason)
            case events.Notice(code) if code == cluster_link.SUSPENSION:
                self._was_suspended = True
            case events.ExceptionRaised(class_name) if self._task and not self._left_in_order:
                # TensorFlow may take half a minute to end the process, if it misses another one.
                self._raised = f"its script raised {class_name.rpartition('.')[2]}"
                doubt_seconds = _DOUBT_SECONDS if class_name.startswith("tensorflow.") else 0.0
                self._tell_raised_at = time.monotonic() + doubt_seconds
            case events.TrainerExited() if (
                self._task and event.exit_code != 0 and not self._left_in_order
            ):
                by = event.signal
                how = f"was ended by {by}" if by else f"returned {event.exit_code}"
                self._tell_down(f"its process {how}")

    def _tell_down(self, reason: str) -> None:
        self._down = True
        self._cluster.tell_gang(messages.MemberDown(self._plan.attempt, reason))

    def raise_stop(self) -> None:
        """Stops the trainer, at the step where all other members stop if there are any."""
        if self._stops:
            return
        if self._cluster.over_seconds >= 0:
            self._over = True
        joined = self._gang or (self._cluster.follows and (self._task or self.assembles))
        if joined and not self._over:
            self._cluster.ask_gang_stop(self._stop_reason, self._progress())
        if self._over or not self._gang:
            self._beacon.request_stop(Stop.GRACEFUL)

    def ask_checkpoint(self, name: str) -> None:
        """Asks for a checkpoint, of all members if there are others than this one."""
        if self.is_formed:
            self._cluster.tell_gang(messages.SaveProposal(name))
        else:
            self._beacon.request_checkpoint(name)

    # -- what it goes on from ----------------------------------------------------------------

    def _wait(self, now: float) -> Iterator[Occurrence]:
        if self._waits_since is None or self._gang:
            return
        waited_seconds = now - self._waits_since
        in_vain = self.is_split or waited_seconds >= _FORM_SECONDS
        if in_vain and not self._proposed:
            yield self._no_gang
            yield from self._go_alone(_NOT_AGREED)
        elif now >= self._repeat_at:
            self._repeat_at = now + resume_agreement.pause_seconds(self._said)
            self._said += 1
            saved = self._resources.catalog.entries()
            self._states = held_states(saved, self._plan.history.gangs, self._task)
            doubt = self._plan.history.doubt
            self._cluster.tell_gang(self._states.muster(self._plan.attempt, doubt))
        if waited_seconds >= _TOLD_SECONDS and not self._told_waiting:
            self._told_waiting = True
            yield waiting_for(self._others, _FORM_SECONDS)

    def _go_alone(self, reason: str, *, is_refused: bool = False) -> Iterator[Occurrence]:
        """Goes on without an agreement: members with states would continue from different ones."""
        self._waits_since = None
        forced = self._plan.request.settings.force
        yield from self._restoring.agreed_on_nothing(
            "" if forced else reason,
            is_refused=is_refused,
            doubt=_ONE_OF_SEVERAL if self.is_split else "",
        )

    def _obey(self, order: messages.ToMember) -> Iterator[Occurrence]:
        match order:
            case messages.ResumeProposal() if self._waits_since is not None:
                # From here on there is no limit: to read the state takes its time.
                self._proposal, self._proposed, self._said = order, True, 0
            case messages.GangReady() if order.attempt == self._plan.attempt:
                yield from self._ready(order)
            case messages.GangRefused(reason) if self._waits_since is not None:
                # The others end for the same reason: their ends are no losses.
                self._over = True
                yield from self._go_alone(reason, is_refused=True)
            case messages.Settled(mark):
                yield from self._settled(mark)
            case messages.SnapshotOrder(step) if self._gang:
                self._beacon.snapshot_at(step)
            case messages.LevelReport(reason):
                if self._resources.attempt_state.level != "not_exact":
                    yield events.LevelKnown("not_exact", f"{_OTHER}{reason}", [])
            case messages.Hold() | messages.Commit() if self._gang:
                yield from self._stop_as_told(order)
            case messages.GangOver(gang) if gang == self._gang or not self._gang:
                yield from self._broken(order.task, order.reason)

    def _tell_verdict(self) -> None:
        proposal = self._proposal
        if proposal is None or not self._restoring.ready:
            return
        verdict = True
        if proposal.mark != resume_agreement.ANEW:
            found = self._restoring.verdict(self._states.names.get(proposal.mark, ""))
            if found is None:
                return
            verdict = found
        self._proposal = None
        self._cluster.tell_gang(messages.ResumeAnswer(proposal.proposal, verdict))

    def _ready(self, order: messages.GangReady) -> Iterator[Occurrence]:
        if order.gang == self._gang:
            return
        if self._waits_since is None:
            self._cluster.tell_gang(messages.MemberDown(self._plan.attempt, "it continues alone"))
            return
        self._waits_since, self._gang = None, order.gang
        name = self._states.names.get(order.mark, "")
        members = resume_agreement.size_of(order.gang)
        yield events.GangFormed(order.gang, self._task, members, name, order.doubt)
        if name:
            self._resources.persister.tell(Keep(name))
        common = {self._states.names[mark] for mark in order.common if mark in self._states.names}
        yield from self._restoring.agreed(name, order.gang, order.doubt, common)

    # -- what it saves -----------------------------------------------------------------------

    def _marks(self) -> Iterator[tuple[str, str, str]]:
        for entry in self._resources.catalog.entries():
            if entry.manifest:
                info = entry.manifest.info
                yield entry.path.name, mark_in(self._gang, info), info.name

    def _settled(self, mark: str) -> Iterator[Occurrence]:
        for path, known, name in self._marks():
            if known == mark:
                self._resources.persister.tell(Keep(path))
                step = resume_agreement.step_of(mark)
                yield events.GangSaved(self._gang, step, path, name)
                return

    # -- where it stops ----------------------------------------------------------------------

    def _stop_as_told(self, order: messages.Hold | messages.Commit) -> Iterator[Occurrence]:
        held = self._order
        if isinstance(order, messages.Hold):
            if held is not None and order.round < held.round:
                return
            if held is None:
                self._ordered_at = time.monotonic()
            self._order, self._answer = order, None
            self._beacon.hold_from(order.step)
            if not (order.saves or self._resources.attempt_state.stop_requested):
                yield StopAsked(events.StopRequested("cluster", "graceful", reason=order.reason))
            return
        confirmed = messages.HoldAnswer(0, stop_agreement.CONFIRMS, order.step)
        self._cluster.tell_gang(confirmed)
        if held is not None and held.saves:
            if held.step == order.step:
                self._order = None
                # In this order: the trainer sees the request at the end of the step where it waits.
                self._beacon.request_checkpoint(held.name)
                self._beacon.hold_from(NEVER)
        elif held is not None and not self._beacon.stop():
            seconds = round(time.monotonic() - self._ordered_at, 4)
            self._beacon.request_stop(Stop.GRACEFUL)
            yield events.GangStopped(self._gang, order.step, seconds)
            yield Instruction.ARM_DEADLINE

    def _tell_place(self) -> None:
        if self._order is None or self._beacon.stop():
            return
        place = self._beacon.entering(), self._beacon.held()
        answer = stop_agreement.answer_to(self._order, *place)
        if answer != self._answer:
            self._answer = answer
            self._cluster.tell_gang(answer)

    def _broken(self, task: str, reason: str) -> Iterator[Occurrence]:
        """A member is gone: no step can end without it."""
        if self._over or self.has_stopped:
            return
        self._over = True
        if task == self._task:
            if self._was_suspended and self._raised.endswith(_MISSES_ANOTHER):
                # All went on, and none is lost: they can resume.
                yield events.GangBroken(self._gang, task, WAS_SUSPENDED)
            elif self._gang and not self._down and self._resources.lifecycle.is_calm:
                # This member is there; the others went on while it was suspended or out of reach.
                yield self._given_up(reason)
                yield Trigger.HUNG
            return
        if not self._resources.attempt_state.stop_requested:
            yield events.GangBroken(self._gang, task, reason)
        yield from self._end(f"{task}: {reason}")

    def _given_up(self, reason: str) -> events.TrainingStalled:
        progress = self._beacon.progress()
        seconds = (time.monotonic_ns() - progress.boundary_ns) / 1e9 if progress.boundary_ns else 0
        doing = "stopped" if reason == WAS_SUSPENDED else "step"
        place = f"{reason}, and the other members have ended"
        phase = progress.phase.name.lower()
        return events.TrainingStalled(
            round(seconds, 1), phase, progress.step, doing, place, action="kill"
        )

    def _end(self, reason: str) -> Iterator[Occurrence]:
        yield StopAsked(events.StopRequested("cluster", "now", reason=reason))
        if self._resources.lifecycle.state is State.ENDING:
            # It waits for that member, and TensorFlow takes the SIGTERM for itself.
            yield Trigger.STOP_NOW

    def _progress(self) -> LeaderProgress:
        progress, saved = self._beacon.progress(), self._resources.attempt_state.save_seconds
        trains = progress.phase is Phase.TRAIN
        entering = max(self._beacon.entering(), progress.step + 1)
        return LeaderProgress(entering, trains, progress.step_seconds, saved)


def _others(asked: RoleAsked) -> list[str]:
    """The tasks that train together with this one."""
    names = [str(each) for each in sorted(ClusterSpec.from_json(asked.cluster).trainers)]
    return [each for each in names if each != asked.event.task] if len(names) > 1 else []
