"""The user's script of the exactness matrix: seeded, small, and unaware of Pitstop.

Writes everything a training run can differ in to one .npz file: the loss and
accuracy of every batch, weights, random states, optimizer slots, History, and
what the callbacks decided in each epoch.
"""

import argparse
import json

import keras
import numpy as np
import tensorflow as tf
from faults import Fault
from keras import layers

SAMPLES = 630  # the last of 20 batches is a short one
BATCH = 32
STEPS = 20


class BatchTrace(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.loss = []
        self.accuracy = []

    def on_train_batch_end(self, batch, logs=None):
        self.loss.append(float(logs["loss"]))
        self.accuracy.append(float(logs["accuracy"]))


class RecordedEarlyStopping(keras.callbacks.EarlyStopping):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.decisions = []

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.decisions.append([epoch, self.wait, float(self.best), self.model.stop_training])


class RecordedPlateau(keras.callbacks.ReduceLROnPlateau):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.decisions = []

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        rate = float(self.model.optimizer.learning_rate)
        self.decisions.append([epoch, self.wait, float(self.best), rate])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the .npz file to write")
    parser.add_argument(
        "--input",
        choices=["numpy", "tfdata", "tfdata-repeat", "tfdata-shuffle"],
        default="numpy",
    )
    parser.add_argument("--steps-per-execution", type=int, default=1)
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--callbacks", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--fits", type=int, default=1, help="how often to call fit")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def make_arrays(samples, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(samples, 16)).astype("float32")
    # A fifth of the labels is wrong, so that validation stops to improve early.
    clean = x[:, :4].argmax(axis=1)
    noise = generator.integers(0, 4, samples)
    return x, np.where(generator.random(samples) < 0.2, noise, clean).astype("int32")


def make_input(kind, x, y):
    """What to give to fit: its data and the settings that go with them."""
    if kind == "numpy":
        return {"x": x, "y": y, "batch_size": BATCH}
    rows = tf.data.Dataset.from_tensor_slices((x, y))
    if kind == "tfdata":
        return {"x": rows.batch(BATCH).prefetch(2)}
    rows = rows.shuffle(len(x))
    if kind == "tfdata-shuffle":
        return {"x": rows.batch(BATCH).prefetch(tf.data.AUTOTUNE)}
    batches = rows.repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return {"x": batches, "steps_per_epoch": STEPS}


def build_model(options):
    model = keras.Sequential(
        [
            keras.Input((16,)),
            layers.Dense(32),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dropout(0.3),
            layers.Dense(4, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(0.02),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        steps_per_execution=options.steps_per_execution,
        jit_compile=options.jit,
    )
    return model


def make_deciders(options):
    if not options.callbacks:
        return []
    monitor = "val_loss" if options.validation else "loss"
    return [
        RecordedEarlyStopping(
            monitor=monitor, patience=2, min_delta=0.05, restore_best_weights=True
        ),
        RecordedPlateau(monitor=monitor, patience=1, min_delta=0.2, factor=0.5),
    ]


def save(path, model, trace, deciders, histories):
    arrays = {"loss": np.array(trace.loss), "accuracy": np.array(trace.accuracy)}
    for group, variables in (("model", model.variables), ("optimizer", model.optimizer.variables)):
        for index, variable in enumerate(variables):
            arrays[f"{group}/{index:02d}/{variable.path}"] = np.asarray(variable)
    for decider in deciders:
        arrays[f"decisions/{type(decider).__name__}"] = np.array(decider.decisions)
    arrays["history"] = np.array(json.dumps(histories, default=float))
    np.savez(path, **arrays)


def main():
    options = parse_arguments()
    keras.utils.set_random_seed(options.seed)
    feed = make_input(options.input, *make_arrays(SAMPLES, seed=1))
    validation = make_arrays(192, seed=2) if options.validation else None
    model = build_model(options)
    trace, deciders = BatchTrace(), make_deciders(options)
    histories = []
    for _ in range(options.fits):
        history = model.fit(
            **feed,
            epochs=options.epochs,
            validation_data=validation,
            callbacks=[*deciders, trace, Fault(options.steps_per_execution)],
            verbose=2,
        )
        histories.append({"epoch": history.epoch, **history.history})
    save(options.out, model, trace, deciders, histories)


if __name__ == "__main__":
    main()
