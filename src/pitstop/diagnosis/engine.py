"""Runs all rules over the evidence of one attempt, ranks and completes what they find."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.diagnosis.chain import chain_of
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, Diagnosis, EvidenceItem, Finding
from pitstop.diagnosis.log import verdict
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.lines import last_lines
from pitstop.diagnosis.log.verdict import about_memory
from pitstop.diagnosis.rules import (
    endings,
    exceptions,
    hangs,
    kills,
    native,
    numerics,
    quiet_ends,
    schedulers,
    servers,
)
from pitstop.diagnosis.signatures.signals import SIGNALS
from pitstop.diagnosis.wording import ADVICE

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
_OWN_SAVES = "it keeps only what the script itself saves"
_STEPPING = ("first_step", "train")
_REFUSED: frozenset[CauseId] = frozenset({"gpu_oom", "host_alloc_failure"})


def complete(finding: Finding, evidence: Evidence) -> Finding:
    return replace(
        finding,
        evidence=(*finding.evidence, *_context(evidence)),
        advice=(
            *advice_of(evidence, finding.cause),
            *finding.advice,
            *_shrink_advice(finding, evidence),
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
    items, told = [], []
    if at := evidence.position:
        place = phrases.place(at.step, at.epoch, at.step_in_epoch)
        phase = f", phase {evidence.exit.phase}" if evidence.exit and evidence.exit.phase else ""
        items.append(EvidenceItem("progress", f"last seen at {place}{phase}"))
    if committed := evidence.last(events.CheckpointCommitted):
        told.append(f"step {committed.step:,} is saved ({committed.reason}): {committed.path}")
    if saved := evidence.last(events.ScriptSaved):
        told.append(f"the script itself saved step {saved.step:,}, in {saved.folder}")
    if failed := evidence.last(events.CheckpointFailed):
        told.append(f"saving step {failed.step:,} failed: {failed.error}")
    if damaged := evidence.last(events.CheckpointQuarantined):
        told.append(f"{damaged.path} was set aside: {damaged.reason}")
    return (*items, *(EvidenceItem("checkpoint", text) for text in told))


def _shrink_advice(finding: Finding, evidence: Evidence) -> tuple[str, ...]:
    raised, ended = evidence.last(events.ExceptionRaised), evidence.exit
    phase = raised.phase if raised else (ended.phase if ended else "")
    in_a_step = phase in _STEPPING and not (raised and raised.callback)
    grows = evidence.memory is not None and evidence.memory.is_growing
    if not in_a_step or grows or evidence.last(events.BatchDivided):
        return ()
    return (ADVICE["shrink_batches"],) if finding.cause in (*_REFUSED, "host_oom_killed") else ()


def _resume_advice(finding: Finding, evidence: Evidence) -> tuple[str, ...]:
    is_over = servers.completed_member(evidence) or servers.comes_too_late(evidence)
    if evidence.state == "completed" or not evidence.attempt or is_over:
        return ()
    saved, at = evidence.checkpoint_step, evidence.position
    start = "Run" if finding.cause in _GOES_ON_BY_ITSELF else "After that, run"
    if saved is None and (
        evidence.last(events.RoleTaken) or evidence.last(events.InstrumentationUnavailable)
    ):
        leader = servers.leader_of(evidence)
        saves = f"{leader} resumes from what it has saved" if leader else _OWN_SAVES
        return (f"{start} the same command again; {saves}.",)
    if saved is None:
        return (f"{start} the same command again{_without_checkpoint(evidence)}.",)
    if evidence.is_spoiled:
        is_told = finding.cause == "nan_loss"
        return () if is_told else (ADVICE["start_over"].format(saved=saved),)
    lost = at.step - saved if at else 0
    again = f" (repeating {phrases.steps(lost)})" if lost > 0 else ""
    common = evidence.last(events.GangSaved)
    if evidence.last(events.GangFormed) and (common is None or common.step < saved):
        again += ", or earlier if another member has not saved that step"
    level = evidence.last(events.LevelKnown)
    doubt = f"; not exactly: {level.reason}" if level and level.level == "not_exact" else ""
    return (f"{start} the same command again: it resumes after step {saved:,}{again}{doubt}.",)


def _without_checkpoint(evidence: Evidence) -> str:
    """What the run does the next time, in words; it has saved nothing, but its script may have."""
    if servers.evaluates(evidence):
        return "; it evaluates what the training has saved"
    sought = evidence.all(events.CheckpointsSought)
    if not sought:
        return "; it starts over because no checkpoint was saved"
    # A `CheckpointManager` looks in its folder, also where the script restores from another one.
    folders = " or ".join(dict.fromkeys(each.folder for each in sought))
    goes_on = f": it continues from the script's own checkpoints in {folders}"
    found = any(each.found for each in sought)
    return goes_on if found else f"{goes_on} if there are any, and starts over otherwise"


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
    if evidence.exit is None:
        return ["how the process ended"]
    if finding.cause not in _FROM_OUTSIDE and not evidence.signal:
        return []
    told = evidence.last(events.JobState)
    unasked = [f"what the scheduler did with job {told.job} ({told.problem})"] if told else []
    return [*evidence.exit.missing, *(unasked if told and told.problem else [])]


def advice_of(evidence: Evidence, cause: CauseId) -> tuple[str, ...]:
    raised = evidence.raised
    if cause not in _REFUSED or raised is None or evidence.is_bare_log:
        return ()
    gpus = _gpus(evidence) if cause == "gpu_oom" else ()
    fit = evidence.open_fit or evidence.last(events.FitStarted)
    size = fit.data.get("batch_size") if fit else None
    return (*about_memory(raised.message, size if isinstance(size, int) else None), *gpus)


def _gpus(evidence: Evidence) -> Iterator[str]:
    for gpu in evidence.flight.gpus:
        peak_bytes = evidence.flight.gpu_peak_bytes.get(gpu.index)
        if peak_bytes is None or gpu.total_bytes is None:
            continue
        total, peak = phrases.size(gpu.total_bytes), phrases.size(peak_bytes)
        yield f"GPU {gpu.index} has {total}; at most {peak} of it was in use."
        if peak_bytes < gpu.total_bytes // 2:
            yield _LIMITED
        others_bytes = (gpu.used_bytes or 0) - (gpu.own_bytes or 0)
        if gpu.own_bytes is not None and others_bytes > gpu.total_bytes // 20:
            yield f"Other programs used {phrases.size(others_bytes)} of GPU {gpu.index}."


_LIMITED = (
    "Most of it was free: either the refused value is larger than the rest, or the script limits "
    "what TensorFlow takes (memory_limit)."
)

Rule = Callable[[Evidence], Finding | None]

RULES: tuple[Rule, ...] = (
    schedulers.job_record,
    schedulers.job_clock,
    endings.scheduler_said,
    endings.asked_to_stop,
    endings.stopped_by_somebody,
    endings.trainer_signalled,
    endings.cpu_time_limit,
    endings.timeout_wrapper,
    kills.host_oom_killed,
    kills.memory_was_short,
    kills.asked_by_watcher,
    kills.killed_by_watcher,
    kills.other_process_oom_killed,
    kills.killed_from_outside,
    kills.lost_in_child,
    kills.supervisor_lost,
    native.shared_memory_full,
    native.native_no_thread,
    native.native_no_memory,
    native.illegal_instruction,
    native.crash_signal_sent,
    native.native_crash,
    native.gpu_fault,
    hangs.stood_still,
    hangs.lost_a_worker,
    servers.released_by_leader,
    servers.store_lost,
    servers.waited_for_worker,
    servers.lost_a_member,
    servers.suspended_together,
    servers.completed_member,
    servers.server_waits,
    numerics.nan_loss,
    quiet_ends.dataset_exhausted,
    quiet_ends.callback_stop,
    quiet_ends.early_stopping_printed,
    quiet_ends.left_during_fit,
    quiet_ends.exit_called,
    exceptions.uncaught_exception,
    exceptions.resume_refused,
    exceptions.exit_code,
    endings.completed_normally,
)

_LIKELY = 0.5
_WORTH_TELLING = 0.3

# A general cause is dropped when a likely finding of a cause that it contains is there.
YIELDS_TO: Mapping[CauseId, frozenset[CauseId]] = {
    "completed_normally": frozenset(
        {"nan_loss", "dataset_exhausted", "early_stopping_or_callback_stop"}
    ),
    "killed_from_outside": ENDED_BY_REQUEST | {"host_oom_killed", "hang_or_stall"},
    "preempted_or_terminated": frozenset({"time_limit"}),
    "native_crash": ENDED_BY_REQUEST
    | {"shm_exhausted", "host_alloc_failure", "thread_or_process_limit"},
    "early_stopping_or_callback_stop": frozenset({"nan_loss"}),
    "user_code_error": ENDED_BY_REQUEST | {"host_oom_killed", "checkpoint_corrupt_or_mismatch"},
}


def diagnose(evidence: Evidence) -> Diagnosis:
    """Why the attempt ended; no finding while it is running."""
    base = Diagnosis(
        attempt=evidence.attempt,
        state=evidence.state,
        finding=None,
        step=evidence.position.step if evidence.position else None,
        checkpoint_step=evidence.checkpoint_step,
        looked_at=looked_at(evidence),
    )
    if evidence.state == "running":
        return base
    first, *others = _findings(evidence) or [unknown(evidence)]
    worth = tuple(each for each in others if each.confidence >= _WORTH_TELLING)
    return replace(
        base,
        finding=complete(first, evidence),
        others=worth,
        chain=chain_of(evidence, first.cause),
    )


def _findings(evidence: Evidence) -> list[Finding]:
    if evidence.is_bare_log:
        ended = evidence.exit
        code, name = (ended.exit_code, ended.signal) if ended else (None, "")
        return verdict.findings(Ending(evidence.log, code, name))
    return rank([finding for rule in RULES if (finding := rule(evidence))])


def rank(findings: list[Finding]) -> list[Finding]:
    """The most likely first, one for each cause, none that a more specific one contains."""
    likely = {finding.cause for finding in findings if finding.confidence >= _LIKELY}
    kept = [each for each in findings if not YIELDS_TO.get(each.cause, frozenset()) & likely]
    best: dict[CauseId, Finding] = {}
    for finding in sorted(kept, key=lambda finding: -finding.confidence):
        best.setdefault(finding.cause, finding)
    return list(best.values())


def unknown(evidence: Evidence) -> Finding:
    ended = evidence.exit
    if ended is None:
        text = f"Nothing was recorded about how the script ended{_last_seen(evidence)}."
        seen: tuple[EvidenceItem, ...] = ()
    else:
        how = evidence.signal or f"exit code {ended.exit_code}"
        text = f"The script ended with {how}; no record explains why."
        seen = (EvidenceItem("exit status", how),)
    if sign := SIGNALS.get(evidence.signal):
        text, advice = f"{sign.headline}{evidence.at_step}.", (ADVICE[each] for each in sign.advice)
        return Finding(sign.cause, sign.confidence, text, seen, tuple(advice))
    lines = last_lines(evidence.output, 5)
    said = (EvidenceItem("output", "\n".join(lines)),) if lines else ()
    where_to_look = () if ended else ("read_on",) if _is_cut(evidence) else ("look_outside",)
    advice = (ADVICE[each] for each in (*where_to_look, "faulthandler"))
    return Finding("unknown", 0.2, text, (*seen, *said), tuple(advice))


def _is_cut(evidence: Evidence) -> bool:
    tracebacks = evidence.log.tracebacks if evidence.is_bare_log else ()
    return bool(tracebacks) and tracebacks[-1].is_cut


def _last_seen(evidence: Evidence) -> str:
    """Where the training stood in a log that breaks off."""
    if _is_cut(evidence):
        return "; the log breaks off within a traceback"
    told = evidence.log.progress if evidence.is_bare_log else ()
    epoch = next((each for each in reversed(told) if each.epoch is not None), None)
    if epoch is None:
        return ""
    of = f" of {epoch.epochs}" if epoch.epochs else ""
    step = f" ({told[-1].done:,} of {told[-1].total:,})" if told[-1].total else ""
    return f"; the log breaks off in epoch {epoch.epoch}{of}{step}"
