"""Names of Keras that are not public API, each behind one function."""

import contextlib
import functools
import inspect
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from keras.src.backend.tensorflow.core import Variable
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer, TFEpochIterator
from keras.src.callbacks.callback_list import CallbackList
from keras.src.optimizers.optimizer import Optimizer
from keras.src.optimizers.schedules.learning_rate_schedule import LearningRateSchedule
from keras.src.random import seed_generator
from keras.src.trainers import epoch_iterator
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter, PyDatasetEnqueuer
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.trainers.trainer import Trainer
from keras.src.utils import naming, traceback_utils

from pitstop.engine.hooking import Original, hook
from pitstop.keras import common_private, step_draws
from pitstop.keras.script_library import names_set_by_libraries
from pitstop.tensorflow.variables.naming import Naming

_FLUSH_FUTURES = "_flush_futures" if hasattr(CallbackList, "_flush_futures") else "_clear_futures"
"""Keras 3.12 renamed it."""

_QUEUE = ("self", "py_dataset", "workers", "use_multiprocessing", "max_queue_size")
_METHODS: tuple[common_private.Method, ...] = (
    (EpochIterator, "_enumerate_iterator", ("self",)),
    (EpochIterator, "_interrupted_warning", ("self",)),
    (EpochIterator, "_get_iterator", ("self",)),
    (TFEpochIterator, "__init__", ("self", "distribute_strategy", "args", "kwargs")),
    (CallbackList, _FLUSH_FUTURES, ("self",)),
    (PyDatasetEnqueuer, "__init__", _QUEUE),
    *((PyDatasetAdapter, name, ("self",)) for name in ("get_tf_dataset", "_get_iterator")),
    (PyDatasetAdapter, "_standardize_batch", ("self", "batch")),
    (Variable, "_initialize", ("self", "value")),
    (Optimizer, "_clip_gradients", ("self", "grads")),
    *((TensorFlowTrainer, *method) for method in step_draws.METHODS),
    (TensorFlowTrainer, "_get_metrics_result_or_logs", ("self", "logs")),
    (TensorFlowTrainer, "_maybe_symbolic_build", ("self", "iterator", "data_batch")),
)
WITH_RANDOM_STREAMS = "use a Keras layer, keras.random with a SeedGenerator, or tf.random.Generator"
"""What a training step may draw from."""

_APPLYING = ("apply", "_backend_apply_gradients", "_clip_gradients")
"""The methods of an optimizer between the gradients of a step and its update."""
_NAME_COUNTS = "object_name_uids"
_GLOBAL_SEEDS = "global_seed_generator"
_inner_optimizer = common_private.inner_optimizer
_ENUMERATE_NEEDS = ("_current_iterator", "_steps_seen", "_num_batches", "steps_per_execution")

_LINES, _FIRST_LINE = inspect.getsourcelines(EpochIterator._enumerate_iterator)
_WARNS = (at for at, line in enumerate(_LINES) if "_interrupted_warning" in line)
_WARNING_LINE = _FIRST_LINE + next(_WARNS, 0)
"""Where Keras warns of an exhausted input; read before anything is patched."""

_NAMES_LAST_STEP = "steps_per_execution - 1" in inspect.getsource(EpochIterator._enumerate_iterator)


def check() -> None:
    sources = (
        (EpochIterator._enumerate_iterator, _ENUMERATE_NEEDS),
        (TensorFlowTrainer.fit, ("_eval_epoch_iterator",)),
        (naming, (f'"{_NAME_COUNTS}"',)),
        (seed_generator, (f'"{_GLOBAL_SEEDS}"',)),
    )
    version, supported = keras.__version__, "Keras 3.10 to 3.15"
    common_private.check(TensorFlowTrainer, CallbackList, _METHODS, sources, version, supported)


def warn_as_keras() -> None:
    """Makes the epoch iterator's warning name the line of Keras, not one of Pitstop."""

    def warn(original: Callable[[Any], None], iterator: Any) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            original(iterator)
        for warning in caught:
            warnings.warn_explicit(
                message=warning.message,
                category=warning.category,
                filename=epoch_iterator.__file__,
                lineno=_WARNING_LINE,
                module=epoch_iterator.__name__,
                registry=vars(epoch_iterator).setdefault("__warningregistry__", {}),
            )

    hook(EpochIterator, "_interrupted_warning", warn)


def hold_few_batches() -> None:
    def make(
        original: Original,
        queue: Any,
        py_dataset: Any,
        workers: int = 1,
        use_multiprocessing: bool = False,
        max_queue_size: int = 10,
    ) -> None:
        original(queue, py_dataset, min(workers, 1), use_multiprocessing, min(max_queue_size, 1))

    hook(PyDatasetEnqueuer, "__init__", make)


def flush_callbacks(callbacks: CallbackList) -> None:
    if callbacks._executor is not None:
        getattr(callbacks, _FLUSH_FUTURES)()


def step_item(first: int, last: int, iterator: Any) -> tuple[Any, ...]:
    """What an epoch iterator yields for a call of the train function; others before Keras 3.11."""
    return (first, last, iterator) if _NAMES_LAST_STEP else (first, iterator)


def known_learning_rate(model: Any) -> float | None:
    optimizer = _inner_optimizer(model)
    rate = getattr(optimizer, "_learning_rate", None)
    if isinstance(rate, LearningRateSchedule) and type(rate).__module__.startswith("keras."):
        rate = rate(optimizer._iterations)
    if not isinstance(rate, keras.Variable) and not hasattr(rate, "numpy"):
        return None
    return float(rate.numpy())


def end_fit_early(model: Any, callbacks: CallbackList) -> Any:
    """Does what `fit` does after its last epoch, as after `stop_training`; its History."""
    flush_callbacks(callbacks)
    if isinstance(model.optimizer, keras.optimizers.Optimizer):
        model.optimizer.finalize_variable_values(model.trainable_weights)
    model._eval_epoch_iterator = None
    return common_private.end_training(callbacks)


def continue_at_epoch(model: Any, epoch: int | None) -> None:
    model._initial_epoch = epoch


@functools.cache
def names_of_models() -> frozenset[str]:
    # With names of their own: automatic ones are counted.
    tensor = keras.Input((1,), name="any")
    output = keras.layers.Identity(name="other")(tensor)
    made = keras.Model(name="any"), keras.Layer(name="any"), keras.Model(tensor, output, name="any")
    # The last are set by methods: `evaluate` sets `stop_evaluating`.
    return frozenset({"_name"}.union(*map(vars, made), names_set_by_libraries(keras.Model)))


def validation_iterators(model: Any) -> tuple[Any, int, int]:
    """What a validation left, how many it has created, and how many before the one it read."""
    source = model._eval_epoch_iterator
    left = source._current_iterator
    # Under a strategy, `_maybe_symbolic_build` reads a batch of an iterator of its own.
    builds = int(is_distributed(model))
    return left, 1 + builds + int(left is not None and source._steps_seen == 0), builds


def validates_with(model: Any, epoch_iterator: Any) -> bool:
    return getattr(model, "_eval_epoch_iterator", None) is epoch_iterator


def begin_validation(model: Any, data: Any, arguments: Mapping[str, Any]) -> None:
    """Makes what validations read a `PyDataset` by, as the first of them does: it reads batches."""
    model._eval_epoch_iterator = TFEpochIterator(
        x=data,
        batch_size=arguments.get("validation_batch_size") or arguments.get("batch_size"),
        distribute_strategy=model.distribute_strategy,
        steps_per_execution=model.steps_per_execution,
        steps_per_epoch=arguments.get("validation_steps"),
        shuffle=False,
    )


def config_of(model: Any) -> Any:
    return model.get_config()


def compiled_parts(model: Any) -> dict[str, Any]:
    return {
        "the optimizer": getattr(model, "optimizer", None),
        "the loss": getattr(model, "_compile_loss", None),
        "the optimizer's learning rate": getattr(_inner_optimizer(model), "_learning_rate", None),
    }


def learning_rate(model: Any) -> float | None:
    inner = _inner_optimizer(model)
    if not isinstance(inner, Optimizer):
        return None
    # A number, a tensor or a variable, which may have replicas.
    return float(keras.ops.convert_to_numpy(inner.learning_rate))


def has_schedule(model: Any) -> bool:
    return callable(getattr(_inner_optimizer(model), "_learning_rate", None))


def why_unclipped(model: Any) -> str:
    """Why `clip` cannot clip the gradients of a model; empty where it can."""
    inner = _inner_optimizer(model)
    if any(getattr(type(inner), each, None) is not getattr(Optimizer, each) for each in _APPLYING):
        return "the model has no optimizer, or a custom one"
    if inner.clipnorm or inner.global_clipnorm or inner.clipvalue:
        return "the optimizer clips them already"
    others = {id(each) for each in vars(model).values() if isinstance(each, Optimizer)}
    return "the model has several optimizers" if others - {id(model.optimizer), id(inner)} else ""


def clip(model: Any, norm: float) -> None:
    """Lets the optimizer clip by the global norm; its configuration, which is saved, stays."""
    vars(_inner_optimizer(model))["_clip_gradients"] = lambda gradients: tf.clip_by_global_norm(
        gradients, norm
    )[0]


def watch_names(names: Naming) -> None:
    """Lets the names of variables be known at their creation, and the numbers in them."""
    if names.is_told_by("keras"):
        return

    def initialize(original: Original, variable: Any, value: Any) -> Any:
        with names.creating(variable.path):
            return original(variable, value)

    hook(Variable, "_initialize", initialize)
    names.use_counts(_name_counts, _set_name_counts, "keras")


def _name_counts() -> dict[str, int]:
    return dict(global_state.get_global_attribute(_NAME_COUNTS) or {})


def _set_name_counts(counts: Mapping[str, int]) -> None:
    global_state.set_global_attribute(_NAME_COUNTS, defaultdict(int, counts))


def global_seeds() -> Any:
    """The variable from which `keras.random` draws without a seed; None before its first draw."""
    generator = global_state.get_global_attribute(_GLOBAL_SEEDS)
    return generator.state if generator is not None else None


def make_global_seeds(path: str) -> None:
    """Makes this variable anew; none where the path is empty, as `set_random_seed` leaves it."""
    generator = keras.random.SeedGenerator(0, name=path.rpartition("/")[0]) if path else None
    global_state.set_global_attribute(_GLOBAL_SEEDS, generator)


def on_train_batch(notify: Callable[[Any, tuple[Any, ...]], None]) -> None:
    """Calls `notify` with a model and x, y, sample_weight before each `train_on_batch`."""
    signature = inspect.signature(TensorFlowTrainer.train_on_batch)

    def train(original: Original, model: Any, /, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(model, *args, **kwargs).arguments
        notify(model, tuple(given.get(name) for name in ("x", "y", "sample_weight")))
        return original(model, *args, **kwargs)

    hook(TensorFlowTrainer, "train_on_batch", train)


def build_symbolically(model: Any, epoch_iterator: Any) -> None:
    """Creates the variables of a model, its metrics and its optimizer, without computing."""
    specs = epoch_iterator._get_iterator().element_spec
    with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
        model._symbolic_build(data_batch=specs)


def own_part_of_step(model: Any) -> str:
    """The method of a training step that is the script's own and not Keras'; empty for none."""
    methods = {"train_step": TensorFlowTrainer, "compute_loss": Trainer, "compute_metrics": Trainer}
    kind = type(model)
    own = (each for each in methods if getattr(kind, each) is not getattr(methods[each], each))
    return next(own, "")


def is_distributed(model: Any) -> bool:
    return model._distribute_strategy is not None


def has_masked_outputs(model: Any) -> bool:
    """The loss leaves out what the outputs mask; of a model that Keras cannot see into: may be."""
    if outputs := getattr(model, "outputs", None):
        return any(getattr(each, "_keras_mask", None) is not None for each in outputs)
    return any(
        isinstance(each, keras.layers.Masking) or getattr(each, "mask_zero", False)
        for each in common_private.layers_of(model)
    )


__all__ = [
    "CallbackList",
    "EpochIterator",
    "Optimizer",
    "PyDatasetAdapter",
    "TFEpochIterator",
    "TensorFlowTrainer",
    "Trainer",
    "traceback_utils",
]
