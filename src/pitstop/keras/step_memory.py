"""Runs the first steps of a `fit` for the memory that they take, then with larger batches.

The process ends after it, without the script's `finally`, which would save a model.
"""

import time
from typing import Any

import tensorflow as tf

from pitstop.engine.leaving import end_process
from pitstop.engine.session.export_order import ExportEnded, NotExportable, refuse
from pitstop.events import StepMemory
from pitstop.keras.fits.fit_on_workers import FitOnWorkers
from pitstop.keras.fits.fit_run import FitRun
from pitstop.machine import memory
from pitstop.machine.memory import available_bytes
from pitstop.tensorflow.variables import step_memory

_MOST_SECONDS = 15.0
_FEWER_STEPS = 3
_NOISE = 1.002
_GROWTH = 1.5  # of the peak: enough to tell what one record takes
_MOST_SHARE = 256
_OUT_OF_MEMORY = (tf.errors.ResourceExhaustedError, MemoryError)


def look(run: FitRun) -> None:
    """Measures steps in the place of the first epoch, and ends the process."""
    share = run.session.settings.measure_from
    if not share:
        return
    if isinstance(run, FitOnWorkers):
        refuse(run.session, NotExportable("The steps run on the workers of a cluster, not here."))
    started = time.monotonic()
    told = [step_memory.now(0)]
    run.session.report(told[0])
    batch = next(run.input.iterator)
    while len(told) == 1 or _goes_on(told, started):
        told.append(_measured(run, batch, share))
        run.session.report(told[-1])
        share *= 2
    end_process(ExportEnded(0))


def _measured(run: FitRun, batch: Any, share: float) -> StepMemory:
    records = _records(batch)
    if share != 1 and not records:
        refuse(run.session, NotExportable("Its batches are not dense tensors."))
    wanted = max(1, int(records * share))
    step_memory.forget_peaks()
    error = ""
    try:
        if share != 1:
            _run_steps(run, _repeated(run, batch, wanted), _FEWER_STEPS)
        elif not _run_steps(run, run.input.iterator, step_memory.STEPS) and records:
            _run_steps(run, _repeated(run, batch, wanted), step_memory.STEPS)
    except _OUT_OF_MEMORY as problem:
        error = f"{type(problem).__name__}: {str(problem).splitlines()[0]}"
    return step_memory.now(share, wanted, error)


def _run_steps(run: FitRun, iterator: Any, quiet_steps: int) -> bool:
    ends_at = time.monotonic() + _MOST_SECONDS
    peak_bytes = quiet = done = 0
    while quiet < quiet_steps and (done < _FEWER_STEPS or time.monotonic() < ends_at):
        try:
            run.model.train_function(iterator)
        except (tf.errors.OutOfRangeError, StopIteration):
            return False
        now_bytes = memory.peak_bytes()
        quiet = 0 if now_bytes > peak_bytes * _NOISE else quiet + 1
        peak_bytes = max(peak_bytes, now_bytes)
        done += 1
    return True


def _goes_on(told: list[StepMemory], started: float) -> bool:
    *_, before, last = told
    if last.error or not last.records or time.monotonic() - started > 2 * _MOST_SECONDS:
        return False
    if last.share >= told[1].share * _MOST_SHARE or _has_grown(told[1], last):
        return False
    # Before the first batch there was none: it has brought no less than as many again will.
    times = 2 if before.share else 1
    next_bytes = last.peak_bytes + times * (last.peak_bytes - before.peak_bytes)
    return next_bytes < memory.present_bytes() + available_bytes()


def _has_grown(first: StepMemory, last: StepMemory) -> bool:
    pairs = [(first.peak_bytes, last.peak_bytes)]
    pairs += [(first.devices.get(name, 0), peak) for name, peak in last.devices.items()]
    return last is not first and all(after >= _GROWTH * before for before, after in pairs)


def _records(batch: Any) -> int:
    tensors = [each for each in tf.nest.flatten(batch) if each is not None]
    if not tensors or not all(isinstance(each, tf.Tensor) and each.shape.rank for each in tensors):
        return 0
    return int(tensors[0].shape[0])


def _repeated(run: FitRun, batch: Any, records: int) -> Any:
    times = -(-records // _records(batch))
    larger = tf.nest.map_structure(
        lambda each: None if each is None else tf.concat([each] * times, 0)[:records], batch
    )
    spec = run.input.iterator.element_spec
    batches = tf.data.Dataset.from_tensors(larger).map(lambda *parts: _sized(parts, spec))
    return iter(batches.repeat())


@tf.autograph.experimental.do_not_convert
def _sized(parts: tuple[Any, ...], spec: Any) -> Any:
    """Leaves the size open where the script's batch does, so that the step is not traced again."""

    def sized(tensor: Any, given: Any) -> Any:
        if tensor is None or not given.shape.rank or given.shape[0] is not None:
            return tensor
        return tf.compat.v1.placeholder_with_default(tensor, [None, *given.shape[1:]])

    return tf.nest.map_structure(sized, parts if isinstance(spec, tuple) else parts[0], spec)
