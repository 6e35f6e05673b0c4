"""Advice with the sizes of this run: its batch, the tensor that did not fit, the GPU's memory."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.log.advising import about_memory
from pitstop.events import FitStarted

_REFUSED: frozenset[CauseId] = frozenset({"gpu_oom", "host_alloc_failure"})


def advice_of(evidence: Evidence, cause: CauseId) -> tuple[str, ...]:
    """What the sizes advise, for a memory that was refused; empty for other causes."""
    raised = evidence.raised
    if cause not in _REFUSED or raised is None:
        return ()
    gpus = _gpus(evidence) if cause == "gpu_oom" else ()
    return (*about_memory(raised.message, _batch_size(evidence)), *gpus)


def _batch_size(evidence: Evidence) -> int | None:
    fit = evidence.open_fit or evidence.last(FitStarted)
    size = fit.data.get("batch_size") if fit else None
    return size if isinstance(size, int) else None


def _gpus(evidence: Evidence) -> Iterator[str]:
    flight = evidence.flight
    for gpu in flight.gpus if flight else ():
        peak_bytes = flight.gpu_peak_bytes.get(gpu.index) if flight else None
        if peak_bytes is None or gpu.total_bytes is None:
            continue
        total, peak = phrases.size(gpu.total_bytes), phrases.size(peak_bytes)
        yield f"GPU {gpu.index} has {total}, of which at most {peak} were seen in use."
        others_bytes = (gpu.used_bytes or 0) - (gpu.own_bytes or 0)
        if gpu.own_bytes is not None and others_bytes > gpu.total_bytes // 20:
            yield f"Other programs held {phrases.size(others_bytes)} of GPU {gpu.index}."
