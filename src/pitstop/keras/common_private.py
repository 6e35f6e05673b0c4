"""What Keras 3 and Keras 2 share: names that are not public API, and variables."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import tensorflow as tf

from pitstop.errors import UnsupportedVersion

Method = tuple[Any, str, tuple[str, ...]]
"""A class or module, the name of a method of it, and the names of its parameters."""
Source = tuple[Any, tuple[str, ...]]
"""A function or module, and what its source must contain."""

_COMPILED = ("loss", "loss_weights", "metrics", "weighted_metrics", "steps_per_execution")

_OF_CALLBACKS = (
    ("on_train_begin", ("self", "logs")),
    ("on_epoch_begin", ("self", "epoch", "logs")),
    ("on_epoch_end", ("self", "epoch", "logs")),
    ("on_train_batch_end", ("self", "batch", "logs")),
    ("on_test_begin", ("self", "logs")),
    ("on_test_end", ("self", "logs")),
)


def check(
    trainer: Any,
    callbacks: type,
    methods: Iterable[Method],
    sources: Iterable[Source],
    version: str,
    supported: str,
) -> None:
    """Raises `UnsupportedVersion` with the first hook point that is not as it is expected."""
    of_callbacks = ((callbacks, *each) for each in _OF_CALLBACKS)
    for moved in _moved(trainer, (*of_callbacks, *methods), sources):
        raise UnsupportedVersion(
            f"Keras {version} has no supported {moved}, which exact resume needs.",
            f"Use {supported}, or continue without snapshots.",
        )


def _moved(trainer: Any, methods: Iterable[Method], sources: Iterable[Source]) -> Iterator[str]:
    for owner, name, parameters in methods:
        method = getattr(owner, name, None)
        if method is None or tuple(inspect.signature(method).parameters) != parameters:
            yield f"{owner.__name__}.{name}"
    if inner_fit(trainer) is None:
        yield "traceback filter around fit"
    for function, needed in sources:
        source = inspect.getsource(inspect.unwrap(function))
        name = getattr(function, "__qualname__", function.__name__)
        yield from (f"{name} ({each})" for each in needed if each not in source)


def inner_fit(model: Any) -> Any:
    fit = model.fit
    names = fit.__code__.co_freevars if isinstance(fit, FunctionType) else ()
    if "fn" not in names or fit.__closure__ is None:
        return None
    return fit.__closure__[names.index("fn")]


def replace_inner_fit(model: Any, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Puts a wrapper inside of Keras' own traceback filter around `fit`, which hides its frame."""
    cell = inner_fit(model)
    cell.cell_contents = wrap(cell.cell_contents)


def hide_own_frames(traceback_utils: Any) -> None:
    """Lets Keras' traceback filter, the module of this name, treat our frames like its own."""
    folder = str(Path(__file__).parents[1])
    traceback_utils._EXCLUDED_PATHS = (*traceback_utils._EXCLUDED_PATHS, folder)


def end_training(callbacks: Any) -> Any:
    """Ends a `fit` for its callbacks, with the logs of its last epoch; its History."""
    history = callbacks._history
    last = {name: values[-1] for name, values in history.history.items()}
    callbacks.on_train_end(last or None)
    return history


def compiled_with(model: Any) -> dict[str, Any]:
    """What `compile` was given beside the optimizer, by name; empty where it was not called."""
    config = getattr(model, "_compile_config", None)
    given = getattr(config, "config", None) or {}
    return {name: given.get(name) for name in (*_COMPILED, "run_eagerly", "jit_compile")}


def inner_optimizer(model: Any) -> Any:
    """That inside one that scales the loss, which has the rate; None before `compile`."""
    optimizer = getattr(model, "optimizer", None)
    return getattr(optimizer, "inner_optimizer", optimizer)


def layers_of(model: Any) -> list[Any]:
    return list(model._flatten_layers())


def built_variables(model: Any) -> list[Any]:
    try:
        return without_vocabularies(model.variables)
    except ValueError:
        # Of a model of Keras 2 that its first batch builds.
        return []


def without_vocabularies(listed: Iterable[Any]) -> list[Any]:
    """The variables alone: a layer of Keras 2 lists its vocabulary among them."""
    return [each for each in listed if hasattr(each, "shape")]


def model_variables(model: Any) -> Iterator[Any]:
    yield from built_variables(model)
    for metric in model.metrics:
        yield from metric.variables
    yield from optimizer_variables(model.optimizer)


def optimizer_variables(optimizer: Any) -> list[Any]:
    each = tf.nest.flatten(optimizer) if optimizer is not None else []
    found = [one.variables for one in each]
    lists = [variables() if callable(variables) else variables for variables in found]
    return [variable for variables in lists for variable in variables]
