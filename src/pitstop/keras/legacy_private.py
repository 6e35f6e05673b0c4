"""Names of Keras 2 (`tf_keras`) that are not public API, each behind one function."""

import importlib
import random
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from pitstop.keras import common_private, step_draws
from pitstop.keras.packages import KERAS_2
from pitstop.keras.script_library import names_set_by_libraries
from pitstop.tensorflow import randomness
from pitstop.tensorflow.variables.naming import Naming


def _module(name: str) -> Any:
    # Without types, and imported by the script, or not at all.
    return importlib.import_module(f"{KERAS_2}.{name}")


_training, _data_adapter = _module("src.engine.training"), _module("src.engine.data_adapter")
_callbacks, _backend = _module("src.callbacks"), _module("src.backend")
tf_utils, traceback_utils = _module("src.utils.tf_utils"), _module("src.utils.traceback_utils")
_schedules = _module("src.optimizers.schedules.learning_rate_schedule")

Model: Any = _training.Model
Sequential: Any = _module("src.engine.sequential").Sequential
DataHandler: Any = _data_adapter.DataHandler
_READERS = ("max_queue_size", "workers", "use_multiprocessing")
CallbackList: Any = _callbacks.CallbackList
ARRAY_ADAPTERS = (_data_adapter.TensorLikeDataAdapter, _data_adapter.GenericArrayLikeDataAdapter)
PYTHON_ADAPTER: Any = _data_adapter.GeneratorDataAdapter
OPTIMIZERS = (
    _module("src.optimizers.optimizer").Optimizer,
    _module("src.optimizers.legacy.optimizer_v2").OptimizerV2,
)

WITH_RANDOM_STREAMS = f"{randomness.WITH_KERAS_2}, or use tf.random.Generator"
"""What a training step may draw from."""

_METHODS: tuple[common_private.Method, ...] = (
    (DataHandler, "enumerate_epochs", ("self",)),
    (DataHandler, "steps", ("self",)),
    (DataHandler, "_truncate_execution_to_epoch", ("self",)),
    (DataHandler, "_infer_steps", ("self", "steps", "dataset")),
    *((Model, *method) for method in step_draws.METHODS),
    (Model, "_validate_and_get_metrics_result", ("self", "logs")),
    *((each, "slice_inputs", ("self", "indices_dataset", "inputs")) for each in ARRAY_ADAPTERS),
    (PYTHON_ADAPTER, "_standardize_batch", ("self", "data")),
    (tf_utils, "sync_to_numpy_or_python_type", ("tensors",)),
    (_backend, "get_default_graph_uid_map", ()),
)
_SOURCES: tuple[common_private.Source, ...] = (
    (DataHandler.__init__, ("_adapter", "_steps_per_epoch", "_step_increment")),
    (DataHandler.enumerate_epochs, ("_initial_epoch", "_insufficient_data", "_inferred_steps")),
    (DataHandler.enumerate_epochs, ("should_recreate_iterator", "on_epoch_end", "_epochs")),
    (DataHandler.steps, ("_initial_step", "_current_step")),
    (_data_adapter.TensorLikeDataAdapter.__init__, ("slice_inputs(indices_dataset, inputs)",)),
    (_training.Model.fit, ("_eval_data_handler", "sync_to_numpy_or_python_type(logs)")),
    (_backend.RandomGenerator._create_seed, ("_SEED_GENERATOR.generator",)),
)


def check() -> None:
    version = f"{importlib.import_module(KERAS_2).__version__} ({KERAS_2})"
    supported = "tf_keras 2.18 to 2.21"
    common_private.check(Model, CallbackList, _METHODS, _SOURCES, version, supported)


def flush_callbacks(_callbacks: Any) -> None: ...


def known_learning_rate(model: Any) -> float | None:
    rate = _rate(model)
    if isinstance(rate, _schedules.LearningRateSchedule):
        is_own = not type(rate).__module__.startswith(f"{KERAS_2}.")
        return None if is_own else learning_rate(model)
    return None if callable(rate) else learning_rate(model)


def learning_rate(model: Any) -> float | None:
    rate = _rate(model)
    if isinstance(rate, _schedules.LearningRateSchedule):
        rate = rate(common_private.inner_optimizer(model).iterations)
    elif callable(rate) and not hasattr(rate, "numpy"):
        rate = rate()
    # Of a strategy, a variable with a value for each device is no number by itself.
    return None if rate is None else float(rate.numpy() if hasattr(rate, "numpy") else rate)


def has_schedule(model: Any) -> bool:
    return isinstance(_rate(model), _schedules.LearningRateSchedule)


def why_unclipped(_model: Any) -> str:
    return "it is a model of Keras 2"


def _rate(model: Any) -> Any:
    optimizer = common_private.inner_optimizer(model)
    # Those of before 2.11 keep their numbers in a dictionary.
    hyper = getattr(optimizer, "_hyper", None) or {}
    return hyper.get("learning_rate", getattr(optimizer, "_learning_rate", None))


def end_fit_early(model: Any, callbacks: Any) -> Any:
    if isinstance(model.optimizer, OPTIMIZERS[0]):
        model.optimizer.finalize_variable_values(model.trainable_variables)
    if getattr(model, "_eval_data_handler", None) is not None:
        del model._eval_data_handler
    return common_private.end_training(callbacks)


def continue_at_epoch(_model: Any, _epoch: int | None) -> None:
    """The data handler of the running `fit` is told by `legacy_steps`."""


def names_of_models() -> frozenset[str]:
    # `Model(inputs, outputs)` has the attributes of a class below `Model`, too.
    return names_set_by_libraries(Sequential)


def begin_validation(model: Any, data: Any, arguments: Mapping[str, Any]) -> None:
    """Makes what validations read a `Sequence` by, as the first of them does: it reads a batch."""
    readers = {name: arguments[name] for name in _READERS if name in arguments}
    model._eval_data_handler = _data_adapter.get_data_handler(
        x=data,
        batch_size=arguments.get("validation_batch_size") or arguments.get("batch_size"),
        steps_per_epoch=arguments.get("validation_steps"),
        initial_epoch=0,
        epochs=1,
        model=model,
        steps_per_execution=model._steps_per_execution,
        pss_evaluation_shards=model._pss_evaluation_shards,
        **readers,
    )


def config_of(model: Any) -> Any:
    """The configuration of a model; of one that tells none, for which Keras warns, its class."""
    is_told = type(model).get_config is not Model.get_config
    return model.get_config() if is_told else {"class_name": type(model).__name__}


def validation_iterators(model: Any) -> tuple[Any, int, int]:
    source = getattr(model, "_eval_data_handler", None)
    if source is None:
        return None, 0, 0
    unread = int(source._adapter.should_recreate_iterator())
    return getattr(source, "_pitstop_iterator", None), 1 + unread, unread


def compiled_parts(model: Any) -> dict[str, Any]:
    return {
        "the optimizer": getattr(model, "optimizer", None),
        "the loss": getattr(model, "compiled_loss", None),
        "the optimizer's learning rate": _rate(model) if has_schedule(model) else None,
    }


def build_symbolically(model: Any, source: Any) -> None:
    """Creates the variables of a model and its optimizer; not where zeros cannot be given."""
    if not model.built:
        zeros = tf.nest.map_structure(
            lambda spec: tf.zeros([size or 1 for size in spec.shape], spec.dtype),
            source._get_iterator().element_spec,
        )
        try:
            model(zeros[0] if isinstance(zeros, tuple) else zeros)
        except (ValueError, TypeError, RuntimeError, tf.errors.OpError):
            return  # It has no `call`, or one for something else than its input.
    if isinstance(model.optimizer, OPTIMIZERS[0]):
        model.optimizer.build(model.trainable_variables)


def watch_names(names: Naming) -> None:
    if not names.is_told_by(KERAS_2):
        names.use_counts(_name_counts, _set_name_counts, KERAS_2)


def _name_counts() -> dict[str, int]:
    return {"/".join(key): count for key, count in _backend.get_default_graph_uid_map().items()}


def _set_name_counts(counts: Mapping[str, int]) -> None:
    now = _backend.get_default_graph_uid_map()
    now.update({tuple(key.split("/", 1)): count for key, count in counts.items()})


def global_seeds() -> None:
    """Keras 2 keeps them in no variable."""


def watch_seeds() -> None:
    randomness.also(KERAS_2, _seeds, _set_seeds)


def _seeds() -> Any:
    generator = getattr(_backend._SEED_GENERATOR, "generator", None)
    return None if generator is None else generator.getstate()


def _set_seeds(state: Any) -> None:
    if state is not None:
        _backend._SEED_GENERATOR.generator = random.Random()
        _backend._SEED_GENERATOR.generator.setstate(state)
