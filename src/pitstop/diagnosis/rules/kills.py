"""SIGKILL: by the kernel for lack of memory if that is proved, else by an unknown sender."""

from pathlib import PurePath

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.log import clues
from pitstop.diagnosis.wording import ADVICE, tell
from pitstop.machine.memory import WATCHERS
from pitstop.observation.kernel_log import OomKill, parse_oom_kill

_POOL_BROKEN = ("BrokenProcessPool", "TerminatedWorkerError")  # of concurrent.futures, and of loky
_MEMBER_SUSPENDED = "member_suspended"  # the code of a notice of `pitstop.launch.member_process`


def host_oom_killed(evidence: Evidence) -> Finding | None:
    ended = evidence.exit
    if ended is None:
        return None
    kills = _kills(ended)
    confidence = _confidence(evidence, ended, kills)
    if confidence is None:
        return None
    status = EvidenceItem("exit status", _status(evidence))
    return tell(
        "oom_killed",
        (*_lines(ended), *counter(ended), *_flight(evidence), status),
        confidence=confidence,
        advice=(*_shuffle_advice(evidence), *_leak_advice(evidence), *_oom_advice(ended, kills)),
        usage=_usage(ended),
    )


def memory_was_short(evidence: Evidence) -> Finding | None:
    ended, memory = evidence.exit, evidence.memory
    if ended is None or evidence.signal != "SIGKILL" or evidence.last(events.StopDeadlinePassed):
        return None
    if not _is_blind(ended) or memory is None or not memory.is_short:
        return None
    seen = (EvidenceItem("exit status", _status(evidence)), *_flight(evidence))
    advice = (*_leak_advice(evidence), *_oom_advice(ended, ()))
    return tell("memory_was_short", seen, advice=advice, memory=memory.words)


def _confidence(
    evidence: Evidence, ended: events.TrainerExited, kills: tuple[OomKill, ...]
) -> float | None:
    if any(kill.pid in evidence.trainer_pids for kill in kills):
        return 0.99
    if evidence.signal != "SIGKILL":
        return None
    if kills and evidence.numbers_differ:
        return 0.95
    if kills:
        # Another process of the cgroup; ours only if a shell hides which one it ran.
        return 0.85 if evidence.is_signal_of_child else None
    if not ended.oom_kills:
        return None
    return 0.9 if ended.kernel_lines is None or evidence.numbers_differ else 0.8


def other_process_oom_killed(evidence: Evidence) -> Finding | None:
    """The kernel killed a process beside the trainer for memory: a data worker, or a neighbour."""
    ended = evidence.exit
    if ended is None or not (ended.oom_kills or _kills(ended)) or host_oom_killed(evidence):
        return None
    dead = {event.pid for event in evidence.all(events.WorkerDied)}
    is_worker = any(kill.pid in dead for kill in _kills(ended))
    if not is_worker and not ended.oom_kills:
        return None  # in a cgroup below ours, which others may have made
    raised = evidence.raised
    if raised and (raised.name in _POOL_BROKEN or clues.signal_told(raised) == "SIGKILL"):
        name = "child_oom_killed"
    else:
        name = "worker_oom_killed" if is_worker else "neighbour_oom_killed"
    failed = raised if name == "child_oom_killed" else None
    told = (EvidenceItem("exception", f"{failed.title}, at {failed.place}"),) if failed else ()
    return tell(name, (*told, *_lines(ended), *counter(ended)))


def killed_from_outside(evidence: Evidence) -> Finding | None:
    ended = evidence.exit
    if ended is None or evidence.signal != "SIGKILL" or evidence.last(events.StopDeadlinePassed):
        return None
    if evidence.signalled_itself:
        return None  # the call is known
    call = evidence.last(events.ExitCalled)
    if call and call.how == events.DRILLED:
        return tell("drilled", (evidence.ended_by_signal,), at=evidence.at_step, by=call.how)
    memory = "no memory kill was counted" if ended.oom_kills == 0 else "its sender is unknown"
    peak = _usage(ended).strip(" :")
    usage = _flight(evidence) or ((EvidenceItem("memory", peak),) if peak else ())
    seen = (EvidenceItem("exit status", _status(evidence)), *counter(ended), *usage)
    # Where much memory was left, it was no kill for memory, even if the kernel shows nothing.
    is_open = _is_blind(ended) and not (evidence.memory and evidence.memory.is_ample)
    return tell(
        "killed_from_outside",
        seen,
        confidence=0.6 if is_open else 0.9,
        advice=(ADVICE["suspect_memory"],) if is_open else (),
        memory=memory,
    )


def lost_in_child(evidence: Evidence) -> Finding | None:
    if evidence.state != "failed" or evidence.exit_code != 0 or evidence.raised:
        return None
    return tell("lost_in_child", [EvidenceItem("exit status", "exit code 0")], at=evidence.at_step)


def supervisor_lost(evidence: Evidence) -> Finding | None:
    is_over = evidence.is_live or evidence.last(events.AttemptEnded)
    if is_over or not evidence.last(events.AttemptStarted):
        return None
    if evidence.exit:
        return None  # the trainer's own end explains more
    last = evidence.entries[-1]
    if isinstance(last.event, events.Notice) and last.event.code == _MEMBER_SUSPENDED:
        return tell("member_suspended", [EvidenceItem("journal", last.event.message)])
    entry = EvidenceItem("journal", f"the last entry is {last.event.kind}; no attempt_ended")
    return tell("supervisor_lost", (entry, *_saved_by_persister(evidence)))


def _saved_by_persister(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    items = [
        EvidenceItem("journal", f"step {event.step:,} was saved after the supervisor had died")
        for event in evidence.all(events.CheckpointCommitted)
        if event.reason == "supervisor_lost"
    ]
    stops = (event.source for event in evidence.all(events.StopRequested))
    if "supervisor_lost" in stops:
        items.append(EvidenceItem("journal", "the trainer was stopped: its supervisor had died"))
    return tuple(items)


def _is_blind(ended: events.TrainerExited) -> bool:
    return ended.oom_kills is None and ended.kernel_lines is None


def _flight(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    memory = evidence.memory
    return (EvidenceItem("flight recorder", memory.words),) if memory else ()


def _leak_advice(evidence: Evidence) -> tuple[str, ...]:
    memory = evidence.memory
    if memory is None or not memory.is_growing:
        return ()
    text = (
        f"Find what grows; a higher limit only delays the failure: {memory.growth_words}. Common "
        "reasons are lists in callbacks, repeated tracing of `tf.function`s, and `.cache()`."
    )
    return (text,)


def _shuffle_advice(evidence: Evidence) -> tuple[str, ...]:
    """Advice if the buffer of a shuffle, once it is full, takes half of the memory or more."""
    fit, ended = evidence.last(events.FitStarted), evidence.exit
    limit_bytes = ended.memory_limit_bytes if ended else None
    if fit is None or not limit_bytes or 2 * fit.shuffle_bytes < limit_bytes:
        return ()
    return (ADVICE["smaller_shuffle"].format(size=phrases.size(fit.shuffle_bytes)),)


def _status(evidence: Evidence) -> str:
    if evidence.is_signal_of_child:
        return f"exit code {evidence.exit_code}: a process that the command ran got SIGKILL"
    return f"ended by {evidence.signal}" if evidence.signal else f"exit code {evidence.exit_code}"


def _kills(ended: events.TrainerExited) -> tuple[OomKill, ...]:
    parsed = (parse_oom_kill(line) for line in ended.kernel_lines or ())
    return tuple(kill for kill in parsed if kill)


def _lines(ended: events.TrainerExited) -> tuple[EvidenceItem, ...]:
    return tuple(EvidenceItem("kernel log", line) for line in ended.kernel_lines or ())


def counter(ended: events.TrainerExited) -> tuple[EvidenceItem, ...]:
    if ended.oom_kills is None:
        return ()
    text = f"processes of the cgroup killed for memory during the attempt: {ended.oom_kills}"
    return (EvidenceItem("memory cgroup", text),)


def _usage(ended: events.TrainerExited) -> str:
    used, limit = ended.max_rss_bytes, ended.memory_limit_bytes
    # Libraries that it maps count for it, and not for its cgroup.
    peak = f"{phrases.size(used)} at its peak" if used and not (limit and used > limit) else ""
    of = f"a cgroup limit of {phrases.size(limit)}" if limit else ""
    words = ", ".join(part for part in (peak, of) if part)
    return f": {words}" if words else ""


def _oom_advice(ended: events.TrainerExited, kills: tuple[OomKill, ...]) -> tuple[str, ...]:
    if any(kill.whole_machine for kill in kills):
        return (ADVICE["whole_machine"], ADVICE["use_less_host_memory"])
    if ended.memory_limit_bytes:
        more = phrases.size(int(ended.memory_limit_bytes * 1.5))
        raised = f"If that is all it needs, raise the limit of the container or job to {more}."
        return (ADVICE["use_less_host_memory"], raised)
    return (ADVICE["use_less_host_memory"],)


def asked_by_watcher(evidence: Evidence) -> Finding | None:
    stop = evidence.stop
    if stop is None or evidence.state == "completed":
        return None
    words = stop.sender_command.split()
    name = PurePath(words[0]).name if words else ""
    was_ample = evidence.memory is not None and evidence.memory.is_ample
    if name not in WATCHERS or was_ample:
        return None
    sender = EvidenceItem("journal", f"{stop.signal} came from `{stop.sender_command}`")
    seen = (sender, *_flight(evidence))
    memory = _in_words(evidence)
    return tell("asked_by_watcher", seen, name=name, signal=stop.signal, memory=memory)


def killed_by_watcher(evidence: Evidence) -> Finding | None:
    ended, memory = evidence.exit, evidence.memory
    by_kill = evidence.signal in ("SIGTERM", "SIGKILL") and evidence.stop is None
    if ended is None or not by_kill or not ended.memory_watchers or ended.oom_kills:
        return None
    if memory is None or not memory.is_short or memory.limited_by != "machine":
        return None
    watchers = f"{', '.join(ended.memory_watchers)} runs on this machine"
    seen = (evidence.ended_by_signal, EvidenceItem("processes", watchers), *_flight(evidence))
    name = ended.memory_watchers[0]
    return tell("killed_by_watcher", seen, name=name, memory=_in_words(evidence))


def _in_words(evidence: Evidence) -> str:
    return f": {evidence.memory.words}" if evidence.memory else ""
