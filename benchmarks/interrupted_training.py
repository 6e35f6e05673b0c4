"""A training that can be killed at one step and started again, kept by one of several means.

The script that `side_by_side.py` runs. It writes a line per step to FOLDER/steps.jsonl
(the updates that the weights hold, the bits of the loss, a digest of the weights), and at its end
FOLDER/end.json. The file FOLDER/killed is there once it was killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

SAMPLES = 640
BATCH = 32
EPOCHS = 4
STEPS = SAMPLES // BATCH * EPOCHS


class StepLog:
    """Writes down every step, and ends the process after one of them, once."""

    def __init__(self, folder: Path, kill_at: int) -> None:
        self._steps = (folder / "steps.jsonl").open("a")
        self._killed = folder / "killed"
        self._kill_at = kill_at

    def step(self, model: Any, loss: float) -> None:
        """A step is done, and what keeps the training has seen it."""
        digest = hashlib.blake2b(digest_size=8)
        for weight in model.weights:
            digest.update(np.asarray(weight).tobytes())
        updates = int(model.optimizer.iterations)
        line = {"updates": updates, "loss": loss.hex(), "weights": digest.hexdigest()}
        self._steps.write(json.dumps(line) + "\n")
        self._steps.flush()
        if updates == self._kill_at and not self._killed.exists():
            self._killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class LogSteps(keras.callbacks.Callback):
    """Tells the log of every step of a `fit`."""

    def __init__(self, log: StepLog) -> None:
        super().__init__()
        self._log = log

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._log.step(self.model, float(logs["loss"]))


def make_data() -> tf.data.Dataset:
    """Rows in an order that changes with every epoch."""
    x = np.random.default_rng(1).normal(size=(SAMPLES, 16)).astype("float32")
    y = x[:, :4].argmax(axis=1).astype("int32")
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(SAMPLES).batch(BATCH)


def make_model() -> Any:
    """A small network with what is easily lost: Dropout, batch statistics, Adam."""
    model = keras.Sequential(
        [
            keras.Input((16,)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    return model


def fit(log: StepLog, keepers: list[Any]) -> dict[str, list[float]]:
    """Trains with `fit`; its History."""
    history = make_model().fit(
        make_data(), epochs=EPOCHS, callbacks=[*keepers, LogSteps(log)], verbose=0
    )
    return {"epoch": history.epoch, **history.history}


def loop(log: StepLog, folder: Path, every_steps: int) -> dict[str, list[float]]:
    """Trains as TensorFlow's guide on checkpoints does, its input iterator included."""
    model, optimizer = make_model(), keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    model.optimizer = optimizer
    iterator = iter(make_data().repeat(EPOCHS))
    checkpoint = tf.train.Checkpoint(
        step=tf.Variable(0), optimizer=optimizer, net=model, iterator=iterator
    )
    manager = tf.train.CheckpointManager(checkpoint, str(folder / "kept"), max_to_keep=3)
    checkpoint.restore(manager.latest_checkpoint)

    @tf.function
    def train_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            predicted = model(x, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, predicted))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    while int(checkpoint.step) < STEPS:
        loss = train_step(*next(iterator))
        checkpoint.step.assign_add(1)
        if int(checkpoint.step) % every_steps == 0:
            manager.save()
        log.step(model, float(loss))
    return {}


def main() -> None:
    """Trains to the end, or to the step at which it is killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", choices=("nothing", "backup", "loop"), default="nothing")
    parser.add_argument("--every-steps", type=int, default=0, help="0: every epoch")
    parser.add_argument("--kill-at", type=int, default=0, help="0: never")
    options = parser.parse_args()
    keras.utils.set_random_seed(1)
    log = StepLog(options.folder, options.kill_at)
    if options.keep == "loop":
        history = loop(log, options.folder, options.every_steps or SAMPLES // BATCH)
    else:
        kept = str(options.folder / "kept")
        backup = keras.callbacks.BackupAndRestore(kept, options.every_steps or "epoch")
        history = fit(log, [backup] if options.keep == "backup" else [])
    (options.folder / "end.json").write_text(json.dumps(history))


if __name__ == "__main__":
    main()
