"""What a `fit` in a notebook's cell is, beyond what it is in a script."""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.described import digest_of, digest_of_text
from pitstop.engine.identity import Identity
from pitstop.engine.reached_code import digests_of_code
from pitstop.keras import fit_identity
from pitstop.keras.common_private import compiled_with, layers_of
from pitstop.keras.packages import private_of
from pitstop.tensorflow import pipeline


def left_of(began: Identity, model: Any, callbacks: list[Any]) -> Identity:
    """A training's identity, with its model and callbacks as they are now."""
    moved = fit_identity.moving_settings_of(model, callbacks)
    weights = fit_identity.weights_of(model)
    return replace(
        began,
        settings={**began.settings, **moved},
        architecture=fit_identity.architecture_of(model),
        random={**began.random, fit_identity.FIRST_WEIGHTS: weights},
    )


def digests_of_data(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Of pipelines: the values that their stages are made with, such as names of files."""
    values = [arguments.get("x"), arguments.get("validation_data")]
    numbers = [
        digest_of(np.asarray(value.numpy()))
        for dataset in values
        if isinstance(dataset, tf.data.Dataset)
        for stage in pipeline.every_stage(dataset)
        for name, value in sorted(vars(stage).items())
        # Where the script gives none, they are others each time.
        if "seed" not in name and isinstance(value, tf.Tensor) and hasattr(value, "numpy")
    ]
    return {"the pipeline": digest_of_text(*numbers)} if numbers else {}


def reached_from(
    codes: Collection[types.CodeType], model: Any, arguments: Mapping[str, Any]
) -> dict[str, str]:
    """Digests of the notebook's own code that a `fit` runs, by name."""
    objects = [*_each(arguments.get("callbacks")), *layers_of(model)]
    objects += private_of(model).compiled_parts(model).values()
    data = [arguments.get("x"), arguments.get("validation_data")]
    made = [each for each in data if isinstance(each, types.GeneratorType)]
    given = list(_each(list(compiled_with(model).values())))
    called = [each for each in given if isinstance(each, types.FunctionType)]
    kinds = [type(each) for each in (*objects, *data, *given)]
    return digests_of_code(codes, [*kinds, *called, *made])


def _each(values: Any) -> Iterator[Any]:
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, list | tuple):
        for each in values:
            yield from _each(each)
    elif values is not None:
        yield values
