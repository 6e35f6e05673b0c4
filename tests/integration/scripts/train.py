"""The user's script of the exactness matrix: seeded, small, and unaware of Pitstop.

Writes everything a training run can differ in to one .npz file: the loss and
accuracy of every batch, weights, random states, optimizer slots, History, and
what the callbacks decided in each epoch.
"""

import argparse
import csv
import json
import os
import time
from pathlib import Path

import numpy as np
from faults import Fault, meet
from inputs import INPUTS
from which_keras import keras

layers = keras.layers
GENERATOR = np.random.default_rng(9)
SAMPLES = 630  # the last of 20 batches is a short one


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


class OwnRandom(keras.callbacks.Callback):
    """Draws with generators that the script keeps in attributes, globals and methods."""

    def __init__(self):
        super().__init__()
        self.attribute = {"inside": [np.random.RandomState(3)]}
        self.draw = np.random.Generator(np.random.SFC64(4)).random
        self.drawn = []

    def on_train_batch_end(self, batch, logs=None):
        own = self.attribute["inside"][0].random_sample()
        self.drawn.append([own, self.draw(), GENERATOR.random(), np.random.random()])

    def on_epoch_begin(self, epoch, logs=None):
        GENERATOR.random()


class LineLog(keras.callbacks.Callback):
    """Appends a line for each batch to a file that it keeps open."""

    path = Path("batches.jsonl")

    def on_train_begin(self, logs=None):
        self.file = self.path.open("a")

    def on_train_batch_end(self, batch, logs=None):
        self.file.write(json.dumps({"batch": batch, "loss": float(logs["loss"])}) + "\n")

    def on_train_end(self, logs=None):
        self.file.close()


class RecordedBest(keras.callbacks.ModelCheckpoint):
    def __init__(self, **settings):
        super().__init__(**settings)
        self.decisions = []

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        self.decisions.append([epoch, float(self.best)])


class Pace(keras.callbacks.Callback):
    """Slows the steps down, so that somebody outside can reach the run in time."""

    def __init__(self, step_seconds, validation_seconds):
        super().__init__()
        self.step_seconds = step_seconds
        self.validation_seconds = validation_seconds

    def on_train_batch_end(self, batch, logs=None):
        # Not an attribute: another callback would be another training.
        time.sleep(self.step_seconds + float(os.environ.get("SAMPLE_PACE", "0")))

    def on_test_batch_end(self, batch, logs=None):
        time.sleep(self.validation_seconds)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the .npz file to write")
    parser.add_argument("--input", choices=INPUTS, default="numpy")
    parser.add_argument("--steps-per-execution", type=int, default=1)
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--convolutions", action="store_true")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--shuffled-validation", action="store_true", help="from tf.data")
    parser.add_argument("--drawn-validation", action="store_true", help="with random numbers")
    parser.add_argument("--validation-steps", type=int)
    parser.add_argument("--callbacks", action="store_true")
    parser.add_argument("--own-random", action="store_true", help="of a callback")
    parser.add_argument("--logs", action="store_true", help="callbacks that write files")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--fits", type=int, default=1, help="how often to call fit")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds more per step")
    parser.add_argument("--validation-pace", type=float, default=0.0)
    return parser.parse_args()


def make_arrays(samples, seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(samples, 16)).astype("float32")
    # A fifth of the labels is wrong, so that validation stops to improve early.
    clean = x[:, :4].argmax(axis=1)
    noise = generator.integers(0, 4, samples)
    return x, np.where(generator.random(samples) < 0.2, noise, clean).astype("int32")


def make_validation(options):
    if options.shuffled_validation:
        kind = "tfdata-repeat" if options.validation_steps else "tfdata-shuffle"
        return INPUTS[kind](*make_arrays(192, seed=2))["x"]
    if options.drawn_validation:
        return INPUTS["sequence"](*make_arrays(192, seed=2))["x"]
    return make_arrays(192, seed=2) if options.validation else None


def convolutions():
    """Layers whose last bits depend on the number of threads."""
    return [
        layers.Reshape((4, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Flatten(),
    ]


def build_model(options):
    model = keras.Sequential(
        [
            keras.Input((16,)),
            layers.Dense(32),
            *(convolutions() if options.convolutions else []),
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
    if options.logs:
        return [RecordedBest(filepath="best.keras", monitor="loss", save_best_only=True)]
    if options.own_random:
        return [OwnRandom()]
    if not options.callbacks:
        return []
    monitor = "val_loss" if options.validation else "loss"
    return [
        RecordedEarlyStopping(
            monitor=monitor, patience=2, min_delta=0.05, restore_best_weights=True
        ),
        RecordedPlateau(monitor=monitor, patience=1, min_delta=0.2, factor=0.5),
    ]


def script_logs():
    """Writes to files that the script itself has opened, one of them by a writer of rows."""
    rows = csv.writer(Path("rows.csv").open("w"))  # noqa: SIM115
    lines = Path("lines.txt").open("a")  # noqa: SIM115
    rows.writerow(["batch", "loss"])

    def line(epoch, logs):
        print(epoch, float(logs["loss"]), file=lines)

    return keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: rows.writerow([batch, float(logs["loss"])]),
        on_epoch_end=line,
    )


def save(path, model, trace, deciders, histories):
    arrays = {"loss": np.array(trace.loss), "accuracy": np.array(trace.accuracy)}
    for group, variables in (("model", model.variables), ("optimizer", model.optimizer.variables)):
        for index, variable in enumerate(variables):
            name = getattr(variable, "path", variable.name)
            arrays[f"{group}/{index:02d}/{name}"] = np.asarray(variable)
    for decider in deciders:
        decisions = decider.drawn if isinstance(decider, OwnRandom) else decider.decisions
        arrays[f"decisions/{type(decider).__name__}"] = np.array(decisions)
    arrays["history"] = np.array(json.dumps(histories, default=float))
    np.savez(path, **arrays)


def main():
    options = parse_arguments()
    keras.utils.set_random_seed(options.seed)
    feed = INPUTS[options.input](*make_arrays(SAMPLES, seed=1))
    validation = make_validation(options)
    model = build_model(options)
    trace, deciders = BatchTrace(), make_deciders(options)
    watchers = [
        trace,
        Pace(options.pace, options.validation_pace),
        Fault(options.steps_per_execution),
    ]
    if options.logs:
        watchers += [
            keras.callbacks.TensorBoard("events", update_freq=1, write_graph=False),
            keras.callbacks.CSVLogger("epochs.csv"),
            LineLog(),
            script_logs(),
        ]
    histories = []
    for fit in range(1, options.fits + 1):
        history = model.fit(
            **feed,
            epochs=options.epochs,
            validation_data=validation,
            validation_steps=options.validation_steps,
            callbacks=[*deciders, *watchers],
            verbose=2,
        )
        histories.append({"epoch": history.epoch, **history.history})
        meet("fit", fit)
    save(options.out, model, trace, deciders, histories)


if __name__ == "__main__":
    main()
