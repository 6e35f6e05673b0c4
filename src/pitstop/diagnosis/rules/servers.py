"""Servers of a cluster, which wait for requests and never end by themselves."""

import re

from pitstop import events
from pitstop.cluster.spec import EVALUATOR, own_task
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.wording import tell
from pitstop.exit_codes import EXIT_REFUSED

_STARTED = re.compile(r"^.*Started server with target: ?(?P<target>\S+).*$", re.MULTILINE)
"""TensorFlow's words, from grpc_server_lib.cc."""

_JOIN = re.compile(r"\bserver\.join\b|, in join$|server_lib\.py")
_SERVERS = frozenset({"ps", "worker", "parameter_server"})
_STORE_ENDS = {
    "lost": "no longer responded",
    "failed": "failed",
    "stopped": "was stopped",
    "restarted": "ended and was restarted",
}
_STORE = re.compile(r"/job:ps/(?:replica:\d+/)?task:(\d+)")
_UNAVAILABLE = ("UnavailableError", "AbortedError")
_SEEN_WAITING = 0.9
# The codes of notices of `pitstop.supervisor.attempt.membership`.
_WORKER_GONE = "worker_lost"
_SUSPENDED = "suspended"
_OVER = "member_over"  # of `pitstop.launch.member_process`
_STORE_GONE = "parameter_server_lost"


def released_by_leader(evidence: Evidence) -> Finding | None:
    event = evidence.last(events.MemberReleased)
    stalled = evidence.last(events.TrainingStalled)
    had_failed = (
        evidence.last(events.ExceptionRaised)
        or evidence.refusal
        or (stalled and stalled.action == "kill")
    )
    if event is None or (evidence.state == "failed" and (had_failed or _ended_before(evidence))):
        return None
    if suspended_together(evidence):
        return None
    seen = (EvidenceItem("journal", f"{event.leader}: {event.outcome}, {event.reason}"),)
    outcome = event.outcome if event.outcome in ("completed", "stopped", "lost") else "failed"
    if event.outcome == "completed" and evidence.state == "failed":
        outcome = "over" if comes_too_late(evidence) else "outlived"
    return tell(f"leader_{outcome}", seen, leader=event.leader, reason=event.reason)


def _ended_before(evidence: Evidence) -> bool:
    """Whether the process of this member had ended when its leader told its own end."""
    kinds = [type(entry.event) for entry in evidence.entries]
    ended = kinds.index(events.TrainerExited) if events.TrainerExited in kinds else len(kinds)
    return ended < kinds.index(events.MemberReleased)


def comes_too_late(evidence: Evidence) -> bool:
    """Whether this member was started after its leader, which it needs to train, had completed."""
    if any(each.code == _OVER for each in evidence.all(events.Notice)):
        return True
    released, ended = evidence.last(events.MemberReleased), evidence.last(events.AttemptEnded)
    is_over = released is not None and released.outcome == "completed"
    return is_over and ended is not None and ended.exit_code == EXIT_REFUSED


def leader_of(evidence: Evidence) -> str:
    """The task that leads this run, and saves; empty if it has not been reached."""
    event = evidence.last(events.MemberReleased) or evidence.last(events.LeaderFound)
    return event.leader if event else ""


def store_lost(evidence: Evidence) -> Finding | None:
    so_far = [each.event for each in evidence.entries]
    if evidence.exit in so_far:
        # After the end of its trainer, this run ends them itself.
        so_far = so_far[: so_far.index(evidence.exit)]
    gone = (events.MemberEnded, events.MemberRestarted)
    stores = [each for each in so_far if isinstance(each, gone) and each.task.startswith("ps ")]
    if evidence.state != "failed" or evidence.stop is not None:
        return None
    if not stores:
        return _store_unavailable(evidence)
    event = stores[0]
    state = event.state if isinstance(event, events.MemberEnded) else "restarted"
    how = _STORE_ENDS.get(state, state)
    seen = EvidenceItem("journal", f"{event.task}: {how}")
    return tell("store_lost", [seen], task=event.task, how=f"{event.task} on {event.host} {how}")


def _store_unavailable(evidence: Evidence) -> Finding | None:
    """A lost parameter server whose supervisor has not reported it; it may run in this run."""
    raised = evidence.last(events.ExceptionRaised)
    gone = [each for each in evidence.all(events.Notice) if each.code == _STORE_GONE]
    if gone:
        task, seen = _named_in(gone[-1]), EvidenceItem("journal", gone[-1].message)
    else:
        if raised is None or not _is_of_a_lost_task(raised):
            return None
        named = _STORE.search(raised.message)
        if named is None:
            return None
        task, seen = f"ps {named[1]}", EvidenceItem("exception", phrases.shorten(raised.message))
    is_own = any(each.task == task for each in evidence.all(events.RoleTaken))
    kind = "own_store_lost" if is_own else "store_lost"
    return tell(kind, [seen], task=task, how=f"{task} no longer responded")


def _named_in(notice: events.Notice) -> str:
    return notice.message.partition(" is gone")[0]


def waited_for_worker(evidence: Evidence) -> Finding | None:
    gone = [each for each in evidence.all(events.Notice) if each.code == _WORKER_GONE]
    if not gone:
        return None
    seen = EvidenceItem("journal", gone[-1].message)
    return tell("worker_gone", [seen], task=_named_in(gone[-1]))


def lost_a_member(evidence: Evidence) -> Finding | None:
    event = evidence.last(events.GangBroken) or _failed_before_it_met(evidence)
    if event is None or evidence.refusal or suspended_together(evidence):
        return None
    seen = (EvidenceItem("journal", f"{event.task}: {event.reason}"),)
    return tell("member_lost", seen, task=event.task, reason=event.reason)


def _failed_before_it_met(evidence: Evidence) -> events.GangBroken | None:
    """The failed member for which this one waited in vain, as an event; None if there is none."""
    stop = evidence.stop
    if stop is None or stop.source != "cluster":
        return None
    failed = (each for each in evidence.all(events.MemberEnded) if each.state == "failed")
    found = next((each for each in failed if stop.reason.startswith(f"{each.task}:")), None)
    if found is None:
        return None
    return events.GangBroken("", found.task, f"it failed with exit code {found.exit_code}")


def suspended_together(evidence: Evidence) -> Finding | None:
    """Workers that were suspended together take each other for lost when they go on."""
    raised, broken = evidence.last(events.ExceptionRaised), evidence.last(events.GangBroken)
    told = [each for each in evidence.all(events.Notice) if each.code == _SUSPENDED]
    of_another = broken is not None and broken.reason.endswith(_UNAVAILABLE)
    if not told or not (of_another or (raised and _is_of_a_lost_task(raised))):
        return None
    return tell("suspended_together", [EvidenceItem("journal", told[-1].message)])


def _is_of_a_lost_task(raised: events.ExceptionRaised) -> bool:
    return raised.class_name.rpartition(".")[2] in _UNAVAILABLE


def completed_member(evidence: Evidence) -> Finding | None:
    """A member that trained with this one had completed, and TensorFlow failed without it."""
    raised, gang = evidence.last(events.ExceptionRaised), evidence.last(events.GangFormed)
    ended = [each for each in evidence.all(events.MemberEnded) if each.state == "completed"]
    if gang is None or raised is None or not ended or not _is_of_a_lost_task(raised):
        return None
    seen = EvidenceItem("journal", f"{ended[0].task}: completed")
    return tell("member_completed", [seen], task=ended[0].task)


def server_waits(evidence: Evidence) -> Finding | None:
    """A server was started, no training was seen in this process, and something ended it."""
    if evidence.state == "completed" or evidence.last(events.FitStarted):
        return None
    if evidence.last(events.MemberReleased) or evidence.last(events.LeaderFound):
        return None
    started, task = _STARTED.search(evidence.output), _task(evidence)
    role = evidence.last(events.RoleTaken)
    if role is not None and role.role != "server":
        return None
    if not (started or role) and task not in ("ps", "parameter_server"):
        return None
    if evidence.stop is None and not evidence.signal:
        return None
    items = [EvidenceItem("output", phrases.shorten(started[0]))] if started else []
    items += [EvidenceItem("environment", f'TF_CONFIG: this is a "{task}"')] if task else []
    was_joining = role is not None or bool(_JOIN.search(evidence.output))
    if role:
        items.append(EvidenceItem("journal", f"process {role.pid} {role.part}"))
    confidence = _SEEN_WAITING if was_joining else None
    named = f' (TF_CONFIG: "{task}")' if task else ""
    return tell("server_waits", items, confidence=confidence, named=named)


def evaluates(evidence: Evidence) -> bool:
    return _kind(evidence) == EVALUATOR


def _task(evidence: Evidence) -> str:
    kind = _kind(evidence)
    return kind if kind in _SERVERS else ""


def _kind(evidence: Evidence) -> str:
    started = evidence.first(events.AttemptStarted)
    variables: events.JsonValue = started.environment.get("env", {}) if started else {}
    task = own_task(variables) if isinstance(variables, dict) else None
    return task.kind if task else ""
