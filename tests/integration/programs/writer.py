"""Writes the script of a program."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.integration.programs.changes import CHANGES, Constants
from tests.integration.programs.grammar import Program
from tests.integration.programs.inputs import DATA, HEAD, VALIDATIONS
from tests.integration.programs.places import PLACES
from tests.integration.programs.trainings import TRAININGS
from tests.integration.programs.values import DEFINITIONS, VALUES

SCRIPT, HELPER = "program.py", "helper.py"

_IMPORTS = """\
import argparse
import array
import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import glob
import hashlib
import heapq
import itertools
import json
import os
import random
import time

import keras
import numpy as np
import tensorflow as tf

"""

_HEAD = """\
options = argparse.ArgumentParser()
options.add_argument("--rate", type=float, default={rate})
RATE = options.parse_args().rate
MOMENTUM, EPOCHS, WIDTH, LOSS, DATA_SEED = {momentum}, {epochs}, {width}, {loss}, {data_seed}
RATES, SEED_LIST, FOLDS, SKIPS = {rates}, {seed_list}, {folds}, {skips}
KEPT = {{}}
keras.utils.set_random_seed(1)


def SEEDS(rate):
    return int(rate * 1000)


def digest(arrays):
    found = hashlib.sha256()
    for each in arrays:
        found.update(np.ascontiguousarray(each).tobytes())
    return found.hexdigest()[:12]


def final(name, value):
    text = json.dumps(value, default=lambda other: np.asarray(other).tolist())
    short = text if len(text) < 60 else hashlib.sha256(text.encode()).hexdigest()[:12]
    print("FINAL", name, short, flush=True)


def keep(number, callback):
    KEPT[number] = callback
    return callback


def follow(model, number):
    if not callable(getattr(model.optimizer, "_learning_rate", None)):
        model.optimizer.learning_rate.assign(RATE / (1 + 0.05 * (abs(number) % 7)))


def started(hooks):
    for each in hooks:
        each.set_model(model)
    return hooks


def call(hooks, name, number):
    for each in hooks:
        getattr(each, name)(number, {{}})


"""
_DENSE = "keras.Input((6,)), keras.layers.Dense(width, activation='relu'), keras.layers.Dense(1)"
_MODELS = {
    "dense": f"[{_DENSE}]",
    "dropout": (
        "[keras.Input((6,)), keras.layers.Dense(width, activation='relu'),"
        " keras.layers.Dropout(0.2), keras.layers.Dense(1)]"
    ),
    "normalised": (
        "[keras.Input((6,)), keras.layers.Dense(width), keras.layers.BatchNormalization(),"
        " keras.layers.Dense(1)]"
    ),
    "late": "[keras.layers.Dense(width, activation='relu'), keras.layers.Dense(1)]",
    "eager_counter": f"[{_DENSE}]",
    "noisy": (
        "[keras.Input((6,)), keras.layers.Dense(width),"
        " keras.layers.Lambda(lambda v: v + 0.1 * tf.random.normal(tf.shape(v))),"
        " keras.layers.Lambda(lambda v: tf.nn.dropout(v, 0.2)), keras.layers.Dense(1)]"
    ),
}
_EAGER = """\
class Counting(keras.Sequential):
    def train_step(self, data):
        self.rounds = getattr(self, "rounds", 0) + 1
        if self.rounds % 3 == 0:
            data = (data[0] * 0.5, *data[1:])
        return super().train_step(data)


"""
_OPTIMIZERS = {
    "sgd": "keras.optimizers.SGD(rate, momentum=MOMENTUM)",
    "adam": "keras.optimizers.Adam(rate, beta_1=MOMENTUM)",
    "schedule": (
        "keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(rate, 5, 0.9), MOMENTUM)"
    ),
}
_CALLBACKS = {
    "stopping": "keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)",
    "plateau": "keras.callbacks.ReduceLROnPlateau(patience=1, min_delta=1.0)",
    "csv": "keras.callbacks.CSVLogger('log.csv')",
    "best": (
        "keras.callbacks.ModelCheckpoint("
        "'best.weights.h5', save_best_only=True, save_weights_only=True)"
    ),
    "schedule": "keras.callbacks.LearningRateScheduler(lambda epoch, rate: float(rate * 0.9))",
    "freeze": "Freezes()",
    "swap_rate": (
        "keras.callbacks.LambdaCallback(on_epoch_begin=lambda epoch, logs: follow(model, epoch))"
    ),
}
_FREEZES = """\
class Freezes(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.layers[0].trainable = False
            self.model.make_train_function(force=True)


"""
_EXTRA = {
    "no": ("", ""),
    "here": ("EXTRA, ", ""),
    "moved": ("", ", EXTRA"),
    "removed": ("", ""),
    "added": ("EXTRA, ", ""),
}
_EXTRA_CALLBACK = "keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None)"


@dataclass(frozen=True)
class Attempt:
    """What one attempt runs: files by name, and more words for the command."""

    files: dict[str, str]
    words: tuple[str, ...] = ()


def first_attempt(program: Program) -> Attempt:
    """What every attempt but the last runs."""
    return Attempt(_files(program, _constants(program)))


def last_attempt(program: Program) -> Attempt:
    """What the last attempt runs."""
    change = CHANGES[program.change]
    constants = replace(_constants(program), **dict(change.constants))
    return Attempt(_files(program, constants), (change.argument,) if change.argument else ())


def _constants(program: Program) -> Constants:
    with_extra = program.change in ("callback_removed", "callback_moved")
    return Constants(extra_callback="here" if with_extra else "no")


def _files(program: Program, constants: Constants) -> dict[str, str]:
    return {SCRIPT: _script(program, constants), HELPER: "# State that the script keeps here.\n"}


def _script(program: Program, constants: Constants) -> str:
    head = HEAD.replace("SAMPLES, BATCH = 48, 12", f"SAMPLES, BATCH = 48, {constants.batch}")
    values = vars(constants)
    parts = [
        _IMPORTS + constants.comment,
        _HEAD.format(**values, skips=TRAININGS[program.training].separate),
        DEFINITIONS,
        head,
        _EAGER if program.model == "eager_counter" else "",
        _FREEZES if "freeze" in program.callbacks else "",
        _model(program),
        DATA[program.data],
        VALIDATIONS[program.validation],
        *_holders(program),
        _callbacks(program, constants.extra_callback),
        TRAININGS[program.training].source,
        _finals(program),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _model(program: Program) -> str:
    eager = program.model == "eager_counter"
    kind = "Counting" if eager else "keras.Sequential"
    return (
        f"def make_model(rate=RATE, width=WIDTH):\n"
        f"    model = {kind}({_MODELS[program.model]})\n"
        f"    optimizer = {_OPTIMIZERS[program.optimizer]}\n"
        f"    model.compile(optimizer, LOSS, metrics=['mae'], run_eagerly={eager})\n"
        f"    return model\n"
    )


def _holders(program: Program) -> list[str]:
    return [
        PLACES[each.place].source(number, VALUES[each.value], each.event, each.effect)
        for number, each in enumerate(program.holders)
    ]


def _callbacks(program: Program, extra: str) -> str:
    first, last = (part.replace("EXTRA", _EXTRA_CALLBACK) for part in _EXTRA[extra])
    made = [_CALLBACKS[name] for name in program.callbacks]
    made += [
        PLACES[each.place].callback_source(number, each.event)
        for number, each in enumerate(program.holders)
    ]
    return f"def callbacks():\n    return [{first}{', '.join(made)}{last if made else last[2:]}]\n"


def _finals(program: Program) -> str:
    separate = TRAININGS[program.training].separate
    lines = [] if separate else ['final("weights", digest(model.get_weights()))']
    if not separate:
        lines += [
            f'final("held {number} {each.place} {each.value}", '
            f"{PLACES[each.place].number_source(number, VALUES[each.value])})"
            for number, each in enumerate(program.holders)
        ]
        if "csv" in program.callbacks:
            lines.append('final("log", open("log.csv").read())')
    return "\n".join(lines)
