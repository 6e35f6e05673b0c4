"""Asks for its own stop after step 26, from a callback; runs on to the end when started again."""

import keras
import tiny

import pitstop


class AsksToStop(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == 26:
            pitstop.request_stop("26 steps are enough for today")


history = tiny.fit([AsksToStop()])
print("epochs", len(history.epoch))
