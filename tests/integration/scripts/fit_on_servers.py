"""`fit` of Keras 2 with parameter servers.  Arguments: epochs, and the pause between two."""

import sys
import time

import numpy as np
import tensorflow as tf
import tf_keras as keras

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("ps", "worker"):
    tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id
    ).join()


def dataset_of(_context):
    x = np.random.default_rng(1).normal(size=(640, 8)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).repeat().batch(16)


class Tell(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch} {int(self.model.optimizer.iterations.numpy())}", flush=True)
        time.sleep(float(sys.argv[2]))


keras.utils.set_random_seed(7)
with tf.distribute.ParameterServerStrategy(resolver).scope():
    model = keras.Sequential([keras.layers.Dense(16), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
data = keras.utils.experimental.DatasetCreator(dataset_of)
model.fit(data, epochs=int(sys.argv[1]), steps_per_epoch=20, verbose=0, callbacks=[Tell()])
