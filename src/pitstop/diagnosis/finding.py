"""What a diagnosis says: a cause, how sure it is, why, and what to do."""

from dataclasses import asdict
from typing import Literal, get_args

from pitstop.events import JsonValue
from pitstop.record import Frozen

CauseId = Literal[
    "completed_normally",
    "stop_requested",
    "user_interrupt",
    "preempted_or_terminated",
    "time_limit",
    "killed_from_outside",
    "early_stopping_or_callback_stop",
    "nan_loss",
    "dataset_exhausted",
    "host_oom_killed",
    "host_alloc_failure",
    "gpu_oom",
    "disk_full",
    "shm_exhausted",
    "too_many_open_files",
    "thread_or_process_limit",
    "permission_or_readonly",
    "native_crash",
    "illegal_instruction",
    "gpu_driver_or_library",
    "worker_lost",
    "ps_or_server_never_stops",
    "hang_or_stall",
    "data_error",
    "network_or_download_failure",
    "checkpoint_corrupt_or_mismatch",
    "callback_error",
    "user_code_error",
    "dependency_or_import_error",
    "unknown",
]
"""The causes that a report can name; part of the command line's contract."""

CAUSES: tuple[CauseId, ...] = get_args(CauseId)


class EvidenceItem(Frozen):
    """One thing that was seen, and where: in the "kernel log", the "exit status", the "output"."""

    source: str
    text: str


class Finding(Frozen):
    cause: CauseId
    confidence: float  # from 0 to 1, how sure it is that this ended the attempt
    summary: str  # one sentence with the numbers of this run
    evidence: tuple[EvidenceItem, ...] = ()  # what speaks for it, the strongest first
    advice: tuple[str, ...] = ()  # what to do, the best first
    missing: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        """The path in the repository of the documentation of the cause."""
        return f"docs/causes.md#{self.cause}"

    def to_json(self) -> dict[str, JsonValue]:
        return {**asdict(self), "confidence": round(self.confidence, 2), "page": self.page}


class ChainLink(Frozen):
    """One of the things that led to the end, each to the next, in a few words with their numbers.

    `source` is as in `EvidenceItem`; `time_seconds` since the epoch, None when not known.
    """

    text: str
    source: str
    time_seconds: float | None = None


class Diagnosis(Frozen):
    attempt: int  # its number, 0 for a bare log file
    state: str  # "running", "completed", "stopped", "failed"; "unknown" of a bare log
    finding: Finding | None  # the most likely explanation; None while it is running
    others: tuple[Finding, ...] = ()  # what else was found, the likeliest first
    # what led to the end, the first cause first and the end last; empty where the end has but one
    # cause
    chain: tuple[ChainLink, ...] = ()
    step: int | None = None
    checkpoint_step: int | None = None
    looked_at: tuple[str, ...] = ()

    @property
    def tone(self) -> str:
        """The state; "doubtful" for a run that completed but is of little use."""
        is_doubtful = self.finding is not None and self.finding.cause in _OF_LITTLE_USE
        return "doubtful" if self.state == "completed" and is_doubtful else self.state

    def to_json(self) -> dict[str, JsonValue]:
        """The diagnosis as one flat JSON object; `cause` is null while running."""
        return {
            "attempt": self.attempt,
            "state": self.state,
            **(self.finding.to_json() if self.finding else _NOTHING_YET),
            "others": [other.to_json() for other in self.others],
            "chain": [asdict(link) for link in self.chain],
            "step": self.step,
            "checkpoint_step": self.checkpoint_step,
            "looked_at": list(self.looked_at),
        }


_OF_LITTLE_USE: frozenset[CauseId] = frozenset({"nan_loss", "dataset_exhausted"})
_NOTHING_YET: dict[str, JsonValue] = {
    "cause": None,
    "confidence": None,
    "summary": "The run is still running.",
    "evidence": [],
    "missing": [],
    "advice": [],
    "page": None,
}
