"""Two fits with `pitstop.keras.Callback`; faults count training steps over the whole script."""

import sys
from pathlib import Path

import keras
import numpy as np
from loop_faults import interrupt

import pitstop


class Interrupt(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        interrupt(int(self.model.optimizer.iterations.numpy()))


def main(on_stop="exit"):
    keras.utils.set_random_seed(3)
    x = np.random.default_rng(1).normal(size=(320, 8)).astype("float32")
    y = (x.sum(axis=1) > 0).astype("int32")
    model = keras.Sequential(
        [keras.layers.Dense(16, "relu"), keras.layers.Dropout(0.4), keras.layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"])
    callbacks = [Interrupt(), pitstop.keras.Callback(sys.argv[2], every_steps=5, on_stop=on_stop)]
    first = model.fit(
        x, y, batch_size=16, epochs=2, validation_split=0.2, callbacks=callbacks, verbose=0
    )
    second = model.fit(x, y, batch_size=16, epochs=1, callbacks=[Interrupt()], verbose=0)
    if pitstop.stopped():
        assert second.history == {}
        return
    np.savez(
        Path(sys.argv[1]),
        first=first.history["val_loss"],
        second=second.history["loss"],
        **{variable.path: variable.numpy() for variable in model.variables},
    )


if __name__ == "__main__":
    main()
