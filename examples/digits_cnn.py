"""Train a small CNN on handwritten digits: an ordinary Keras script.

It contains nothing of Pitstop.  Run it with or without `pitstop run`, stop it at
any point, and resume it: the files that it writes are the same, bit for bit.
"""

import argparse
import json
from pathlib import Path

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits


class LossTrace(keras.callbacks.Callback):
    """Collects the loss after every batch."""

    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])


def load_data():
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype("float32")
    labels = digits.target.astype("int32")
    return (images[:1500], labels[:1500]), (images[1500:], labels[1500:])


def build_model():
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(48, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2D(96, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(64, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(3e-4),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("digits"), help="output folder")
    parser.add_argument("--epochs", type=int, default=25)
    options = parser.parse_args()

    keras.utils.set_random_seed(7)
    (x, y), validation_data = load_data()
    model = build_model()
    trace = LossTrace()
    history = model.fit(
        x,
        y,
        batch_size=8,
        epochs=options.epochs,
        validation_data=validation_data,
        callbacks=[
            keras.callbacks.EarlyStopping(patience=12, restore_best_weights=True),
            keras.callbacks.ReduceLROnPlateau(patience=4, factor=0.5),
            trace,
        ],
    )

    options.out.mkdir(parents=True, exist_ok=True)
    model.save_weights(options.out / "digits.weights.h5")
    np.savez(options.out / "losses.npz", losses=trace.losses)
    (options.out / "history.json").write_text(json.dumps(history.history, default=float))


if __name__ == "__main__":
    main()
