"""Kills for memory that the kernel does not count: programs that watch the memory do them."""

from __future__ import annotations

from pathlib import PurePath

from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.machine.memory_watchers import WATCHERS

_USE_LESS = "Use less memory, or a machine with more; `pitstop status` shows what the run takes."
_LOGS = "`journalctl -u {name}` tells what it saw."


def asked_by_watcher(evidence: Evidence) -> Finding | None:
    """A memory watcher asked Pitstop to end: the kernel names the sender of the signal."""
    stop = evidence.stop
    if stop is None or evidence.state == "completed":
        return None
    words = stop.sender_command.split()
    name = PurePath(words[0]).name if words else ""
    was_ample = evidence.memory is not None and evidence.memory.is_ample
    if name not in WATCHERS or was_ample:
        return None
    text = f"{name} ended the run with {stop.signal} because memory was short{_memory(evidence)}."
    seen = (
        EvidenceItem("journal", f"{stop.signal} came from `{stop.sender_command}`"),
        *_memory_items(evidence),
    )
    return Finding("host_oom_killed", 0.985, text, seen, (_USE_LESS, _LOGS.format(name=name)))


def killed_by_watcher(evidence: Evidence) -> Finding | None:
    """The trainer was killed while memory was short and a memory watcher was running."""
    ended, memory = evidence.exit, evidence.memory
    by_kill = evidence.signal in ("SIGTERM", "SIGKILL") and evidence.stop is None
    if ended is None or not by_kill or not ended.memory_watchers or ended.oom_kills:
        return None
    if memory is None or not memory.is_short or memory.limited_by != "machine":
        return None
    name = ended.memory_watchers[0]
    text = f"Most likely {name} ended the trainer because memory was short{_memory(evidence)}."
    seen = (
        EvidenceItem("exit status", f"ended by {evidence.signal}"),
        EvidenceItem("processes", f"{', '.join(ended.memory_watchers)} runs on this machine"),
        *_memory_items(evidence),
    )
    advice = (_LOGS.format(name=name), _USE_LESS)
    return Finding("host_oom_killed", 0.88, text, seen, advice, ("who sent the signal",))


def _memory(evidence: Evidence) -> str:
    return f": {evidence.memory.words}" if evidence.memory else ""


def _memory_items(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    return (EvidenceItem("flight recorder", evidence.memory.words),) if evidence.memory else ()
