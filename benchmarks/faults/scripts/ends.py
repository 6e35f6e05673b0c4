"""Callbacks that a user adds, and the save at the end of each epoch."""

import os
import time

import keras
import tensorflow as tf
from faults import reach

PACE_SECONDS = float(os.environ.get("FAULT_PACE", "0.01"))
_TARGET = os.environ.get("FAULT_TARGET", "model")


class Places(keras.callbacks.Callback):
    """Tells which places the training reaches; as slow as it is told to be."""

    def __init__(self):
        super().__init__()
        self.batches = self.tests = self.epochs = 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        reach(f"batch:{self.batches}")
        time.sleep(PACE_SECONDS)

    def on_test_batch_end(self, batch, logs=None):
        self.tests += 1
        reach(f"test:{self.tests}")

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1
        reach(f"epoch:{self.epochs}")


class TimeBudget(keras.callbacks.Callback):
    """Stops after some batches, as a user's own callback does."""

    def __init__(self):
        super().__init__()
        self.batches = 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        if self.batches == 25:
            self.model.stop_training = True


class Uploader(keras.callbacks.Callback):
    """Fails in a callback."""

    def on_epoch_end(self, epoch, logs=None):
        raise ConnectionRefusedError(111, "Connection refused: bucket.internal:9000")


class SavesCheckpoint(keras.callbacks.Callback):
    """Saves with TensorFlow's own checkpoints."""

    def on_epoch_end(self, epoch, logs=None):
        tf.train.Checkpoint(model=self.model).write(f"{_TARGET}-{epoch}")


class Rate(keras.callbacks.Callback):
    """A schedule with a slip of the pen."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.optimizer.learning_rate = self.rate


def _early_stopping():
    return keras.callbacks.EarlyStopping(monitor="loss", patience=2, min_delta=10.0)


CALLBACKS = {
    "plateau": lambda: [_early_stopping()],
    "blow_up": lambda: [keras.callbacks.EarlyStopping(monitor="loss", patience=2), Rate(30.0)],
    "budget": lambda: [TimeBudget()],
    "terminate": lambda: [keras.callbacks.TerminateOnNaN(), Rate(1e30)],
    "terminate_by_error": lambda: [keras.callbacks.TerminateOnNaN(raise_error=True), Rate(1e30)],
    "rate": lambda: [Rate(1e30)],
    "uploader": lambda: [Uploader()],
    "patient": lambda: [keras.callbacks.EarlyStopping(monitor="loss", patience=50)],
    "keras": lambda: [keras.callbacks.ModelCheckpoint(f"{_TARGET}-{{epoch}}.keras")],
    "h5": lambda: [
        keras.callbacks.ModelCheckpoint(f"{_TARGET}-{{epoch}}.weights.h5", save_weights_only=True)
    ],
    "checkpoint": lambda: [SavesCheckpoint()],
}


def callbacks(names):
    """What was asked for, and what all trainings here have."""
    return [Places(), *(each for name in names for each in CALLBACKS[name]())]
