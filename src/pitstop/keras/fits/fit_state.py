"""The part of a saved state that says how a `fit` stands in Python: made, and put back."""

from typing import Any

from pitstop.engine.files.made_folders import MADE
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.trackers import trackers
from pitstop.engine.values.python_state import Encoder, decode
from pitstop.events import Notice
from pitstop.keras import global_seeds, step_numbers, tensorboard
from pitstop.keras.callbacks import callback_nodes, open_files
from pitstop.keras.packages import private_of


def describe(run: Any, encoder: Encoder) -> dict[str, Any]:
    callbacks = run.callbacks.callbacks
    return {
        "stop_training": bool(run.model.stop_training),
        "folders": [*MADE.paths],
        "files": open_files.capture(callbacks, run.logs),
        "raised": run.raised,
        "events": run.event_files.capture(tensorboard.absolute_folders(callbacks)),
        "trackers": trackers.capture(),
        "data": run.data,
        "steps_seen": run.epoch_iterator._steps_seen,
        "global_seeds": global_seeds.number(private_of(run.model)),
        "num_batches": run.epoch_iterator._num_batches,
        "logs": encoder.encode(step_numbers.plain(run.numbers.logs)),
    }


def restore(run: Any, saved: SavedState) -> None:
    fit, callbacks = saved.state["fit"], run.callbacks.callbacks
    run.restore_position(saved)
    trackers.restore(fit.get("trackers", {}))
    # Before another generator is in the place of one of these.
    run.input.restore_streams(saved)
    lost = run.objects.restore(fit, saved.tensors, callbacks, left=run.input.stays(saved))
    new = callback_nodes.new_kinds(callbacks, fit["callbacks"])
    message = f"The callbacks changed: {'; '.join([*lost, *new])}."
    if lost:
        run.doubt(message)
    elif new:
        run.session.report(Notice("callbacks_changed", message))
    run.doubt(run.objects.lost)
    run.look_for_streams()  # also those that were made again, with their states
    at_cut, before = (decode(saved.state[each], saved.tensors) for each in ("random", "fit_random"))
    if missing := run.streams.missing(at_cut, before):
        message = f"The script no longer has these random generators: {', '.join(missing)}."
        run.session.report(Notice("random_generators_missing", message))
        run.doubt(message)
