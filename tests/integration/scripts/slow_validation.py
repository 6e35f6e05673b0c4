"""Every validation batch takes 0.2 s: a validation of 10 s after the only epoch."""

import time

import keras
import tensorflow as tf
from tiny import BATCH, build_model, make_data


class SlowMetric(keras.callbacks.Callback):
    def on_test_begin(self, logs=None):
        print("validating", flush=True)

    def on_test_batch_end(self, batch, logs=None):
        time.sleep(0.2)


def batches(count):
    # While tf.data tunes itself, the first step of a later epoch now and then stands still
    # for 10 s, also without Pitstop.
    options = tf.data.Options()
    options.autotune.enabled = False
    rows = tf.data.Dataset.from_tensor_slices(make_data(batches=count))
    return rows.batch(BATCH).with_options(options)


keras.utils.set_random_seed(7)
build_model().fit(
    batches(20), validation_data=batches(50), epochs=1, verbose=2, callbacks=[SlowMetric()]
)
