"""A training that is stopped in a given phase; run by `stop_latency.py`.

One model and one state, two ways to train it: `fit`, for Pitstop, and a loop of its own under
TensorFlow's PreemptionCheckpointHandler.  Prints "ready" when it is in the phase: some steps are
done and the next are under way, validation or a prediction is, a checkpoint is being written, the
first step is being traced, the input waits, or the script does something else behind its training.
Each step prints how long it took.

    python -m benchmarks.stopped_training --way fit|loop --phase PHASE --megabytes N --folder DIR
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.saving_training import dense_model

PHASES = ("training", "validation", "predict", "compile", "stall", "saving", "between")
LONG_SECONDS = 20.0
"""What the first compile, the stall of the input, and the whole validation or prediction take."""

WARM_STEPS = 8
_VALIDATION_STEPS = 400


def ready() -> None:
    """The phase is reached."""
    print("ready", flush=True)


class SlowModel(keras.Sequential):
    """Its training step takes long to trace, as a large model's does."""

    def train_step(self, data: Any) -> Any:
        """Python runs here once, while the graph is made."""
        ready()
        time.sleep(LONG_SECONDS)
        return super().train_step(data)


def batches(data: tf.data.Dataset, *, stalls: bool) -> tf.data.Dataset:
    """The input, which waits after some batches if it is to."""
    [(x, y)] = list(data.take(1))

    def wait(index: Any) -> Any:
        if stalls and index == WARM_STEPS:
            ready()
            time.sleep(LONG_SECONDS)
        return np.int64(index)

    def batch(index: Any) -> Any:
        known = tf.numpy_function(wait, [index], tf.int64)
        return tf.cond(known >= 0, lambda: (x, y), lambda: (x, y))

    counted = tf.data.Dataset.range(10**6)
    return counted.map(batch) if stalls else counted.map(lambda _: (x, y))


class Watch(keras.callbacks.Callback):
    """Tells how long steps take, and when the phase is reached."""

    def __init__(self, phase: str) -> None:
        super().__init__()
        self._phase = phase
        self._began = 0.0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._began = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        step_done(self._phase, batch + 1, time.perf_counter() - self._began)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        looked(self._phase, batch + 1)

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        looked(self._phase, batch + 1)


def step_done(phase: str, done: int, seconds: float) -> None:
    """A training step has ended."""
    print(f"step {seconds:.4f}", flush=True)
    # Behind the step whose state is being written.
    if (phase, done) in (("training", WARM_STEPS), ("saving", WARM_STEPS + 1)):
        ready()


def looked(phase: str, done: int) -> None:
    """A step of the validation or the prediction has ended."""
    if phase in ("validation", "predict") and done == 2:
        ready()
    time.sleep(LONG_SECONDS / _VALIDATION_STEPS)


def fit(model: keras.Model, data: tf.data.Dataset, phase: str) -> None:
    """Trains with Keras."""
    validation = {"validation_data": data, "validation_steps": _VALIDATION_STEPS}
    ends = phase in ("predict", "between")
    model.fit(
        data,
        epochs=1 if ends else 10**6,
        steps_per_epoch=WARM_STEPS if ends or phase == "validation" else 10**6,
        callbacks=[Watch(phase)],
        verbose=0,
        **(validation if phase == "validation" else {}),
    )
    if phase == "predict":
        model.predict(data, steps=_VALIDATION_STEPS, callbacks=[Watch(phase)], verbose=0)
    elif phase == "between":
        ready()
        time.sleep(LONG_SECONDS)


def loop(model: keras.Model, data: tf.data.Dataset, phase: str, folder: str) -> None:
    """Trains as the documentation of the handler does, on one machine."""
    values = {str(number): each.value for number, each in enumerate(variables(model))}
    checkpoint = tf.train.Checkpoint(**values)
    handler = tf.distribute.experimental.PreemptionCheckpointHandler(None, checkpoint, folder)
    train, validate = functions(model)
    for done, (x, y) in enumerate(iter(data), start=1):
        began = time.perf_counter()
        handler.run(train, x, y)
        step_done(phase if phase != "saving" else "", done, time.perf_counter() - began)
        if done % WARM_STEPS:
            continue
        if phase in ("validation", "predict"):
            for number in range(1, _VALIDATION_STEPS + 1):
                validate(x, y)
                looked(phase, number)
        elif phase == "saving":
            ready()
            checkpoint.save(f"{folder}/own/ckpt")
        elif phase == "between":
            ready()
            time.sleep(LONG_SECONDS)


def variables(model: keras.Model) -> Iterator[Any]:
    """Everything that the state holds."""
    yield from model.variables
    yield from model.optimizer.variables


def functions(model: keras.Model) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A step of training and one of validation."""

    @tf.function
    def train(x: Any, y: Any) -> Any:
        return model.train_step((x, y))["loss"]

    @tf.function
    def validate(x: Any, y: Any) -> Any:
        return model.test_step((x, y))["loss"]

    return train, validate


def main() -> None:
    """Trains until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--way", choices=("fit", "loop"), required=True)
    parser.add_argument("--phase", choices=PHASES, required=True)
    parser.add_argument("--megabytes", type=int, required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    plain, data = dense_model(options.megabytes)
    model = SlowModel(plain.layers) if options.phase == "compile" else plain
    model.compile(keras.optimizers.Adam(1e-4), "mse")
    model.optimizer.build(model.trainable_variables)
    data = batches(data, stalls=options.phase == "stall")
    if options.way == "fit":
        fit(model, data, options.phase)
    else:
        loop(model, data, options.phase, options.folder)


if __name__ == "__main__":
    main()
