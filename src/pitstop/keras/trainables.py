"""What a `fit` trains, by name."""

from __future__ import annotations

from typing import Any

from pitstop.keras.packages import private_of
from pitstop.tensorflow.trainables import Trainables, is_built, named


def of_model(model: Any) -> Trainables:
    """A model and its optimizer, as `tf.train.Checkpoint(model=..., optimizer=...)` has them."""
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
