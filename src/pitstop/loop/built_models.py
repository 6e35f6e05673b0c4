"""Keras models that their first `train_on_batch` builds, and on a resume before it.

The first step of a compiled model creates its metrics and its optimizer's
variables while it is traced, after the metrics were reset.  A resumed loop has
to find them there: one step with zeros is done before the state is restored.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.loop.tracked import leaves_of
from pitstop.tensorflow.naming import Naming


class BuiltModels:
    """The models among the objects of a loop, and the form of the first batch of each."""

    def __init__(self, objects: Mapping[str, Any], names: Naming) -> None:
        found = leaves_of(objects) if "keras" in sys.modules else ()
        self._models = {name: each for name, each in found if hasattr(each, "train_on_batch")}
        self._forms: dict[str, Any] = {}
        if self._models:
            # Only now: a script without Keras must not pay for its import.
            from pitstop.keras import private  # noqa: PLC0415

            private.on_train_batch(self._trains)
            private.watch_names(names)

    def forms(self) -> dict[str, Any]:
        """By a model's name, its batch with every array replaced by its form as text."""
        return self._forms

    def build(self, forms: Mapping[str, Any]) -> None:
        """Trains the models that were trained on batches, on one batch of zeros."""
        for name, form in forms.items():
            if name in self._models:
                self._models[name].train_on_batch(*tf.nest.map_structure(_zeros, form))

    def _trains(self, model: Any, batch: tuple[Any, ...]) -> None:
        if len(self._forms) < len(self._models):
            for name, each in self._models.items():
                if each is model:
                    self._forms[name] = tf.nest.map_structure(_form, batch)


def _form(array: Any) -> str | None:
    if array is None:
        return None
    shape = ",".join(str(size) for size in np.shape(array))
    return f"{np.asarray(array).dtype.name}[{shape}]"


def _zeros(form: str | None) -> Any:
    if form is None:
        return None
    dtype, _, sizes = form.removesuffix("]").partition("[")
    return np.zeros(
        [int(size) for size in sizes.split(",") if size], tf.as_dtype(dtype).as_numpy_dtype
    )
