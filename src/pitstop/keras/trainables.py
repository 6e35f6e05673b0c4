"""What a `fit` trains, by name."""

from __future__ import annotations

from typing import Any

from pitstop.tensorflow.trainables import Trainables, is_built, named


def of_model(model: Any) -> Trainables:
    """A model and its optimizer, as `tf.train.Checkpoint(model=..., optimizer=...)` has them."""
    optimizer = model.optimizer
    return Trainables(
        objects={"model": model} | ({} if optimizer is None else {"optimizer": optimizer}),
        models={"model": model},
        weights=named((each.path, each.value) for each in model.weights),
        optimizer=named((each.path, each.value) for each in optimizer.variables)
        if optimizer is not None and is_built(optimizer)
        else (),
    )
