"""The same small training again and again, and each time something of Pitstop's fails in it.

It prints a line for each: what failed, epochs, checksum of the weights.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

TOGETHER = (
    (
        "link.beacon:Beacon.write_plan",
        "steps:digest",
        "engine.session.step_recorder:Vitals.tell",
        "engine.snapshots.snapshots:Snapshots.epoch_ended",
        "engine.snapshots.snapshots:Snapshots.milestone",
        "keras.callbacks.stop_training:describe",
        "keras.private:validation_iterators",
    ),
    ("link.beacon:Beacon.write_step_seconds", "link.beacon:Beacon.checkpoint_requests"),
    (
        "engine.snapshots.snapshots:Snapshots.act",
        "keras.step_numbers:numbers",
        "keras.inputs.input_level:RepeatedShuffles.begin",
        "keras.inputs.input_state:InputState.creating",
    ),
    ("engine.snapshots.snapshots:Snapshots.start_steps",),
    ("keras.fits.data_spec:describe", "tensorflow.randomness:RandomStreams.look"),
    (
        "tensorflow.variables.variables:VariableRegistry._add",
        "tensorflow.variables.variables:VariableRegistry.hold",
    ),
    ("link.wire:Connection.send",),
)


@contextmanager
def sabotaged(place: str) -> Iterator[None]:
    """In here, this function of Pitstop fails."""

    def broken(*_: Any, **__: Any) -> Any:
        raise TypeError(f"{place} is broken")

    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(f"pitstop.{module}")
    *classes, name = path.split(".")
    for each in classes:
        owner = getattr(owner, each)
    whole = getattr(owner, name)
    setattr(owner, name, broken)
    yield
    setattr(owner, name, whole)


def train(place: str) -> None:
    keras.utils.set_random_seed(7)
    x = np.random.default_rng(1).random((64, 4), np.float32)
    y = np.eye(2)[(x.sum(1) > 2).astype(int)]
    model = keras.Sequential(
        [keras.layers.Dense(2, activation="softmax"), keras.layers.Dropout(0.1)]
    )
    model.compile("adam", "categorical_crossentropy", metrics=[keras.metrics.F1Score(name="f1")])
    stop = keras.callbacks.EarlyStopping("val_loss", min_delta=1.0, patience=1)
    history = model.fit(x, y, epochs=9, verbose=0, validation_data=(x, y), callbacks=[stop])
    model.evaluate(x, y, verbose=0)
    print("FIT", place, len(history.epoch), checksum(model.weights), flush=True)


def loop(place: str) -> None:
    weight = tf.Variable(3.0)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_sub(0.1 * weight * x)
        return weight * weight

    for number in range(8):
        step(tf.constant(float(number)))
    print("LOOP", place, checksum([weight]), flush=True)


def checksum(weights: list[Any]) -> int:
    return zlib.crc32(b"".join(np.asarray(each).tobytes() for each in weights))


train("nothing")
loop("nothing")
for number, places in enumerate(TOGETHER):
    with ExitStack() as broken:
        for each in places:
            broken.enter_context(sabotaged(each))
        train(f"group-{number}")
        loop(f"group-{number}")
