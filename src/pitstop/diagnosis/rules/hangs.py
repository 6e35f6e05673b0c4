"""Trainings that stood still: noticed by the watchdog, told by stacks and the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.events import ThreadFailed, TrainingStalled, TrainingWentOn, WorkerDied
from pitstop.observation.kernel_log import parse_oom_kill

_MOST_LINES = 4
_ENDED_FOR_IT = 0.97
_STILL_STOOD = 0.45
_WORKER_ONLY = 0.35

_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "input": "Look at the line above: what the input waits for (a download, a mount, a lock, "
        "a queue) needs a timeout.",
        "worker": "Find out what killed the worker (memory: `dmesg`); a PyDataset with "
        "`workers=0`, or threads in place of processes, cannot lose one silently.",
        "callback": "Look at the line above; a callback that talks to a server needs a timeout.",
        "save": "Look at the disk of the run's folder: `df -h`, `dmesg`, the state of its mount.",
        "disk": "Look at that file's mount: `dmesg`, `mount`, the state of the server.",
        "exit": "Make the script's own threads daemons, or end them before its last line.",
        "stopped": "Find out who suspended it, and let it go on.",
    }
)
_LESS_MEMORY = (
    "The kernel killed a data worker for memory: raise the memory limit, or use fewer workers, "
    "smaller queues (`max_queue_size`) and smaller batches."
)
_RESTART = "`pitstop run --on-hang restart --restarts 3` goes on by itself after such an end."


def stood_still(evidence: Evidence) -> Finding | None:
    """The training made no progress, and it never did again."""
    stalled = _last_stall(evidence)
    if stalled is None or evidence.state == "completed":
        return None
    ended_for_it = stalled.action != "warn"
    # Without that somebody else ended it, who may not have known.
    confidence = _ENDED_FOR_IT if ended_for_it else _STILL_STOOD
    phase = stalled.phase.replace("_", " ")
    text = (
        f"The training stood still at step {stalled.step:,} ({phase}) for "
        f"{stalled.seconds:.0f} s: {stalled.place}."
    )
    seen = (*_seen(stalled), *_workers_killed(evidence), *_failed_threads(evidence))
    more = () if stalled.action == "restart" else (_RESTART,)
    advice = (*_advice(evidence, stalled.doing), *more)
    return Finding("hang_or_stall", confidence, text, seen, advice, tuple(stalled.missing))


def lost_a_worker(evidence: Evidence) -> Finding | None:
    """A data worker died, and the training did not end well; nobody saw it stand still."""
    died = evidence.last(WorkerDied)
    if died is None or not died.signal:
        return None
    if evidence.state == "completed" or _last_stall(evidence):
        return None
    text = f"Process {died.pid}, which worked for the training, was ended by {died.signal}."
    seen = (EvidenceItem("journal", text), *_workers_killed(evidence))
    return Finding("hang_or_stall", _WORKER_ONLY, text, seen, _advice(evidence, "worker"))


def _advice(evidence: Evidence, doing: str) -> tuple[str, ...]:
    """What to do, from what is known of the cause behind the standstill."""
    if _workers_killed(evidence):
        return (_LESS_MEMORY,)
    failed = evidence.last(ThreadFailed)
    if failed and failed.file and doing != "stopped":
        where = phrases.source_line(failed.file, failed.line, failed.function)
        return (f"Mend {where}: the thread that ended there delivers nothing any more.",)
    return (_ADVICE[doing],) if doing in _ADVICE else ()


def _workers_killed(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    """The kernel's words on data workers that it killed for memory."""
    dead = {event.pid for event in evidence.all(WorkerDied)}
    parsed = ((line, parse_oom_kill(line)) for line in evidence.kernel_lines)
    lines = [line for line, kill in parsed if kill and kill.pid in dead]
    if lines:
        return tuple(EvidenceItem("kernel log", line) for line in lines)
    counted = evidence.exit.oom_kills if evidence.exit else None
    by_sigkill = any(event.signal == "SIGKILL" for event in evidence.all(WorkerDied))
    if not counted or not by_sigkill or evidence.signal == "SIGKILL":
        return ()
    text = f"processes of the cgroup killed for memory during the attempt: {counted}"
    return (EvidenceItem("memory cgroup", text),)


def _failed_threads(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    return tuple(
        EvidenceItem(
            "thread",
            f"{failed.thread} had ended with {failed.class_name}: "
            f"{phrases.shorten(failed.message, 120)} "
            f"({phrases.source_line(failed.file, failed.line, failed.function)})",
        )
        for failed in evidence.all(ThreadFailed)
    )


def _last_stall(evidence: Evidence) -> TrainingStalled | None:
    """The standstill that the attempt did not leave."""
    events = [entry.event for entry in evidence.entries]
    kinds = (TrainingStalled, TrainingWentOn)
    last = next((each for each in reversed(events) if isinstance(each, kinds)), None)
    return last if isinstance(last, TrainingStalled) else None


def _seen(stalled: TrainingStalled) -> tuple[EvidenceItem, ...]:
    action = "" if stalled.action == "warn" else ", and Pitstop ended it"
    items = [EvidenceItem("watchdog", f"no progress for {stalled.seconds:.0f} s{action}")]
    items += [EvidenceItem("data worker", worker) for worker in stalled.workers]
    if stalled.stack:
        items.append(EvidenceItem("stack", "\n".join(_telling(stalled.stack))))
    if stalled.stacks_file:
        items.append(EvidenceItem("stacks", f"of all Python threads: {stalled.stacks_file}"))
    if stalled.threads:
        items.append(EvidenceItem("kernel", stalled.threads[0]))
    return tuple(items)


def _telling(stack: list[str]) -> list[str]:
    """The innermost lines, without those of Python's own library if others are there."""
    others = [line for line in stack if "site-packages" in line or "/lib/python3" not in line]
    return [phrases.shorten(line) for line in (others or stack)[:_MOST_LINES]]
