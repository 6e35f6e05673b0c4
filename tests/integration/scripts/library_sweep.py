"""A sweep by a library that keeps what it has tried, in its own files.

usage: library_sweep.py optuna|keras_tuner PACKAGES [--check]

Prints how many trials have ended.  With `--check` it trains each of them once more, on its own:
what the library has of it must be what it comes to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

TRIALS = 3
EPOCHS = 3
draw = np.random.default_rng(0)
x = draw.normal(size=(96, 6)).astype("float32")
y = (x.sum(1) > 0).astype("int32")


def built(rate: float, units: int) -> keras.Model:
    keras.utils.set_random_seed(units)
    model = keras.Sequential(
        [keras.layers.Dense(units, activation="relu"), keras.layers.Dropout(0.2)]
    )
    model.add(keras.layers.Dense(1, activation="sigmoid"))
    model.compile(keras.optimizers.Adam(rate), "binary_crossentropy")
    return model


def losses(rate: float, units: int) -> list[float]:
    found = built(rate, units).fit(x, y, epochs=EPOCHS, batch_size=8, verbose=0).history
    return [float(each) for each in found["loss"]]


def optuna_trials(*, search: bool) -> Iterator[tuple[dict[str, Any], float]]:
    import optuna

    def objective(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("rate", 1e-3, 1e-1, log=True)
        return losses(rate, trial.suggest_int("units", 2, 9))[-1]

    study = optuna.create_study(
        storage="sqlite:///study.db",
        study_name="s",
        load_if_exists=True,
        sampler=optuna.samplers.RandomSampler(seed=None),
    )
    complete = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    if search:
        study.optimize(objective, n_trials=TRIALS - len(complete))
        complete = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    yield from ((trial.params, trial.value) for trial in complete)


def keras_tuner_trials(*, search: bool) -> Iterator[tuple[dict[str, Any], float]]:
    import keras_tuner

    def build(chosen: keras_tuner.HyperParameters) -> keras.Model:
        rate = chosen.Float("rate", 1e-3, 1e-1, sampling="log")
        return built(rate, chosen.Int("units", 2, 9))

    objective = keras_tuner.Objective("loss", "min")
    tuner = keras_tuner.RandomSearch(build, objective, TRIALS, directory=".", project_name="study")
    if search:
        tuner.search(x, y, epochs=EPOCHS, batch_size=8, verbose=0)
    for trial in tuner.oracle.get_best_trials(TRIALS):
        yield trial.hyperparameters.values, trial.score


library, packages, is_check = sys.argv[1], sys.argv[2], "--check" in sys.argv
sys.path.append(packages)
trials = list(globals()[f"{library}_trials"](search=not is_check))
if is_check:
    for chosen, value in trials:
        expected = losses(**chosen)
        best = min(expected) if library == "keras_tuner" else expected[-1]
        assert value == best, (chosen, value, expected)
print(len(trials))
