"""Runs all rules over the evidence of one attempt and ranks what they find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pitstop.diagnosis import output
from pitstop.diagnosis.chain import chain_of
from pitstop.diagnosis.context import ENDED_BY_REQUEST, complete, looked_at
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, Diagnosis, EvidenceItem, Finding
from pitstop.diagnosis.log import verdict
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.rules import (
    endings,
    exceptions,
    gpus,
    hangs,
    kills,
    native,
    numerics,
    quiet_ends,
    schedulers,
    servers,
)
from pitstop.diagnosis.wording import ADVICE

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
    kills.supervisor_lost,
    native.shared_memory_full,
    native.native_no_thread,
    native.native_no_memory,
    native.illegal_instruction,
    native.crash_signal_sent,
    native.native_crash,
    gpus.gpu_fault,
    hangs.stood_still,
    hangs.lost_a_worker,
    servers.released_by_leader,
    servers.store_lost,
    servers.waited_for_worker,
    servers.lost_a_member,
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
    found = _findings(evidence)
    first, others = (found[0], found[1:]) if found else (unknown(evidence), [])
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
    """The likeliest first, one of each cause, none that a more specific one contains."""
    likely = {finding.cause for finding in findings if finding.confidence >= _LIKELY}
    kept = [each for each in findings if not YIELDS_TO.get(each.cause, frozenset()) & likely]
    best: dict[CauseId, Finding] = {}
    for finding in sorted(kept, key=lambda finding: -finding.confidence):
        best.setdefault(finding.cause, finding)
    return list(best.values())


def unknown(evidence: Evidence) -> Finding:
    """An honest "unknown" with what was seen last."""
    ended = evidence.exit
    if ended is None:
        text = "Nothing was recorded about how the script ended."
        seen: tuple[EvidenceItem, ...] = ()
    else:
        how = evidence.signal or f"exit code {ended.exit_code}"
        text = f"The script ended with {how}; no record explains why."
        seen = (EvidenceItem("exit status", how),)
    lines = output.last_lines(evidence.output, 5)
    said = (EvidenceItem("output", "\n".join(lines)),) if lines else ()
    return Finding("unknown", 0.2, text, (*seen, *said), (ADVICE["faulthandler"],))
