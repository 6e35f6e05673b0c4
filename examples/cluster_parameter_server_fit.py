"""Train a model with variables on parameter servers, with `fit` of Keras 2.

pitstop launch --workers 2 --ps 2 -- python examples/cluster_parameter_server_fit.py
"""

import argparse
import pathlib

import tensorflow as tf
import tf_keras as keras

BATCH = 64


def make_dataset():
    features = tf.random.uniform((2048, 20), seed=7)
    labels = tf.cast(tf.reduce_sum(features, axis=1, keepdims=True) > 10, tf.float32)
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    return dataset.shuffle(2048).repeat().batch(BATCH).prefetch(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=100, help="of an epoch")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("parameter_server_fit"))
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

    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(
        min_shard_bytes=(256 << 10), max_shards=2
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)
    with strategy.scope():
        model = keras.Sequential(
            [keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
        )
        model.compile(
            keras.optimizers.legacy.SGD(0.1),
            loss="binary_crossentropy",
            metrics=["accuracy"],
            steps_per_execution=10,
        )
    callbacks = [
        keras.callbacks.TensorBoard(log_dir=str(options.folder / "log")),
        keras.callbacks.ModelCheckpoint(filepath=str(options.folder / "ckpt")),
        keras.callbacks.BackupAndRestore(backup_dir=str(options.folder / "backup")),
    ]
    model.fit(
        make_dataset(),
        epochs=options.epochs,
        steps_per_epoch=options.steps,
        callbacks=callbacks,
        verbose=2,
    )
    print(f"{int(model.optimizer.iterations.numpy())} steps", flush=True)


if __name__ == "__main__":
    main()
