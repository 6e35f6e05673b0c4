"""`fit` under a strategy: two devices of one process, or several workers.

With Keras 2, or with what SAMPLE_KERAS names.

Arguments: "mirrored" or "workers", the form of the input, epochs, and the pause behind a step.
The form "dropout" is a dataset, and a model with such a layer.
"""

import hashlib
import importlib
import json
import os
import sys
import time

import numpy as np
import tensorflow as tf

PACKAGE = os.environ.get("SAMPLE_KERAS") or "tf_keras"
keras = importlib.import_module(PACKAGE)

BATCH = 32


class Pace(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.seconds)


def arrays(seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(10 * BATCH + 7, 8)).astype("float32")
    return x, x[:, :1] * x[:, 1:2]


def rows():
    for row in zip(*arrays(1), strict=True):
        yield row[0], row[1]


def input_of(form):
    if form == "arrays":
        return dict(zip("xy", arrays(1), strict=True), batch_size=BATCH)
    if form == "generator":
        spec = (tf.TensorSpec((8,)), tf.TensorSpec((1,)))
        dataset = tf.data.Dataset.from_generator(rows, output_signature=spec).repeat()
        return {"x": dataset.batch(BATCH), "steps_per_epoch": 10}
    dataset = tf.data.Dataset.from_tensor_slices(arrays(1)).shuffle(100)
    return {"x": dataset.batch(BATCH)}


def strategy_of(name):
    if name == "workers":
        return tf.distribute.MultiWorkerMirroredStrategy()
    cpu = tf.config.list_physical_devices("CPU")[0]
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, halves)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def values_of(variable):
    variable = variable.value if PACKAGE == "keras" else variable
    return [each.numpy() for each in getattr(variable, "values", [variable])]


def main(name, form, epochs, pause_seconds):
    keras.utils.set_random_seed(7)
    strategy = strategy_of(name)
    with strategy.scope():
        layers = [keras.layers.Dense(16, "relu"), keras.layers.BatchNormalization()]
        if form == "dropout":
            layers.append(keras.layers.Dropout(0.3))
        model = keras.Sequential([*layers, keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    history = model.fit(
        **input_of(form),
        epochs=epochs,
        validation_data=tf.data.Dataset.from_tensor_slices(arrays(2)).batch(BATCH),
        callbacks=[Pace(pause_seconds), keras.callbacks.ReduceLROnPlateau(patience=1)],
        verbose=0,
    )
    values = [each for v in (*model.variables, *model.optimizer.variables) for each in values_of(v)]
    told = json.dumps(history.history, default=float, sort_keys=True)
    bits = b"".join([told.encode(), *(each.tobytes() for each in values)])
    index = json.loads(os.environ.get("TF_CONFIG") or '{"task": {"index": 0}}')["task"]["index"]
    print(f"DIGEST {index} {hashlib.sha256(bits).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
