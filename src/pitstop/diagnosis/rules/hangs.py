"""Trainings that stood still: noticed by the watchdog, told by stacks and the kernel."""

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.rules import endings, kills, schedulers
from pitstop.diagnosis.wording import ADVICE, tell
from pitstop.durations import duration
from pitstop.observation.kernel_log import parse_oom_kill

_MOST_LINES = 4
_STDLIB = "/lib/python3"
_STILL_STOOD = 0.45
_USED_UP_THE_TIME = 0.993  # above what any rule says of the time limit itself


def stood_still(evidence: Evidence) -> Finding | None:
    stalled = _last_stall(evidence)
    if stalled is None or evidence.state == "completed":
        return None
    repeats = evidence.last(events.ThreadFailed) or _workers_killed(evidence)
    more = () if stalled.action == "restart" or repeats else (ADVICE["restart_on_hang"],)
    return tell(
        "server_stood_still" if stalled.phase == "server" else "stood_still",
        (*_seen(stalled), *_workers_killed(evidence), *evidence.failed_threads),
        confidence=_confidence(evidence, stalled),
        advice=(*_advice(evidence, _doing(evidence, stalled)), *more),
        missing=stalled.missing,
        step=stalled.step,
        phase=stalled.phase.replace("_", " "),
        lasted=duration(_lasted(evidence, stalled)),
        # The command that continues a process that was suspended is for one that exists.
        place=stalled.place.partition("; `kill ")[0] if evidence.exit else stalled.place,
    )


def _lasted(evidence: Evidence, stalled: events.TrainingStalled) -> float:
    """The seconds of the stall, which may have gone on until the trainer's end."""
    return max(stalled.seconds, _since_boundary(evidence))


def _since_boundary(evidence: Evidence) -> float:
    return (evidence.exit.seconds_since_boundary if evidence.exit else None) or 0.0


def _confidence(evidence: Evidence, stalled: events.TrainingStalled) -> float | None:
    if stalled.action != "warn":
        return None
    # Otherwise somebody else ended the run, who may not have known of the stall.
    return _USED_UP_THE_TIME if _time_was_over(evidence) else _STILL_STOOD


def _time_was_over(evidence: Evidence) -> bool:
    ends = (endings.asked_to_stop(evidence), schedulers.job_record(evidence))
    return any(end and end.cause == "time_limit" for end in ends)


def lost_a_worker(evidence: Evidence) -> Finding | None:
    """A data worker died, and the training did not end well; nobody saw it stand still."""
    died = evidence.last(events.WorkerDied)
    if died is None or not died.signal:
        return None
    if evidence.state == "completed" or _last_stall(evidence):
        return None
    ended = EvidenceItem("journal", f"data worker {died.pid} was killed by {died.signal}")
    seen, advice = (ended, *_workers_killed(evidence)), _advice(evidence, "worker")
    stood = _no_step_since(evidence, died)
    return tell(
        "lost_a_worker",
        seen,
        confidence=_USED_UP_THE_TIME if stood and _time_was_over(evidence) else None,
        advice=advice,
        pid=died.pid,
        signal=died.signal,
        since=f", and no step ended in the {duration(stood)} after that" if stood else "",
    )


def _no_step_since(evidence: Evidence, died: events.WorkerDied) -> float:
    """The seconds from a worker's death to a stop that had to be forced; 0 if a step ended."""
    ended = evidence.exit
    if ended is None or not evidence.last(events.StopDeadlinePassed):
        return 0.0
    first, last = (e.time_seconds for e in evidence.entries if e.event is died or e.event is ended)
    return last - first if last - first <= _since_boundary(evidence) else 0.0


def _advice(evidence: Evidence, doing: str) -> tuple[str, ...]:
    if _workers_killed(evidence):
        return (ADVICE["fewer_or_smaller_workers"],)
    failed = evidence.last(events.ThreadFailed)
    if failed and failed.file and doing not in ("stopped", "gone"):
        where = phrases.source_line(failed.file, failed.line, failed.function)
        return (f"Fix {where}: the thread that ended there no longer delivers data.",)
    stuck = ADVICE.get(f"stuck_in_{doing}")
    return (stuck,) if stuck else ()


def _doing(evidence: Evidence, stalled: events.TrainingStalled) -> str:
    if stalled.doing == "stopped" and evidence.exit:
        return "gone"
    in_script = stalled.doing in ("callback", "script")
    waits = in_script and any("for a child process" in each for each in stalled.threads[:1])
    return "child" if waits else stalled.doing


def _workers_killed(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    dead = {event.pid for event in evidence.all(events.WorkerDied)}
    parsed = ((line, parse_oom_kill(line)) for line in evidence.kernel_lines)
    lines = [line for line, kill in parsed if kill and kill.pid in dead]
    if lines:
        return tuple(EvidenceItem("kernel log", line) for line in lines)
    ended = evidence.exit
    by_sigkill = any(event.signal == "SIGKILL" for event in evidence.all(events.WorkerDied))
    if ended is None or not ended.oom_kills or not by_sigkill or evidence.signal == "SIGKILL":
        return ()
    return kills.counter(ended)


def _last_stall(evidence: Evidence) -> events.TrainingStalled | None:
    kinds = (events.TrainingStalled, events.TrainingWentOn)
    told = (entry.event for entry in reversed(evidence.entries))
    last = next((each for each in told if isinstance(each, kinds)), None)
    return last if isinstance(last, events.TrainingStalled) else None


def _seen(stalled: events.TrainingStalled) -> tuple[EvidenceItem, ...]:
    action = "" if stalled.action == "warn" else ", and Pitstop ended it"
    items = [EvidenceItem("watchdog", f"no progress for {stalled.seconds:.0f} s{action}")]
    items += [EvidenceItem("worker", worker) for worker in stalled.workers]
    if stalled.stack:
        own = [each for each in stalled.stack if "site-packages" in each or _STDLIB not in each]
        shown = map(phrases.shorten, (own or stalled.stack)[:_MOST_LINES])
        items.append(EvidenceItem("stack", "\n".join(shown)))
    if stalled.stacks_file:
        items.append(EvidenceItem("stacks", f"of all Python threads: {stalled.stacks_file}"))
    if stalled.threads:
        items.append(EvidenceItem("kernel", stalled.threads[0]))
    return tuple(items)
