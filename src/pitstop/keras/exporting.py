"""Writes the model of a `fit` at its saved state, in the place of training on."""

from __future__ import annotations

from typing import Any

from pitstop.engine.export_order import ExportOrder, carrying_out
from pitstop.engine.saved_state import SavedState
from pitstop.keras.fit_run import FitRun
from pitstop.keras.tensorboard import is_tensorboard
from pitstop.keras.trainables import of_model
from pitstop.tensorflow.exporting import export
from pitstop.tensorflow.trainables import restore_named
from pitstop.tensorflow.variables import REGISTRY


def export_fit(run: FitRun, saved: SavedState) -> None:
    """Restores the model and its optimizer, writes them, and leaves the script.

    No callback has been told of the `fit` yet, so that none has begun a file.

    Raises:
        ExportEnded: always.
    """
    with carrying_out(run.session):
        run.build_missing(saved)
        model = run.model
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        trainables = of_model(model)
        restore_named(REGISTRY, saved, trainables.variables)
        order = ExportOrder.of(run.session)
        if order is not None:
            export(order, trainables, saved.position.step)


def quiet(callbacks: Any) -> None:
    """Keeps the TensorBoard callbacks of a `fit` from beginning event files when it starts."""
    for callback in callbacks if isinstance(callbacks, list | tuple) else [callbacks]:
        if is_tensorboard(callback):
            callback.write_graph = False
            callback.embeddings_freq = 0
