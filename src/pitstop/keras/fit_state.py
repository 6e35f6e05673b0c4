"""The part of a saved state that says how a `fit` stands in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pitstop.engine.made_folders import MADE
from pitstop.engine.python_state import Encoder
from pitstop.events import Notice
from pitstop.keras import open_files, step_logs


def describe(run: Any, encoder: Encoder) -> dict[str, Any]:
    """Flags, files and counts of a running `fit`, as JSON.

    Args:
        run: the `FitRun`.
        encoder: takes its arrays.
    """
    callbacks = run.callbacks.callbacks
    return {
        "stop_training": bool(run.model.stop_training),
        "folders": MADE.paths,
        "files": open_files.capture(callbacks),
        "raised": run.raised,
        "events": run.event_files.capture(callbacks),
        "data": run.data,
        "steps_seen": run.epoch_iterator._steps_seen,
        "num_batches": run.epoch_iterator._num_batches,
        "logs": encoder.encode(step_logs.plain(run.logs)),
    }


def streams_missing(names: Sequence[str]) -> Notice:
    """Tells of random generators that are saved, and not there any more."""
    message = f"Random generators that the script no longer has: {', '.join(names)}."
    return Notice("random_generators_missing", message)


def tell_callbacks(run: Any, lost: Sequence[str], new: Sequence[str]) -> None:
    """Tells which callbacks of a running `fit` are not those that were saved."""
    message = f"The callbacks changed: {'; '.join([*lost, *new])}."
    if lost:
        run.doubt(message)
    elif new:
        run.session.report(Notice("callbacks_changed", message))
