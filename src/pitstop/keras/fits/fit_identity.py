"""What a `fit` is, from what the script or a cell has built for it; before it looks at its data."""

import inspect
import io
import json
import os
import re
import types
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.randomness import entropy
from pitstop.engine.trainings.identity import Identity
from pitstop.engine.trainings.reached_code import digest_of_reached, digests_of_code
from pitstop.engine.values.described import (
    code_digest,
    describe,
    digest_of,
    digest_of_text,
    is_plain,
    is_reproducible,
    plain_attributes,
)
from pitstop.keras.common_private import built_variables, compiled_with, layers_of
from pitstop.keras.fits import fit_call
from pitstop.keras.inputs import input_level
from pitstop.keras.packages import SEQUENCES, kinds, private_of
from pitstop.link.settings import ENV_MIXED_PRECISION, MIXED_PRECISION
from pitstop.tensorflow import randomness
from pitstop.tensorflow.pipelines import pipeline, stage_functions, stages
from pitstop.tensorflow.strategies import local_values
from pitstop.tensorflow.variables.naming import path_of


def left_of(began: Identity, model: Any, callbacks: list[Any], data: Mapping[str, Any]) -> Identity:
    """A training's identity, with its model, callbacks and data as they are now."""
    moved = moving_settings_of(model, callbacks)
    weights = weights_of(model)
    return replace(
        began,
        data={**began.data, **data_of(data)},
        settings={**began.settings, **moved},
        architecture=architecture_of(model),
        random={**began.random, FIRST_WEIGHTS: weights},
    )


def digests_of_data(arguments: Mapping[str, Any]) -> dict[str, str]:
    # Where the script gives no seeds, they are others each time.
    found = stage_values(arguments, seeds=False)
    return {"the pipeline": digest_of_text(*found)} if found else {}


def reached_from(
    codes: Collection[types.CodeType], model: Any, arguments: Mapping[str, Any]
) -> dict[str, str]:
    called = [
        each if isinstance(each, types.FunctionType | types.GeneratorType) else type(each)
        for each in called_by(model, arguments)
    ]
    return digests_of_code(codes, called)


_LIBRARIES = ("keras", "tf_keras", "tensorflow", "builtins", "abc")
_POLICIES = ("DTypePolicy", "Policy")
_NUMBER = re.compile(r"_\d+$")
DATA = ("x", "y", "sample_weight", "validation_data")
_NO_SETTINGS = (*DATA, "model", "callbacks", "verbose")
FIRST_WEIGHTS = "first weights"
_OPTIMIZERS = ("optimizers.Optimizer", "optimizers.legacy.Optimizer")
_FILES = (io.IOBase, tf.io.gfile.GFile)
_OF_KERAS = ("params", "_model", "model", "_chief_worker_only", "_supports_tf_logs", "csv_file")


def architecture_of(model: Any) -> dict[str, str]:
    own = {type(each): each for each in layers_of(model) if not _is_of_keras(type(each))}
    of_keras = private_of(model).names_of_models()
    numbers = {
        kind.__name__: describe(
            {
                name: value
                for name, value in plain_attributes(each).items()
                if name not in of_keras and not _is_empty(value)
            }
        )
        for kind, each in own.items()
    }
    return {
        "model": type(model).__name__,
        "layers": digest_of_text(_plain_config(model)),
        "variables": digest_of_text(*_variables(model)),
        "code": digest_of_text(*(class_digest(kind) for kind in own), describe(numbers)),
    }


_BUILT_WITH = "build_config"
_SHAPES = frozenset({"batch_input_shape", "batch_shape", "build_input_shape"})
"""Keys in a configuration for shapes that begin with the size of a batch."""


def _is_empty(value: Any) -> bool:
    """Whether a trace of `call` may put tensors in its place."""
    return value is None or (isinstance(value, list | dict) and not value)


def settings_of(model: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    defaults = fit_call.defaults(model)
    plain = {**defaults, **arguments}
    given = {name: describe(plain[name]) for name in plain if name not in _NO_SETTINGS}
    return {**given, **moving_settings_of(model, arguments.get("callbacks"))}


def moving_settings_of(model: Any, callbacks: Any) -> dict[str, str]:
    """The settings that objects hold, and that a training may change."""
    return {
        **_optimizer(model),
        **{name: describe(value) for name, value in compiled_with(model).items()},
        **_callbacks(callbacks),
    }


def data_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    found = {name: arguments.get(name) for name in DATA}
    return {name: _data(value) for name, value in found.items() if value is not None}


def stage_values(arguments: Mapping[str, Any], *, seeds: bool) -> list[str]:
    return [
        digest_of(np.asarray(value.numpy()))
        for dataset in _datasets(arguments)
        for stage in stages.every_stage(dataset)
        for name, value in sorted(vars(stage).items())
        if isinstance(value, tf.Tensor)
        and value.dtype not in (tf.variant, tf.resource)
        and hasattr(value, "numpy")
        and (seeds or "seed" not in name)
    ]


def _datasets(arguments: Mapping[str, Any]) -> list[Any]:
    found = (arguments.get("x"), arguments.get("validation_data"))
    return [each for each in found if isinstance(each, tf.data.Dataset)]


def reached_by(model: Any, arguments: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Digests of the code that a `fit` runs (empty: unknown), and of variables it reads."""
    try:
        code, variables = digest_of_reached(called_by(model, arguments))
        variables_of = stage_functions.variables_of
        held = [each for dataset in _datasets(arguments) for each in variables_of(dataset)]
        drawn_from = (digest_of(np.asarray(each.numpy())) for each in held)
        return digest_of_text(code, *stage_values(arguments, seeds=True), *drawn_from), variables
    except Exception:  # noqa: BLE001  objects of the script may do anything
        return "", {}


def is_digested(arguments: Mapping[str, Any]) -> bool:
    return _is_digested([arguments.get(name) for name in DATA])


def called_by(model: Any, arguments: Mapping[str, Any]) -> list[Any]:
    parts = private_of(model).compiled_parts(model).values()
    data = [arguments.get("x"), arguments.get("validation_data")]
    given = _each([arguments.get("callbacks"), list(compiled_with(model).values())])
    return [*layers_of(model), *parts, *given, *data]


def _each(values: Any) -> Iterator[Any]:
    if isinstance(values, Mapping):
        values = list(values.values())
    if isinstance(values, list | tuple):
        for each in values:
            yield from _each(each)
    elif values is not None:
        yield values


def random_of(model: Any) -> dict[str, str]:
    streams = randomness.capture()
    if randomness.script_seed() is None:
        streams = {name: streams[name] for name in ("python", "numpy")}
    return {
        "random streams": digest_of_text(*(describe(each) for each in streams.values())),
        FIRST_WEIGHTS: weights_of(model),
    }


def entropy_of_streams() -> str:
    if randomness.script_seed() is not None or not entropy.is_here():
        return ""
    return digest_of_text(*(describe(each) for each in randomness.capture().values()))


def weights_of(model: Any) -> str:
    """Digest of the weights; of those that are not built yet, of the seeds they will have."""
    held = (each for variable in built_variables(model) for each in local_values(variable))
    values = [digest_of(np.asarray(each)) for each in held]
    initializers = kinds("initializers.Initializer")
    seeds = [
        describe(getattr(each, "seed", None))
        for part in layers_of(model)
        for each in vars(part).values()
        if isinstance(each, initializers)
    ]
    return digest_of_text(*values, *seeds)


def class_digest(kind: type) -> str:
    codes = (
        (name, code_digest(function.__code__))
        for each in kind.__mro__
        if not _is_of_keras(each)
        for name, value in vars(each).items()
        if isinstance(
            function := inspect.unwrap(value) if callable(value) else value, types.FunctionType
        )
    )
    return digest_of_text(kind.__name__, *(f"{name} {code}" for name, code in codes))


def _is_of_keras(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES


def _plain_config(model: Any) -> str:
    try:
        config = private_of(model).config_of(model)
    except Exception:  # noqa: BLE001
        # Keras asks the script's own class, which may not be able to tell.
        return type(model).__name__
    canonical = canonical_names(list(_names(config)))
    return json.dumps(_renamed(config, canonical), sort_keys=True, default=describe)


def canonical_names(names: list[str]) -> dict[str, str]:
    """Names without the numbers that Keras gives: by kind and order of appearance."""
    counts: dict[str, int] = {}
    found: dict[str, str] = {}
    for name in names:
        if name not in found:
            base = _NUMBER.sub("", name)
            found[name] = f"{base}#{counts.get(base, 0)}"
            counts[base] = counts.get(base, 0) + 1
    return found


def _names(config: Any) -> Iterator[str]:
    if isinstance(config, Mapping):
        if config.get("class_name") in _POLICIES:
            return
        if isinstance(config.get("name"), str):
            yield config["name"]
        for each in config.values():
            yield from _names(each)
    elif isinstance(config, list | tuple):
        for each in config:
            yield from _names(each)


def _renamed(config: Any, names: Mapping[str, str]) -> Any:
    if isinstance(config, Mapping):
        if config.get("class_name") == "__lambda__":
            # Its code tells in which line it stands; `class_digest` has that of classes.
            inner = config.get("config")
            return describe(inner.get("defaults")) if isinstance(inner, Mapping) else ""
        if config.get("class_name") in _POLICIES:
            return _policy(config["config"])
        if config.get("class_name") == "__keras_tensor__":
            # Its dtype follows from the policy of its layer.
            config = {**config["config"], "dtype": None}
        kept = {name: each for name, each in config.items() if name != _BUILT_WITH}
        kept |= {name: _of_one_row(kept[name]) for name in _SHAPES & kept.keys()}
        return {str(name): _renamed(each, names) for name, each in kept.items()}
    if isinstance(config, list | tuple):
        return [_renamed(each, names) for each in config]
    return names.get(config, config) if isinstance(config, str) else config


def _of_one_row(shape: Any) -> Any:
    """Without the size of the first batches: Keras 2 opens it when another size comes."""
    is_one = isinstance(shape, list | tuple) and not any(isinstance(n, list | tuple) for n in shape)
    return shape[1:] if is_one else shape


def _policy(config: Mapping[str, Any]) -> Any:
    """The dtype policy that the script has chosen; Keras 2 names a plain one by its name alone."""
    if set(config) != {"name"}:
        return config
    is_ours = config["name"] == MIXED_PRECISION and os.environ.get(ENV_MIXED_PRECISION)
    return "float32" if is_ours else config["name"]


def _variables(model: Any) -> Iterator[str]:
    for variable in built_variables(model):
        # Without what is before it: the paths of a model that was loaded are others.
        name, dtype = path_of(variable).rpartition("/")[2], variable.dtype
        yield f"{name} {dtype}{list(variable.shape)} {variable.trainable}"


def _optimizer(model: Any) -> dict[str, str]:
    optimizer = model.optimizer
    if not isinstance(optimizer, kinds(*_OPTIMIZERS)):
        return {"optimizer": describe(optimizer)}
    config = _config_of_optimizer(model)
    config.pop("name", None)
    shortest = {
        name: float(str(np.float32(value))) if isinstance(value, float | np.floating) else value
        for name, value in config.items()
    }
    numbers = {name: describe(value) for name, value in shortest.items()}
    return {"optimizer": type(optimizer).__name__, **numbers}


def _config_of_optimizer(model: Any) -> dict[str, Any]:
    try:
        return dict(model.optimizer.get_config())
    except Exception:  # noqa: BLE001
        # Keras asks a schedule of the script's own, which may not be able to tell.
        found = plain_attributes(model.optimizer)
        numbers = {name: each for name, each in found.items() if not name.startswith("_")}
        rate = private_of(model).compiled_parts(model)["the optimizer's learning rate"]
        return {**numbers, "learning_rate": rate}


def _callbacks(callbacks: Any) -> dict[str, str]:
    listed = callbacks if isinstance(callbacks, list | tuple) else [callbacks] if callbacks else []
    found = {"callbacks": ", ".join(type(each).__name__ for each in listed)}
    for each in listed:
        # A log is opened while a training runs, and restored by itself.
        closed = {name: None for name, value in vars(each).items() if isinstance(value, _FILES)}
        for name, value in (plain_attributes(each) | closed).items():
            if name not in _OF_KERAS:
                found[f"{type(each).__name__}.{name}"] = describe(value)
    return found


def _data(value: Any) -> str:
    if isinstance(value, tf.data.Dataset):
        stages = digest_of_text(*pipeline.contents_of(value))
        return f"{pipeline.pipeline_of(value)} {value.element_spec} {stages}"
    if isinstance(value, tf.Tensor | tf.Variable):
        value = value.numpy()
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} {digest_of(value)}"
    if isinstance(value, Mapping):
        return str({name: _data(each) for name, each in value.items()})
    if isinstance(value, list | tuple):
        return str([_data(each) for each in value])
    if hasattr(value, "__dict__"):
        attributes = {name: each for name, each in vars(value).items() if is_reproducible(each)}
        return f"{type(value).__name__} {describe(attributes)}"
    return describe(value)


def _is_digested(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_digested, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_digested, value))
    if isinstance(value, tf.data.Dataset):
        return all(map(input_level.is_in_variables, stage_functions.stateful_stages(value)))
    if isinstance(value, kinds(*SEQUENCES)):
        # `reached_by` has its code, `_data` what it holds.
        return all(is_plain(each) and is_reproducible(each) for each in vars(value).values())
    plain = (type(None), int, float, str, np.ndarray, np.generic, tf.Tensor, tf.Variable)
    return isinstance(value, plain) or hasattr(value, "to_numpy")
