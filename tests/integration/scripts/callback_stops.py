"""A callback of the user's sets `stop_training` at the 5th batch of the second epoch."""

import keras
from tiny import fit


class TimeBudget(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.batches = 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        if self.batches == 25:
            self.model.stop_training = True


fit([TimeBudget()], epochs=10)
