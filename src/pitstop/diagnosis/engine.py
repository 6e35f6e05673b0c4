"""Runs all rules over the evidence of one attempt and ranks what they find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, Diagnosis, EvidenceItem, Finding
from pitstop.diagnosis.rules import endings, exceptions, hangs, kills, native, numerics, quiet_ends
from pitstop.diagnosis.rules.unknown import unknown
from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointQuarantined,
    InstrumentationUnavailable,
    TrainerConnected,
)

Rule = Callable[[Evidence], Finding | None]

RULES: tuple[Rule, ...] = (
    endings.scheduler_said,
    endings.asked_to_stop,
    endings.trainer_signalled,
    endings.cpu_time_limit,
    endings.timeout_wrapper,
    kills.host_oom_killed,
    kills.other_process_oom_killed,
    kills.killed_from_outside,
    kills.kill_printed,
    kills.supervisor_lost,
    native.shared_memory_full,
    native.native_no_thread,
    native.native_no_memory,
    native.illegal_instruction,
    native.native_crash,
    hangs.stood_still,
    hangs.lost_a_worker,
    numerics.nan_loss,
    quiet_ends.dataset_exhausted,
    quiet_ends.callback_stop,
    quiet_ends.early_stopping_printed,
    quiet_ends.left_during_fit,
    exceptions.uncaught_exception,
    exceptions.resume_refused,
    exceptions.exit_code,
    endings.completed_normally,
)

_LIKELY = 0.5
_WORTH_TELLING = 0.3

_ENDED_BY_REQUEST: frozenset[CauseId] = frozenset(
    {"stop_requested", "user_interrupt", "preempted_or_terminated", "time_limit"}
)

# A general cause is dropped when a likely finding of a cause that it contains is there.
_YIELDS_TO: Mapping[CauseId, frozenset[CauseId]] = MappingProxyType(
    {
        "completed_normally": frozenset(
            {"nan_loss", "dataset_exhausted", "early_stopping_or_callback_stop"}
        ),
        "killed_from_outside": _ENDED_BY_REQUEST | {"host_oom_killed", "hang_or_stall"},
        "preempted_or_terminated": frozenset({"time_limit"}),
        "native_crash": _ENDED_BY_REQUEST
        | {"shm_exhausted", "host_alloc_failure", "thread_or_process_limit"},
        "early_stopping_or_callback_stop": frozenset({"nan_loss"}),
        "user_code_error": _ENDED_BY_REQUEST
        | {"host_oom_killed", "checkpoint_corrupt_or_mismatch"},
    }
)

_GOES_ON_BY_ITSELF: frozenset[CauseId] = _ENDED_BY_REQUEST | {"killed_from_outside"}
"""After these the same command goes on; after others something must be mended first."""


def diagnose(evidence: Evidence) -> Diagnosis:
    """Why the attempt ended; no finding while it is running."""
    base = Diagnosis(
        attempt=evidence.attempt,
        state=evidence.state,
        finding=None,
        step=evidence.position.step if evidence.position else None,
        checkpoint_step=evidence.checkpoint_step,
        looked_at=_looked_at(evidence),
    )
    if evidence.state == "running":
        return base
    found = rank([finding for rule in RULES if (finding := rule(evidence))])
    first, others = (found[0], found[1:]) if found else (unknown(evidence), [])
    worth = tuple(each for each in others if each.confidence >= _WORTH_TELLING)
    return replace(base, finding=_complete(first, evidence), others=worth)


def rank(findings: list[Finding]) -> list[Finding]:
    """The likeliest first, one of each cause, none that a more specific one contains."""
    likely = {finding.cause for finding in findings if finding.confidence >= _LIKELY}
    kept = [each for each in findings if not _YIELDS_TO.get(each.cause, frozenset()) & likely]
    best: dict[CauseId, Finding] = {}
    for finding in sorted(kept, key=lambda finding: -finding.confidence):
        best.setdefault(finding.cause, finding)
    return list(best.values())


def _complete(finding: Finding, evidence: Evidence) -> Finding:
    return replace(
        finding,
        evidence=(*finding.evidence, *_context(evidence)),
        advice=(*finding.advice, *_resume_advice(finding, evidence)),
        missing=tuple(dict.fromkeys((*finding.missing, *_missing(evidence)))),
    )


def _context(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    items = []
    at, committed = evidence.position, evidence.last(CheckpointCommitted)
    if at:
        place = phrases.place(at.step, at.epoch, at.step_in_epoch)
        phase = f", phase {evidence.exit.phase}" if evidence.exit and evidence.exit.phase else ""
        items.append(EvidenceItem("progress", f"last seen at {place}{phase}"))
    if committed:
        text = f"step {committed.step:,} is saved ({committed.reason}): {committed.path}"
        items.append(EvidenceItem("checkpoint", text))
    failed, damaged = evidence.last(CheckpointFailed), evidence.last(CheckpointQuarantined)
    if failed:
        text = f"saving step {failed.step:,} failed: {failed.error}"
        items.append(EvidenceItem("checkpoint", text))
    if damaged:
        items.append(EvidenceItem("checkpoint", f"{damaged.path} was set aside: {damaged.reason}"))
    return tuple(items)


def _resume_advice(finding: Finding, evidence: Evidence) -> tuple[str, ...]:
    if evidence.state == "completed" or not evidence.attempt:
        return ()
    saved, at = evidence.checkpoint_step, evidence.position
    start = "Run" if finding.cause in _GOES_ON_BY_ITSELF else "After that, run"
    if saved is None:
        return (f"{start} the same command again; it starts anew, no checkpoint was saved.",)
    lost = at.step - saved if at else 0
    again = f" ({phrases.steps(lost)} executed again)" if lost > 0 else ""
    return (f"{start} the same command again: it goes on after step {saved:,}{again}.",)


def _missing(evidence: Evidence) -> list[str]:
    missing = list(evidence.exit.missing) if evidence.exit else ["how the process ended"]
    if not evidence.output and evidence.state != "completed":
        missing.append("the output of the script (it is empty)")
    if evidence.attempt and not evidence.last(TrainerConnected):
        missing.append("steps and exceptions inside the script (it never connected)")
    unavailable = evidence.last(InstrumentationUnavailable)
    if unavailable:
        missing.append(f"steps and exceptions inside the script ({unavailable.reason})")
    return missing


def _looked_at(evidence: Evidence) -> tuple[str, ...]:
    ended = evidence.exit
    sources = {
        f"journal ({len(evidence.entries)} events)": bool(evidence.attempt),
        f"output (last {len(evidence.output):,} characters)": bool(evidence.output),
        "exit status": ended is not None,
        "memory cgroup": ended is not None and ended.oom_kills is not None,
        "kernel log": ended is not None and ended.kernel_lines is not None,
        "limits": ended is not None and bool(ended.limits),
    }
    return tuple(name for name, was_read in sources.items() if was_read)
