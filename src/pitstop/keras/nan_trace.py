"""Runs training steps eagerly, layer by layer, and tells which value was first not finite.

The process was started for this, and ends after it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pitstop.engine.session.export_order import ExportEnded
from pitstop.events import NonFiniteLocated
from pitstop.keras.common_private import model_variables
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.left_out import bad_weight, tensors_of
from pitstop.keras.packages import kinds, public
from pitstop.tensorflow.finiteness import Finiteness, look, parts_of
from pitstop.tensorflow.variables.naming import path_of

_KEPT_CALLBACKS = (
    "callbacks.EarlyStopping",
    "callbacks.History",
    "callbacks.LearningRateScheduler",
    "callbacks.ReduceLROnPlateau",
)
"""Callbacks that write nothing, and steer the training."""


def silence(callbacks: Iterable[Any]) -> list[str]:
    """Keeps callbacks from acting, so that nothing is written twice; their class names."""
    silenced = [each for each in callbacks if not isinstance(each, kinds(*_KEPT_CALLBACKS))]
    for callback in silenced:
        for name in [name for name in dir(type(callback)) if name.startswith("on_")]:
            setattr(callback, name, lambda *_, **__: None)
    return [type(each).__name__ for each in silenced]


def looks_at(run: FitRun, stride: int) -> bool:
    """Whether the next call is to run layer by layer; if so, it has run when this returns.

    Each of its steps is looked at; raises `ExportEnded` where something was found.
    """
    to_find = run.session.settings.find_nan_step
    # One step earlier: its update may be what the next one suffers from.
    if not to_find or run.position.step + stride < to_find - 1:
        return False
    for step in run.position.next_steps(stride):
        found = look_at_step(run.model, next(run.input.iterator), step)
        if found.where != "nowhere" or step == to_find:
            if found.where == "nowhere" and run.silenced:
                told = f"callbacks that were not run: {', '.join(run.silenced)}"
                found = replace(found, details=[*found.details, told])
            run.session.report(found)
            raise ExportEnded(0)
    return True


def look_at_step(model: Any, batch: Any, step: int) -> NonFiniteLocated:
    inputs = [found for each in tensors_of(model, batch) if (found := look(*each)) is not None]
    bad_input = next((each for each in inputs if each.bad), None)
    if bad_input:
        return NonFiniteLocated(step, "input", bad_input.name, [bad_input.bad_words])
    if found := bad_weight(model_variables(model)):
        return NonFiniteLocated(step, "weights", found.name, [found.bad_words])
    with _watching(model) as seen:
        # As Keras' train function hands it on.
        data = tf.nest.map_structure(
            lambda part: None if isinstance(part, tf.experimental.Optional) else part, batch
        )
        model.distribute_strategy.run(model.train_step, args=(data,))
    bad = seen.first_bad
    if bad is None and (changed := bad_weight(model_variables(model))):
        bad = ("update", changed)
    ranges = [each.range_words for each in inputs if each.range_words]
    if bad is None:
        return NonFiniteLocated(step, "nowhere", details=ranges)
    where, found = bad
    return NonFiniteLocated(step, where, found.name, [found.bad_words, *seen.context, *ranges])


class _Seen:
    """What a step has computed layer by layer, in its order, up to the first bad value.

    `first_bad`: "activation", "loss" or "gradient", and the value; `context`: about what was good
    before it.
    """

    def __init__(self) -> None:
        self.first_bad: tuple[str, Finiteness] | None = None
        self.context: list[str] = []

    def saw(self, where: str, name: str, value: Any) -> None:
        if self.first_bad is not None:
            return
        for path, tensor in parts_of(value):
            found = look(f"{name}{path}", tensor)
            if found is not None and found.bad:
                self.first_bad = (where, found)
                return

    def saw_gradients(self, gradients: Iterable[Any], variables: Iterable[Any]) -> None:
        pairs = [(g, v) for g, v in zip(gradients, variables, strict=False) if g is not None]
        for gradient, variable in pairs:
            self.saw("gradient", path_of(variable), gradient)
        if pairs and self.first_bad is None:
            norm = float(tf.linalg.global_norm([tf.cast(g, tf.float32) for g, _ in pairs]))
            self.context.append(f"the gradients are good, their norm is {norm:.4g}")


@contextmanager
def _watching(model: Any) -> Iterator[_Seen]:
    seen = _Seen()
    layers = public(model).layers.Layer
    call_layer = layers.__call__
    compute_loss = model.compute_loss

    def call(layer: Any, /, *args: Any, **kwargs: Any) -> Any:
        outputs = call_layer(layer, *args, **kwargs)
        if layer is not model:
            kind = type(layer).__name__
            seen.saw("activation", f"{kind} {getattr(layer, 'path', layer.name)}", outputs)
        return outputs

    def loss_of(*args: Any, **kwargs: Any) -> Any:
        loss = compute_loss(*args, **kwargs)
        seen.saw("loss", "", loss)
        if seen.first_bad is None:
            seen.context.append(f"the loss is {float(tf.reduce_mean(loss)):.4g}")
        return loss

    with (
        _instead(layers, "__call__", call),
        _instead(model, "compute_loss", loss_of),
        _gradients_seen(model, seen),
    ):
        yield seen


@contextmanager
def _gradients_seen(model: Any, seen: _Seen) -> Iterator[None]:
    optimizer = model.optimizer
    if optimizer is None:
        yield
        return
    # Optimizers of Keras 2 are given each gradient with its variable.
    in_pairs = not hasattr(optimizer, "apply")
    name = "apply_gradients" if in_pairs else "apply"
    apply = getattr(optimizer, name)

    def seen_apply(grads: Any, trainable_variables: Any = None, **kwargs: Any) -> Any:
        given = list(grads)
        known = trainable_variables or getattr(optimizer, "_trainable_variables", ())
        seen.saw_gradients(*(zip(*given, strict=True) if in_pairs else (given, known)))
        return apply(given, trainable_variables, **kwargs)

    with _instead(optimizer, name, seen_apply):
        yield


@contextmanager
def _instead(owner: Any, name: str, value: Callable[..., Any]) -> Iterator[None]:
    """Puts a function in the place of another one, past a class's own rules for attributes."""
    before = getattr(owner, name)
    if isinstance(owner, type):
        setattr(owner, name, value)
    else:
        vars(owner)[name] = value
    try:
        yield
    finally:
        if isinstance(owner, type):
            setattr(owner, name, before)
        else:
            del vars(owner)[name]
