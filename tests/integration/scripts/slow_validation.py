"""Every validation batch takes 0.2 s: a validation of 10 s after each epoch."""

import time

import keras
from tiny import BATCH, fit, make_data


class SlowMetric(keras.callbacks.Callback):
    def on_test_begin(self, logs=None):
        print("validating", flush=True)

    def on_test_batch_end(self, batch, logs=None):
        time.sleep(0.2)


fit([SlowMetric()], validation_data=make_data(batches=50), validation_batch_size=BATCH)
