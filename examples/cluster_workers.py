"""Train a model on several workers, with a custom loop.

    pitstop launch --workers 2 -- python examples/cluster_workers.py

Without `pitstop launch`, one process trains with the same batches.
"""

import argparse

import keras
import numpy as np
import tensorflow as tf

BATCH = 64
STEPS_PER_EPOCH = 70


def make_dataset(images, labels):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    return dataset.shuffle(len(images), seed=7).repeat().batch(BATCH)


def build_model():
    return keras.Sequential(
        [
            keras.layers.Input((28, 28)),
            keras.layers.Flatten(),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(10),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()

    keras.utils.set_random_seed(7)
    images = np.random.default_rng(7).random((2048, 28, 28), dtype=np.float32)
    labels = (images.sum(axis=(1, 2)) * 4).astype(np.int64) % 10

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    iterator = iter(strategy.experimental_distribute_dataset(make_dataset(images, labels)))
    with strategy.scope():
        model = build_model()
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    @tf.function
    def train_step(iterator):
        def step(images, labels):
            with tf.GradientTape() as tape:
                losses = loss_of(labels, model(images, training=True))
                loss = tf.reduce_sum(losses) / BATCH
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        per_worker = strategy.run(step, args=next(iterator))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_worker, axis=None)

    for epoch in range(options.epochs):
        total = 0.0
        for _ in range(STEPS_PER_EPOCH):
            total += float(train_step(iterator))
        print(f"epoch {epoch + 1}: loss {total / STEPS_PER_EPOCH:.4f}")


if __name__ == "__main__":
    main()
