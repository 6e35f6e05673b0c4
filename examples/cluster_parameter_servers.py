"""Train a model with variables on parameter servers, with a custom loop.

pitstop launch --workers 2 --ps 2 -- python examples/cluster_parameter_servers.py
"""

import argparse

import keras
import numpy as np
import tensorflow as tf

BATCH = 64
STEPS_PER_EPOCH = 50


def make_dataset(input_context):
    random = np.random.default_rng(7)
    features = random.random((2048, 20), dtype=np.float32)
    labels = (features.sum(axis=1) > 10).astype(np.float32)[:, None]
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    batch = input_context.get_per_replica_batch_size(BATCH)
    return dataset.shuffle(len(features)).repeat().batch(batch).prefetch(2)


def build_model():
    return keras.Sequential(
        [
            keras.layers.Input((20,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type in ("worker", "ps"):
        server = tf.distribute.Server(
            resolver.cluster_spec(),
            job_name=resolver.task_type,
            task_index=resolver.task_id,
            protocol="grpc",
        )
        server.join()

    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    with strategy.scope():
        model = build_model()
        optimizer = keras.optimizers.RMSprop(0.01)
        optimizer.build(model.trainable_variables)
        accuracy = keras.metrics.BinaryAccuracy()
        loss_of = keras.losses.BinaryCrossentropy(reduction="none")

    @tf.function
    def train_step(iterator):
        def step(features, labels):
            with tf.GradientTape() as tape:
                predictions = model(features, training=True)
                loss = tf.nn.compute_average_loss(loss_of(labels, predictions))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            accuracy.update_state(labels, predictions)
            return loss

        features, labels = next(iterator)
        losses = strategy.run(step, args=(features, labels))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    @tf.function
    def per_worker_dataset():
        return strategy.distribute_datasets_from_function(make_dataset)

    iterator = iter(coordinator.create_per_worker_dataset(per_worker_dataset))
    for epoch in range(options.epochs):
        accuracy.reset_state()
        for _ in range(STEPS_PER_EPOCH):
            loss = coordinator.schedule(train_step, args=(iterator,))
        coordinator.join()
        print(
            f"epoch {epoch + 1}: accuracy {float(accuracy.result()):.3f}, loss {loss.fetch():.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
