"""A callback of the user's raises at the 8th batch of the second epoch."""

import keras
from tiny import fit


class Uploader(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == 1 and batch == 7:
            raise ValueError("bucket name must not be empty")


fit([Uploader()])
