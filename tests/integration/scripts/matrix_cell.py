"""One cell of the exactness matrix: an input, and a way to train on it.

Writes everything that the training can differ in to one .npz file.
"""

import argparse
import json

import matrix_inputs
import matrix_kinds
import numpy as np
from faults import Fault, meet
from which_keras import keras

EPOCHS = 3


class Trace(keras.callbacks.Callback):
    """The logs of every batch."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append([float(value) for value in logs.values()])


class Trainer:
    """Calls `fit` with the cell's input, and remembers what came of it."""

    def __init__(self, make_input):
        self._make_input = make_input
        self._trace = Trace()
        self._fault = None
        self._notes = []
        self._arrays = {}

    def fit(self, model, stride=1, callbacks=(), **settings):
        """Trains a model; settings go before those of the input."""
        self._fault = self._fault or Fault(stride)
        call = {"epochs": EPOCHS, "verbose": 0, **self._make_input(), **settings}
        history = model.fit(**call, callbacks=[*callbacks, self._trace, self._fault])
        self.note("history", [history.epoch, history.history])
        fit = len(self._notes)
        optimizer = getattr(model, "optimizer", None)
        variables = [*model.variables, *(optimizer.variables if optimizer else [])]
        for index, variable in enumerate(variables):
            self._arrays[f"{fit}/{index:02d}"] = np.array(variable)
        meet("fit", fit)

    def note(self, name, value):
        """Remembers a result of the script."""
        self._notes.append([name, value])

    def save(self, path):
        notes = json.dumps(self._notes, default=float)
        np.savez(path, batches=json.dumps(self._trace.batches), notes=notes, **self._arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the .npz file to write")
    parser.add_argument("input", help="a function of matrix_inputs")
    parser.add_argument("kind", help="a function of matrix_kinds")
    options = parser.parse_args()
    keras.utils.set_random_seed(7)
    trainer = Trainer(getattr(matrix_inputs, options.input))
    getattr(matrix_kinds, options.kind)(trainer)
    trainer.save(options.out)


if __name__ == "__main__":
    main()
