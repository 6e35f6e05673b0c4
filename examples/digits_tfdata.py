"""Train a small CNN on handwritten digits, fed by tf.data.

The same training as `digits_cnn.py`, but its input is a shuffled, endless
`tf.data` pipeline cut into epochs by `steps_per_epoch`.
"""

import argparse
import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from digits_cnn import LossTrace, build_model, load_data

BATCH = 32


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("digits"), help="output folder")
    parser.add_argument("--epochs", type=int, default=50)
    options = parser.parse_args()

    keras.utils.set_random_seed(7)
    (x, y), validation = load_data()
    training = tf.data.Dataset.from_tensor_slices((x, y))
    training = training.shuffle(len(x)).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    model = build_model()
    trace = LossTrace()
    history = model.fit(
        training,
        steps_per_epoch=len(x) // BATCH,
        epochs=options.epochs,
        validation_data=tf.data.Dataset.from_tensor_slices(validation).batch(BATCH),
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
