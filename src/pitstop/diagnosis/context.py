"""What every finding is told with: where the run stood, what is saved, what nobody saw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, EvidenceItem, Finding
from pitstop.diagnosis.log.advising import about_memory

ENDED_BY_REQUEST: frozenset[CauseId] = frozenset(
    {"stop_requested", "user_interrupt", "preempted_or_terminated", "time_limit"}
)

_GOES_ON_BY_ITSELF: frozenset[CauseId] = ENDED_BY_REQUEST | {"killed_from_outside"}
"""After these the same command goes on; after others something must be mended first."""

_FROM_OUTSIDE: frozenset[CauseId] = frozenset(
    {
        "preempted_or_terminated",
        "time_limit",
        "killed_from_outside",
        "host_oom_killed",
        "hang_or_stall",
        "unknown",
    }
)
"""What the machine and the scheduler record is asked about these."""
_REFUSED: frozenset[CauseId] = frozenset({"gpu_oom", "host_alloc_failure"})


def complete(finding: Finding, evidence: Evidence) -> Finding:
    return replace(
        finding,
        evidence=(*finding.evidence, *_context(evidence)),
        advice=(
            *advice_of(evidence, finding.cause),
            *finding.advice,
            *_resume_advice(finding, evidence),
        ),
        missing=tuple(dict.fromkeys((*finding.missing, *_missing(finding, evidence)))),
    )


def looked_at(evidence: Evidence) -> tuple[str, ...]:
    ended = evidence.exit
    sources = {
        f"journal ({len(evidence.entries)} events)": bool(evidence.attempt),
        f"output (last {len(evidence.output):,} characters)": bool(evidence.output),
        "exit status": ended is not None,
        "memory cgroup": ended is not None and ended.oom_kills is not None,
        "kernel log": ended is not None and ended.kernel_lines is not None,
        "limits": ended is not None and bool(ended.limits),
        "scheduler": bool(evidence.all(events.JobState)),
    }
    return tuple(name for name, was_read in sources.items() if was_read)


def _context(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    items = []
    at, committed = evidence.position, evidence.last(events.CheckpointCommitted)
    if at:
        place = phrases.place(at.step, at.epoch, at.step_in_epoch)
        phase = f", phase {evidence.exit.phase}" if evidence.exit and evidence.exit.phase else ""
        items.append(EvidenceItem("progress", f"last seen at {place}{phase}"))
    if committed:
        text = f"step {committed.step:,} is saved ({committed.reason}): {committed.path}"
        items.append(EvidenceItem("checkpoint", text))
    if saved := evidence.last(events.ScriptSaved):
        text = f"the script itself saved step {saved.step:,}, in {saved.folder}"
        items.append(EvidenceItem("checkpoint", text))
    failed, damaged = (
        evidence.last(events.CheckpointFailed),
        evidence.last(events.CheckpointQuarantined),
    )
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
    if saved is None and (
        evidence.last(events.RoleTaken) or evidence.last(events.InstrumentationUnavailable)
    ):
        return (f"{start} the same command again; it keeps only what the script itself saves.",)
    if saved is None:
        return (f"{start} the same command again; it starts over because no checkpoint was saved.",)
    lost = at.step - saved if at else 0
    again = f" (repeating {phrases.steps(lost)})" if lost > 0 else ""
    level = evidence.last(events.LevelKnown)
    doubt = f"; not exactly: {level.reason}" if level and level.level == "not_exact" else ""
    return (f"{start} the same command again: it resumes after step {saved:,}{again}{doubt}.",)


def _missing(finding: Finding, evidence: Evidence) -> list[str]:
    missing = list(_unseen_outside(finding, evidence))
    if not evidence.output and evidence.state != "completed":
        missing.append("the output of the script (it is empty)")
    if evidence.attempt and not evidence.last(events.TrainerConnected):
        missing.append("steps and exceptions inside the script (it never connected)")
    unavailable = evidence.last(events.InstrumentationUnavailable)
    if unavailable:
        missing.append(f"steps and exceptions inside the script ({unavailable.reason})")
    return missing


def _unseen_outside(finding: Finding, evidence: Evidence) -> list[str]:
    """What the machine and the scheduler did not tell, where it might say something else."""
    if evidence.exit is None:
        return ["how the process ended"]
    if finding.cause not in _FROM_OUTSIDE and not evidence.signal:
        return []
    told = evidence.last(events.JobState)
    unasked = [f"what the scheduler did with job {told.job} ({told.problem})"] if told else []
    return [*evidence.exit.missing, *(unasked if told and told.problem else [])]


def advice_of(evidence: Evidence, cause: CauseId) -> tuple[str, ...]:
    """What the sizes advise, for a memory that was refused; empty for other causes."""
    raised = evidence.raised
    if cause not in _REFUSED or raised is None or evidence.is_bare_log:
        return ()
    gpus = _gpus(evidence) if cause == "gpu_oom" else ()
    return (*about_memory(raised.message, _batch_size(evidence)), *gpus)


def _batch_size(evidence: Evidence) -> int | None:
    fit = evidence.open_fit or evidence.last(events.FitStarted)
    size = fit.data.get("batch_size") if fit else None
    return size if isinstance(size, int) else None


def _gpus(evidence: Evidence) -> Iterator[str]:
    for gpu in evidence.flight.gpus:
        peak_bytes = evidence.flight.gpu_peak_bytes.get(gpu.index)
        if peak_bytes is None or gpu.total_bytes is None:
            continue
        total, peak = phrases.size(gpu.total_bytes), phrases.size(peak_bytes)
        yield f"GPU {gpu.index} has {total}; at most {peak} of it was in use."
        others_bytes = (gpu.used_bytes or 0) - (gpu.own_bytes or 0)
        if gpu.own_bytes is not None and others_bytes > gpu.total_bytes // 20:
            yield f"Other programs used {phrases.size(others_bytes)} of GPU {gpu.index}."
