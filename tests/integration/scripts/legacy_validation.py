"""Two epochs of Keras 2, each with a validation that takes a while; says how far it came."""

import time

import numpy as np
import tf_keras as keras


class Pace(keras.callbacks.Callback):
    def on_test_batch_end(self, batch, logs=None):
        time.sleep(0.2)


keras.utils.set_random_seed(1)
x = np.random.default_rng(1).normal(size=(320, 8)).astype("float32")
data = (x, x[:, :1])
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("adam", "mse")
history = model.fit(
    *data, batch_size=32, epochs=2, validation_data=data, callbacks=[Pace()], verbose=0
)
print(int(model.optimizer.iterations.numpy()), repr(history.history), flush=True)
