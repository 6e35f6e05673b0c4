"""Reproducible, and beyond any resume: trains with a generator of the module's own."""

import keras
import tiny


def rates():
    number = 1
    while True:
        yield 0.01 / number
        number += 1


RATES = rates()


class Perturb(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.optimizer.learning_rate = next(RATES)


tiny.fit([Perturb()])
