"""The CNN of `examples/digits_cnn.py`, kept by one of several means; what `goodput.py` interrupts.

It adds a line to FOLDER/steps.txt for each step (when, the updates that the weights hold, and its
process). At its end it writes FOLDER/end.json: a digest of weights and optimizer, updates, History.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
digits_cnn = importlib.import_module("digits_cnn")


class LogSteps(keras.callbacks.Callback):
    """Writes down each step of a `fit`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._path = str(folder / "steps.txt")

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.step(int(self.model.optimizer.iterations))

    def step(self, updates: int) -> None:
        """A step has ended."""
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, f"{time.time()} {updates} {os.getpid()}\n".encode())
        os.close(fd)


def loop(
    data: tuple[Any, Any], options: argparse.Namespace, steps: int, log: LogSteps
) -> dict[str, Any]:
    """Trains as TensorFlow's guide on checkpoints does: model, optimizer, step and iterator."""
    model = digits_cnn.build_model()
    optimizer = model.optimizer
    optimizer.build(model.trainable_variables)
    rows = tf.data.Dataset.from_tensor_slices(data).shuffle(len(data[0]))
    iterator = iter(rows.repeat().batch(options.batch))
    checkpoint = tf.train.Checkpoint(
        step=tf.Variable(0), optimizer=optimizer, net=model, iterator=iterator
    )
    manager = tf.train.CheckpointManager(checkpoint, str(options.folder / "kept"), max_to_keep=3)
    checkpoint.restore(manager.latest_checkpoint)

    @tf.function
    def train_step(x: tf.Tensor, y: tf.Tensor) -> None:
        with tf.GradientTape() as tape:
            predicted = model(x, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, predicted))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    while int(checkpoint.step) < steps * options.epochs:
        train_step(*next(iterator))
        checkpoint.step.assign_add(1)
        if options.every_steps and int(checkpoint.step) % options.every_steps == 0:
            manager.save()
        log.step(int(checkpoint.step))
    return _end(model, {})


def fit(data: tuple[Any, Any], options: argparse.Namespace, log: LogSteps) -> dict[str, Any]:
    """Trains with `fit`.

    `tf.data` tunes nothing: the thread that does misses the end of an iterator now and then, and
    keeps the end of an epoch for up to 2.5 s, with Pitstop and without.
    """
    rows = tf.data.Dataset.from_tensor_slices(data).shuffle(len(data[0])).batch(options.batch)
    untuned = tf.data.Options()
    untuned.autotune.enabled = False
    model = digits_cnn.build_model()
    kept = str(options.folder / "kept")
    backup = keras.callbacks.BackupAndRestore(kept, options.every_steps or "epoch")
    callbacks = [backup, log] if options.keep == "backup" else [log]
    history = model.fit(
        rows.with_options(untuned), epochs=options.epochs, callbacks=callbacks, verbose=0
    )
    return _end(model, {"epoch": history.epoch, **history.history})


def _end(model: Any, history: dict[str, Any]) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    for each in (*model.weights, *model.optimizer.variables):
        digest.update(np.asarray(each).tobytes())
    updates = int(model.optimizer.iterations)
    return {"weights": digest.hexdigest(), "updates": updates, "history": history}


def main() -> None:
    """Trains to the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", choices=("nothing", "backup", "loop"), default="nothing")
    parser.add_argument("--every-steps", type=int, default=0, help="0: each epoch; a loop: never")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=4, help="how often an epoch has each row")
    parser.add_argument("--batch", type=int, default=64)
    options = parser.parse_args()
    keras.utils.set_random_seed(7)
    x, y = (
        np.tile(each, [options.repeat, *[1] * (each.ndim - 1)])
        for each in digits_cnn.load_data()[0]
    )
    log = LogSteps(options.folder)
    steps = -(-len(x) // options.batch)
    run = options.keep == "loop"
    end = loop((x, y), options, steps, log) if run else fit((x, y), options, log)
    (options.folder / "end.json").write_text(json.dumps(end))


if __name__ == "__main__":
    main()
