"""What a `fit` trains, by name: begun with saved weights, or written in other formats."""

from typing import Any

from pitstop.engine.export_order import ExportOrder, carrying_out
from pitstop.engine.saved_state import SavedState
from pitstop.keras.fit_run import FitRun
from pitstop.keras.packages import private_of
from pitstop.keras.tensorboard import is_tensorboard
from pitstop.tensorflow.starting import begin_from, start
from pitstop.tensorflow.trainables import Trainables, export, is_built, named, restore_named


def of_model(model: Any) -> Trainables:
    optimizer, names = model.optimizer, private_of(model)
    return Trainables(
        objects={"model": model} | ({} if optimizer is None else {"optimizer": optimizer}),
        models={"model": model},
        weights=named((names.path_of(each), names.value_of(each)) for each in model.weights),
        optimizer=named(
            (names.path_of(each), names.value_of(each))
            for each in names.optimizer_variables(optimizer)
        )
        if optimizer is not None and is_built(optimizer)
        else (),
    )


def begin_from_weights(run: FitRun) -> None:
    start(run.session, lambda path: begin_from(path, of_model(run.model)).describe(path))


def export_fit(run: FitRun, saved: SavedState) -> None:
    """Writes the restored model and optimizer before any callback is told; raises `ExportEnded`."""
    with carrying_out(run.session):
        run.build_missing(saved)
        model = run.model
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        trainables = of_model(model)
        restore_named(saved, trainables.variables)
        export(ExportOrder.of(run.session), trainables, saved.position.step)


def quiet(callbacks: Any) -> None:
    for callback in callbacks if isinstance(callbacks, list | tuple) else [callbacks]:
        if is_tensorboard(callback):
            callback.write_graph = False
            callback.embeddings_freq = 0
