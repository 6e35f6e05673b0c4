"""Two images cannot be decoded: their batches are skipped, and the training completes.

    pitstop run --on-bad-record skip -- python examples/recover_record.py

One is in the training data, one in the validation data. Without Pitstop, the training fails at the
first of them in the first epoch. The skipped batches are listed in
runs/recover_record/attempts/N/skipped-records.txt.
"""

import keras
import numpy as np
import tensorflow as tf


def pictures():
    """400 pictures as JPEG; two of them were cut off while they were written."""
    values = np.random.default_rng(1).integers(0, 256, (400, 12, 12, 3), np.uint8)
    encoded = [tf.io.encode_jpeg(each).numpy() for each in values]
    for bad in (150, 390):
        encoded[bad] = encoded[bad][:40]
    return encoded, values.mean(axis=(1, 2, 3)) > 127.5


def decoded(picture, label):
    return tf.cast(tf.io.decode_jpeg(picture, channels=3), tf.float32) / 255, label


def main():
    keras.utils.set_random_seed(7)
    data = tf.data.Dataset.from_tensor_slices(pictures())
    training = data.take(320).shuffle(320, seed=2)
    training = training.map(decoded, num_parallel_calls=2).batch(16).prefetch(2)
    validation = data.skip(320).map(decoded).batch(16)
    layers = [keras.layers.Flatten(), keras.layers.Dropout(0.2), keras.layers.Dense(1, "sigmoid")]
    model = keras.Sequential([keras.Input((12, 12, 3)), *layers])
    model.compile("adam", "binary_crossentropy")
    history = model.fit(training, validation_data=validation, epochs=3, verbose=2)
    print(f"epochs: {len(history.history['loss'])}, last validation: {history.history['val_loss']}")
    print(f"weights: {sum(float(np.abs(each).sum()) for each in model.get_weights())!r}")


if __name__ == "__main__":
    main()
