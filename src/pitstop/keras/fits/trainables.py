"""What a `fit` trains, by name: begun with saved weights, or written in other formats."""

from collections.abc import Iterable
from typing import Any

from pitstop.engine.session.export_order import ExportOrder, carrying_out
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.keras.common_private import optimizer_variables, without_vocabularies
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.tensorboard import is_tensorboard
from pitstop.tensorflow.variables import trainables
from pitstop.tensorflow.variables.naming import path_of, value_of
from pitstop.tensorflow.variables.starting import begin_from, start


def of_model(model: Any) -> trainables.Trainables:
    optimizer = model.optimizer
    return trainables.Trainables(
        objects={"model": model} | ({} if optimizer is None else {"optimizer": optimizer}),
        models={"model": model},
        weights=_named(without_vocabularies(model.weights)),
        optimizer=_named(optimizer_variables(optimizer) if trainables.is_built(optimizer) else ()),
    )


def _named(variables: Iterable[Any]) -> tuple[trainables.NamedVariable, ...]:
    return trainables.named((path_of(each), value_of(each)) for each in variables)


def begin_from_weights(run: FitRun) -> None:
    start(run.session, lambda path: begin_from(path, of_model(run.model)).describe(path))


def export_fit(run: FitRun, saved: SavedState) -> None:
    """Writes the restored model and optimizer before any callback is told; raises `ExportEnded`."""
    with carrying_out(run.session):
        run.build_missing(saved)
        model = run.model
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        found = of_model(model)
        trainables.restore_named(saved, found.variables)
        trainables.export(ExportOrder.of(run.session), found, saved.position.step)


def quiet(callbacks: Any) -> None:
    for callback in callbacks if isinstance(callbacks, list | tuple) else [callbacks]:
        if is_tensorboard(callback):
            callback.write_graph = False
            callback.embeddings_freq = 0
