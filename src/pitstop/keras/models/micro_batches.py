"""A training step in parts: the gradients of micro-batches are added up, then applied once.

The batch, its loss and the number of updates stay the same; the memory that a step needs for its
activations shrinks with the part.  The loss has to be a mean over independent records, which a
trial shows.  Then the gradient of the batch is the sum of the parts' gradients, each times its
share of the records: equal up to rounding.
"""

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.hooking import hook
from pitstop.engine.session.session import Session
from pitstop.events import Notice
from pitstop.keras.common_private import layers_of
from pitstop.keras.packages import KERAS_2, SOURCES, package_of, private_of, public
from pitstop.link.settings import NOT_DIVIDED, Settings
from pitstop.tensorflow.variables.naming import value_of

_MEANS = ("sum_over_batch_size", "mean")
_OWN_STATISTICS = "BatchNormalization"
_OWN_DRAWS = ("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "Random")
_PARTS_OF_A_TRIAL = ((0, 6), (0, 6), (0, 2, 6), (0, 3, 6))
_UNKNOWN_SIZE = 8

TrainStep = Callable[[Any, Any], Any]


class NotDivisible(Exception):
    """The step cannot be computed in parts with the same meaning; says why."""


def divide_steps(session: Session) -> None:
    # It imports Keras 3.
    from pitstop.keras.private import TensorFlowTrainer  # noqa: PLC0415

    # A step is traced anew for batches of another size.
    told: set[str] = set()
    tried: weakref.WeakSet[Any] = weakref.WeakSet()

    def train_step(original: TrainStep, model: Any, data: Any) -> Any:
        try:
            if not _why_whole(model, session.settings):
                if model not in tried:
                    if metrics := _try_parts(model, data):
                        session.report(_of_parts(metrics))
                    tried.add(model)
                return step_in_parts(original, model, data, session.settings.batch_parts)
        except NotDivisible as reason:
            if str(reason) not in told:
                told.add(str(reason))
                session.report(_refusal(str(reason)))
        return original(model, data)

    hook(TensorFlowTrainer, "train_step", train_step)


def _refusal(reason: str) -> Notice:
    return Notice(
        NOT_DIVIDED,
        f"The batch cannot be computed in parts: {reason}.",
        "A smaller batch_size needs less memory, but changes the training.",
    )


def _of_parts(metrics: list[str]) -> Notice:
    message = f"Metrics of the training are those of parts of the batch: {', '.join(metrics)}."
    return Notice("metrics_of_parts", message)


def step_in_parts(original: TrainStep, model: Any, data: Any, parts: int) -> Any:
    """One training step of Keras' own on `data`, a batch of tensors, in about so many parts.

    The graph holds one part, in a loop. Raises `NotDivisible` where parts would not add up.
    """
    tensors = [each for each in tf.nest.flatten(data) if each is not None]
    records = tensors[0].shape[0] or tf.shape(tensors[0])[0]
    size = _size_of_part(records, parts)
    collected = _Collected(model)

    def turn(start: Any, sums: list[Any]) -> tuple[Any, list[Any]]:
        count = size if isinstance(size, int) else tf.minimum(size, records - start)
        part = tf.nest.map_structure(lambda each: _rows(each, start, count), data)
        gradients = collected.gradients_of(lambda: original(model, part))
        share = tf.cast(count, tf.float32) / tf.cast(records, tf.float32)
        added = zip(sums, gradients, strict=True)
        return start + count, [total + each * tf.cast(share, total.dtype) for total, each in added]

    weights = model.trainable_variables
    zeros = [tf.zeros_like(value_of(each)) for each in weights]
    begun = (tf.constant(0), zeros)
    with _averages_of_steps(model, -(-records // size) if isinstance(size, int) else parts):
        _, sums = tf.while_loop(lambda at, _: at < records, turn, begun, parallel_iterations=1)
    collected.apply(sums)
    return model.get_metrics_result()


def _size_of_part(records: Any, parts: int) -> Any:
    """Records in a part; all equal where the batch's size is known, which XLA needs."""
    if not isinstance(records, int):
        return (records + parts - 1) // parts
    equal = (count for count in range(min(parts, records), records + 1) if records % count == 0)
    return records // next(equal)


def _rows(tensor: Any, start: Any, count: Any) -> Any:
    if tensor is None:
        return None
    known = tensor.shape.as_list()[1:]
    rest = [tf.shape(tensor)[axis] if size is None else size for axis, size in enumerate(known, 1)]
    part = tf.slice(tensor, [start, *[0] * len(rest)], [count, *rest])
    return tf.ensure_shape(part, [count if isinstance(count, int) else None, *known])


def _why_whole(model: Any, settings: Settings) -> str:
    """Why the parts of a batch may not add up to the step of the whole; empty where they do."""
    if package_of(model) == KERAS_2:
        return "it is a model of Keras 2"
    private = private_of(model)
    if model.distribute_strategy.num_replicas_in_sync > 1:
        return "it runs on several devices"
    if name := private.own_part_of_step(model):
        return f"{name} is custom, and its loss may not be a mean over records"
    for loss in tf.nest.flatten(model.loss):
        reduction = getattr(loss, "reduction", _MEANS[0])
        if reduction not in _MEANS:
            return f"the loss is reduced by {reduction!r}, not to a mean over records"
    if private.has_masked_outputs(model):
        return "its outputs are masked, so the loss is a mean over the unmasked part"
    if settings.batch_norm == "stop" and _normalizing(model):
        return f"it has {_OWN_STATISTICS}, and --batch-norm parts was not given"
    return ""


def _normalizing(model: Any) -> list[Any]:
    """Its layers that use the statistics of a batch."""
    return [each for each in layers_of(model) if type(each).__name__ == _OWN_STATISTICS]


@contextmanager
def _averages_of_steps(model: Any, parts: int) -> Iterator[None]:
    """All parts together move the averages of `BatchNormalization` as far as one step does."""
    layers = [(each, each.momentum) for each in _normalizing(model)]
    for layer, momentum in layers:
        layer.momentum = momentum ** (1 / parts)
    try:
        yield
    finally:
        for layer, momentum in layers:
            layer.momentum = momentum


def _try_parts(model: Any, data: Any) -> list[str]:
    """Compares the numbers of six made up records with those of two parts of them.

    Returns the metrics that parts change. Raises `NotDivisible` where the loss is not their mean:
    it is a sum, or its records are not independent of each other.
    """
    tensors = [each for each in tf.nest.flatten(data) if each is not None]
    if not tensors or not all(isinstance(each, tf.Tensor) and each.shape.rank for each in tensors):
        raise NotDivisible("its batches are not dense tensors")
    stream = np.random.default_rng(0)
    with tf.init_scope():
        records = tf.nest.map_structure(lambda each: _made_up(each, stream), data)
        held = [*model.non_trainable_variables, *model.metrics_variables]
        values = [each.numpy() for each in held]
        try:
            found = [_numbers(model, records, places) for places in _PARTS_OF_A_TRIAL]
        except Exception as error:
            reason = f"six made up records cannot be tried ({type(error).__name__})"
            raise NotDivisible(reason) from error
        finally:
            model.reset_metrics()
            for variable, value in zip(held, values, strict=True):
                variable.assign(value)
    # GPUs multiply float32 with ten bits of the mantissa.
    is_precise = model.compute_dtype == "float32" and not tf.config.list_logical_devices("GPU")
    close = functools.partial(np.allclose, rtol=1e-5 if is_precise else 1e-2, equal_nan=True)
    (whole, metrics), (again, _), *in_parts = found
    if not np.array_equal(whole, again):
        return []
    if not all(close(losses, whole, atol=1e-30) for losses, _ in in_parts):
        raise NotDivisible("its loss is not a mean over records that are independent of each other")
    of_halves = in_parts[-1][1]
    return sorted(name for name in metrics if not close(of_halves[name], metrics[name], atol=1e-6))


def _made_up(tensor: Any, stream: np.random.Generator) -> Any:
    if tensor is None:
        return None
    shape = [6, *(_UNKNOWN_SIZE if size is None else size for size in tensor.shape[1:])]
    if tensor.dtype == tf.string:
        return tf.zeros(shape, tf.string)
    return tf.cast(stream.uniform(0, 2, shape), tensor.dtype)


def _cut(rows: slice, tensor: Any) -> Any:
    return None if tensor is None else tensor[rows]


def _numbers(model: Any, records: Any, places: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
    """Losses and metrics of parts that begin and end at these places, as they are without Dropout.

    Each of `add_loss` is one of the losses: that of few records is small.
    """
    losses, metrics = np.zeros(1), {}
    model.reset_metrics()
    for start, end in pairwise(places):
        part = tf.nest.map_structure(functools.partial(_cut, slice(start, end)), records)
        x, y, weights = public(model).utils.unpack_x_y_sample_weight(part)
        outputs = model(x)
        loss = model.compute_loss(x, y, outputs, weights, training=False)
        losses = losses + (end - start) * np.array([loss, *model.losses], "float64")
        results = model.compute_metrics(x, y, outputs, weights)
        metrics = {name: np.asarray(value) for name, value in results.items()}
    return losses / places[-1], metrics


class _Collected:
    """Gradients that a step would apply."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._optimizer = model.optimizer
        self._used: list[bool] = []

    def gradients_of(self, step: Callable[[], Any]) -> list[Any]:
        """What the step would apply, for each trainable variable; zeros where it has none."""
        calls: list[tuple[list[Any], list[Any]]] = []

        def collect(gradients: Any, variables: Any = None) -> None:
            calls.append((list(gradients), list(variables or self._model.trainable_variables)))

        # Not as an attribute that Keras tracks.
        vars(self._optimizer)["apply"] = collect
        try:
            step()
        finally:
            del vars(self._optimizer)["apply"]
        if len(calls) != 1:
            raise NotDivisible(f"it applies gradients {len(calls)} times")
        if any(isinstance(each, tf.IndexedSlices) for each in calls[0][0]):
            # Adam and others square the rows of a sparse gradient one by one, also where a row
            # stands in it several times.
            raise NotDivisible("the gradient of an Embedding is sparse")
        by_id = {id(variable): gradient for gradient, variable in zip(*calls[0], strict=True)}
        found = [by_id.get(id(each)) for each in self._model.trainable_variables]
        self._used = [each is not None for each in found]
        return [
            tf.zeros_like(value_of(variable)) if each is None else each
            for each, variable in zip(found, self._model.trainable_variables, strict=True)
        ]

    def apply(self, sums: list[Any]) -> None:
        gradients = [total if used else None for total, used in zip(sums, self._used, strict=True)]
        self._optimizer.apply(gradients, self._model.trainable_variables)


def begin_fit(session: Session, model: Any) -> str:
    if session.settings.batch_parts == 1:
        return ""
    if reason := _why_whole(model, session.settings):
        session.report(_refusal(reason))
        return ""
    return _differences(model, session.settings.batch_parts)


def _differences(model: Any, parts: int) -> str:
    types = {type(layer) for layer in layers_of(model)}
    kinds = {kind.__name__ for kind in types}
    own = sorted(kind.__name__ for kind in types if not kind.__module__.startswith(SOURCES))
    apart = []
    if _OWN_STATISTICS in kinds:
        apart.append(f"{_OWN_STATISTICS} uses the statistics of each part (--batch-norm parts)")
    if drawing := sorted(kind for kind in kinds if kind.startswith(_OWN_DRAWS)):
        apart.append(f"{', '.join(drawing)} draws new random numbers for each part")
    if own:
        apart.append(f"{', '.join(own)} is of the script, and may use or draw other numbers")
    but = f"; but {', and '.join(apart)}" if apart else ""
    return f"--on-oom shrink computes each batch in {parts} parts: equal up to rounding{but}"
