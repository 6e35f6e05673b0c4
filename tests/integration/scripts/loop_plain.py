"""Custom loops as users write them: seeded if not told otherwise, small, and unaware of Pitstop.

Each gives everything that it can differ in: what every step returned, what
Python made of it, weights and optimizer slots.
"""

import argparse

import keras
import numpy as np
import tensorflow as tf
from faults import meet
from keras import layers

STEPS_PER_EPOCH = 10
EPOCHS = 3
BATCH = 16


def make_arrays(seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(STEPS_PER_EPOCH * BATCH, 8)).astype("float32")
    return x, x[:, :3].argmax(axis=1).astype("int32")


def make_classifier():
    return keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(16),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dropout(0.3),
            layers.Dense(3),
        ]
    )


def train_with_tape():
    """GradientTape in a tf.function; metrics, averages and decisions in Python."""
    model, optimizer = make_classifier(), keras.optimizers.Adam(0.02)
    objective = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    dataset = tf.data.Dataset.from_tensor_slices(make_arrays(1)).shuffle(100).batch(BATCH)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = objective(y, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        accuracy.update_state(y, logits)
        return {"loss": loss, "largest": tf.reduce_max(logits)}

    @tf.function
    def validate(x, y):
        return objective(y, model(x, training=False))

    average, best, step = 0.0, np.inf, 0
    history, rates = [], []
    for _ in range(EPOCHS):
        for x, y in dataset:
            # Augmentation by the global stream of NumPy.
            result = train_step(x + np.random.normal(0, 0.01, x.shape).astype("float32"), y)
            average = 0.9 * average + 0.1 * float(result["loss"])
            history.append((average, float(result["largest"])))
            step += 1
            print(f"step {step}: {history[-1]}")
            meet("batch", step)
        validation = float(validate(*make_arrays(2)))
        if validation > best - 0.05:
            optimizer.learning_rate = float(optimizer.learning_rate) * 0.5
        best = min(best, validation)
        rates.append((float(optimizer.learning_rate), validation, float(accuracy.result())))
        accuracy.reset_state()
        meet("epoch", len(rates))
    return {"history": history, "rates": rates}, [*model.variables, *optimizer.variables]


def train_on_batches():
    """`train_on_batch`, with batches drawn by a generator of the script's own."""
    model = make_classifier()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True), metrics=["accuracy"])
    x, y = make_arrays(1)
    generator = np.random.default_rng(5)
    losses, tests = [], []
    for step in range(1, STEPS_PER_EPOCH * EPOCHS + 1):
        chosen = generator.choice(len(x), BATCH, replace=False)
        losses.append(model.train_on_batch(x[chosen], y[chosen]))
        print(f"step {step}: {losses[-1]}")
        meet("batch", step)
        if step % STEPS_PER_EPOCH == 0:
            tests.append(model.test_on_batch(*make_arrays(2)))
            tests.append(model.evaluate(*make_arrays(3), verbose=0))
    return {"losses": losses, "tests": tests}, [*model.variables, *model.optimizer.variables]


def train_gan():
    """Two models, two optimizers, two functions, noise from a tf.random.Generator."""
    generator = keras.Sequential([keras.Input((4,)), layers.Dense(16, "relu"), layers.Dense(8)])
    critic = keras.Sequential([keras.Input((8,)), layers.Dense(16, "relu"), layers.Dense(1)])
    optimizers = keras.optimizers.Adam(0.01), keras.optimizers.RMSprop(0.01)
    noise = tf.random.Generator.from_seed(11)

    @tf.function
    def train_critic(real):
        fake = generator(noise.normal((BATCH, 4)))
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softplus(-critic(real)) + tf.nn.softplus(critic(fake)))
        variables = critic.trainable_variables
        optimizers[0].apply(tape.gradient(loss, variables), variables)
        return loss

    @tf.function
    def train_generator():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.softplus(-critic(generator(noise.normal((BATCH, 4))))))
        variables = generator.trainable_variables
        optimizers[1].apply(tape.gradient(loss, variables), variables)
        return loss

    batches = iter(
        tf.data.Dataset.from_tensor_slices(make_arrays(1)[0]).shuffle(50).repeat().batch(BATCH)
    )
    losses = []
    for step in range(1, STEPS_PER_EPOCH * EPOCHS + 1):
        losses.append(float(train_critic(next(batches))))
        meet("critic", step)
        if step % 2 == 0:
            losses.append(float(train_generator()))
        print(f"step {step}: {losses[-1]}")
        meet("batch", step)
    variables = [*generator.variables, *critic.variables, noise.state]
    return {"losses": losses}, [*variables, *optimizers[0].variables, *optimizers[1].variables]


class Trace(keras.callbacks.Callback):
    """Counts batches like the loops around the fit do."""

    def __init__(self, first):
        super().__init__()
        self.step = first
        self.losses = []

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(logs["loss"])
        self.step += 1
        meet("batch", self.step)


def train_in_turns():
    """A loop, a fit, and another loop, on one model."""
    model = make_classifier()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(True))
    x, y = make_arrays(1)
    losses = []

    def loop(first):
        for step in range(first, first + STEPS_PER_EPOCH):
            chosen = np.random.choice(len(x), BATCH)
            losses.append(model.train_on_batch(x[chosen], y[chosen]))
            meet("batch", step)

    loop(1)
    model.optimizer.learning_rate.assign(0.005)
    trace = Trace(STEPS_PER_EPOCH)
    model.fit(x, y, batch_size=BATCH, epochs=1, verbose=0, callbacks=[trace])
    losses += trace.losses
    loop(2 * STEPS_PER_EPOCH + 1)
    return {"losses": losses}, [*model.variables, *model.optimizer.variables]


def train_eagerly():
    """No tf.function anywhere."""
    model, optimizer = make_classifier(), keras.optimizers.Adam(0.02)
    objective = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    x, y = make_arrays(1)
    losses = []
    for step in range(1, STEPS_PER_EPOCH + 1):
        with tf.GradientTape() as tape:
            loss = objective(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        losses.append(float(loss))
        meet("batch", step)
    return {"losses": losses}, model.variables


def train_on_replicas():
    """The same on two devices, each step by a call of the strategy."""
    strategy = two_devices()
    dataset = strategy.experimental_distribute_dataset(batches_of(1))
    with strategy.scope():
        weights = tf.Variable(tf.ones(8))

    def replica_step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.linalg.matvec(batch, weights) ** 2)
        gradient = tf.distribute.get_replica_context().all_reduce(
            "mean", tape.gradient(loss, weights)
        )
        weights.assign_sub(0.1 * gradient)
        return loss

    losses = []
    for step, batch in enumerate(dataset, 1):
        each = strategy.run(replica_step, args=(batch,))
        losses.append(float(strategy.reduce("sum", each, axis=None)))
        meet("batch", step)
    return {"losses": losses}, [weights]


def batches_of(seed):
    return tf.data.Dataset.from_tensor_slices(make_arrays(seed)[0]).shuffle(100).batch(BATCH)


def train_from_iterator():
    """The functions take the iterator, not the batch; each epoch has its own."""
    weights, total = tf.Variable(tf.ones(8)), tf.Variable(0.0, trainable=False)

    @tf.function
    def train_step(batches):
        first, second = next(batches), next(batches)
        weights.assign(0.9 * weights + tf.reduce_mean(first - 0.5 * second, axis=0))
        return tf.reduce_sum(weights)

    @tf.function
    def validate(batches):
        total.assign(tf.reduce_sum(tf.linalg.matvec(next(batches), weights)))

    dataset, validation, step, losses = batches_of(1), iter(batches_of(2)), 0, []
    for _ in range(EPOCHS):
        batches = iter(dataset)
        for _ in range(STEPS_PER_EPOCH // 2):
            losses.append(float(train_step(batches)))
            step += 1
            print(f"step {step}: {losses[-1]}")
            meet("batch", step)
        validate(validation)
        losses.append(float(total))
    return {"losses": losses}, [weights, total]


def two_devices():
    cpu = tf.config.list_physical_devices("CPU")[0]
    halves = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, halves)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def train_on_devices():
    """The same on two devices, in the form of TensorFlow's tutorials."""
    strategy = two_devices()
    dataset = strategy.experimental_distribute_dataset(batches_of(1))
    with strategy.scope():
        weights = tf.Variable(tf.ones(8))
        mean = tf.Variable(
            tf.zeros(8),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.MEAN,
        )

    def replica_step(batch):
        seen = tf.reduce_mean(batch, axis=0)
        mean.assign(0.9 * mean + 0.1 * seen * weights)
        gradient = tf.distribute.get_replica_context().all_reduce("mean", seen - mean)
        weights.assign_sub(0.1 * tf.nn.dropout(gradient, 0.2) + tf.random.normal((8,)) / 100)
        return tf.reduce_sum(weights) + tf.reduce_sum(mean)

    @tf.function
    def train_step(batches):
        return strategy.run(replica_step, args=(next(batches),))

    step, losses = 0, []
    for _ in range(EPOCHS):
        batches = iter(dataset)
        for _ in range(STEPS_PER_EPOCH - 1):
            each = train_step(batches)
            losses.append(float(strategy.reduce("sum", each, axis=None)))
            step += 1
            print(f"step {step}: {losses[-1]}")
            meet("batch", step)
    return {"losses": losses}, [weights, *mean.values]


def train_many_steps():
    """A function that draws as often as it is told."""
    weights = tf.Variable(tf.zeros(8))

    @tf.function
    def train_steps(batches, count):
        for _ in tf.range(count):
            weights.assign_add(tf.reduce_mean(next(batches), axis=0))
        return tf.reduce_sum(weights)

    batches, losses = iter(batches_of(1).repeat()), []
    for step in range(1, STEPS_PER_EPOCH + 1):
        losses.append(float(train_steps(batches, tf.constant(2))))
        meet("batch", step)
    return {"losses": losses}, [weights]


LOOPS = {
    "tape": train_with_tape,
    "batches": train_on_batches,
    "gan": train_gan,
    "turns": train_in_turns,
    "eager": train_eagerly,
    "replicas": train_on_replicas,
    "iterator": train_from_iterator,
    "devices": train_on_devices,
    "many": train_many_steps,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the .npz file to write")
    parser.add_argument("--loop", choices=LOOPS, default="tape")
    parser.add_argument("--unseeded", action="store_true")
    options = parser.parse_args()
    if not options.unseeded:
        keras.utils.set_random_seed(7)
    results, variables = LOOPS[options.loop]()
    arrays = {name: np.array(values) for name, values in results.items()}
    for index, variable in enumerate(variables):
        arrays[f"variables/{index:02d}"] = np.asarray(variable)
    np.savez(options.out, **arrays)


if __name__ == "__main__":
    main()
