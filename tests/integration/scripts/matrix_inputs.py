"""What the cells of the exactness matrix train on: each a function that gives `fit` its data.

All of them make an epoch of 12 batches from the same 192 rows of 16 numbers in four classes.
"""

import math
import tempfile

import numpy as np
import tensorflow as tf
from which_keras import PyDataset, keras, reading

BATCH = 16
STEPS = 12
ROWS = BATCH * STEPS
WIDTH = 16
STREAM = np.random.default_rng(10)


def _arrays(rows=ROWS):
    generator = np.random.default_rng(1)
    x = generator.normal(size=(rows, WIDTH)).astype("float32")
    return x, x[:, :4].argmax(axis=1).astype("int32")


def _rows():
    return tf.data.Dataset.from_tensor_slices(_arrays())


def numpy_shuffle():
    x, y = _arrays()
    return {"x": x, "y": y, "batch_size": BATCH}


def class_weights():
    return {**numpy_shuffle(), "class_weight": {0: 1.0, 1: 0.5, 2: 2.0, 3: 1.5}}


def sample_weights():
    weights = np.random.default_rng(2).uniform(0.5, 2.0, ROWS)
    return {**numpy_shuffle(), "sample_weight": weights}


def validation_split():
    x, y = _arrays(ROWS * 4 // 3)
    return {"x": x, "y": y, "batch_size": BATCH, "validation_split": 0.25}


def shuffled_validation():
    return {**numpy_shuffle(), "validation_data": _rows().shuffle(ROWS).batch(BATCH)}


def repeated_validation():
    # TensorFlow reads ahead in the first, and takes a seed from the second: or not.
    validation = _rows().shuffle(ROWS).repeat().batch(BATCH).prefetch(8)
    return {**numpy_shuffle(), "validation_data": validation, "validation_steps": 7}


def tfdata():
    return {"x": _rows().batch(BATCH).prefetch(2)}


def tfdata_shuffle():
    return {"x": _rows().shuffle(50).batch(BATCH).prefetch(tf.data.AUTOTUNE)}


def tfdata_shuffle_repeat():
    batches = _rows().shuffle(ROWS).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return {"x": batches, "steps_per_epoch": STEPS}


def tfdata_same_shuffle():
    return {"x": _rows().shuffle(ROWS, seed=3, reshuffle_each_iteration=False).batch(BATCH)}


def tfdata_interleave():
    x, y = _arrays()

    def part(start):
        rows = start + tf.range(ROWS // 4, dtype=tf.int64)
        chosen = tf.data.Dataset.from_tensor_slices(rows)
        return chosen.map(lambda row: (tf.gather(x, row), tf.gather(y, row)))

    starts = tf.data.Dataset.range(0, ROWS, ROWS // 4).shuffle(4)
    mixed = starts.interleave(part, cycle_length=3, block_length=2, num_parallel_calls=2)
    return {"x": mixed.batch(BATCH).prefetch(2)}


def tfdata_parallel_map():
    def noise(index, row):
        x, y = row
        drawn = tf.random.stateless_normal((WIDTH,), seed=tf.stack([index, index + 1]))
        return x + 0.1 * drawn, y

    shuffled = _rows().shuffle(ROWS).enumerate()
    return {"x": shuffled.map(noise, num_parallel_calls=4, deterministic=True).batch(BATCH)}


def tfdata_cache():
    return {"x": _rows().map(lambda x, y: (x * 2.0, y)).cache().shuffle(64).batch(BATCH)}


def tfdata_cache_in_file():
    doubled = _rows().map(lambda x, y: (x * 2.0, y))
    return {"x": doubled.cache("cache").shuffle(64).batch(BATCH)}


def tfdata_cache_in_new_file():
    doubled = _rows().map(lambda x, y: (x * 2.0, y))
    return {"x": doubled.cache(f"{tempfile.mkdtemp(dir='.')}/cache").shuffle(64).batch(BATCH)}


def tfdata_from_generator():
    x, y = _arrays()

    def rows():
        for row in np.random.permutation(ROWS):
            yield x[row], y[row]

    signature = (tf.TensorSpec((WIDTH,)), tf.TensorSpec((), tf.int32))
    batches = tf.data.Dataset.from_generator(rows, output_signature=signature).batch(BATCH)
    return {"x": batches.apply(tf.data.experimental.assert_cardinality(STEPS))}


def tfdata_py_function():
    def noisy(x):
        return x + np.random.normal(0, 0.1, x.shape).astype("float32")

    def augment(x, y):
        return tf.ensure_shape(tf.numpy_function(noisy, [x], tf.float32), (WIDTH,)), y

    return {"x": _rows().shuffle(ROWS).map(augment).batch(BATCH)}


def tfdata_random():
    seeds = tf.data.Dataset.random(seed=5, rerandomize_each_iteration=True).batch(2)

    def noise(row, seed):
        x, y = row
        return x + 0.1 * tf.random.stateless_normal((WIDTH,), seed=seed), y

    return {"x": tf.data.Dataset.zip(_rows().shuffle(ROWS), seeds).map(noise).batch(BATCH)}


def tfdata_unseeded_random():
    seeds = tf.data.Dataset.random().batch(2)

    def noise(row, seed):
        x, y = row
        return x + 0.1 * tf.random.stateless_normal((WIDTH,), seed=seed), y

    return {"x": tf.data.Dataset.zip(_rows().shuffle(ROWS), seeds).map(noise).batch(BATCH)}


def tfdata_hidden_random():
    def noise(x, y):
        return x + 0.1 * tf.random.normal((WIDTH,)), y

    return {"x": _rows().shuffle(ROWS).map(noise).batch(BATCH)}


def tfdata_generator_in_map():
    drawn_from = tf.random.Generator.from_seed(4)

    def noise(x, y):
        return x + 0.1 * drawn_from.normal((WIDTH,)), y

    return {"x": _rows().shuffle(ROWS).map(noise).batch(BATCH)}


def tfdata_keras_layer_in_map():
    layer = keras.layers.GaussianNoise(0.1, seed=3)
    return {"x": _rows().shuffle(ROWS).batch(BATCH).map(lambda x, y: (layer(x, training=True), y))}


def tfdata_keras_layer_in_parallel_map():
    layer = keras.layers.GaussianNoise(0.1, seed=3)
    rows = _rows().shuffle(ROWS).batch(BATCH)
    return {"x": rows.map(lambda x, y: (layer(x, training=True), y), num_parallel_calls=4)}


def _augmented(rows):
    flip, turn = keras.layers.RandomFlip(seed=4), keras.layers.RandomRotation(0.2)

    def augment(x, y):
        images = tf.reshape(x, (-1, 4, 4, 1))
        return tf.reshape(turn(flip(images, training=True), training=True), (-1, WIDTH)), y

    return rows.batch(BATCH, drop_remainder=True).map(augment).prefetch(3)


def tfdata_augmented():
    return {"x": _augmented(_rows().shuffle(ROWS))}


def tfdata_augmented_without_end():
    return {"x": _augmented(_rows().repeat().shuffle(ROWS)), "steps_per_epoch": STEPS}


def tfdata_any_order():
    def slow_or_not(x, y):
        # The more of the row is positive, the longer it takes.
        turns = 200 * tf.math.count_nonzero(x > 0, dtype=tf.int32)
        busy = tf.while_loop(lambda n: n < turns, lambda n: (n + 1,), (0,))
        return x + 0.0 * tf.cast(busy[0], tf.float32), y

    mapped = _rows().shuffle(ROWS).map(slow_or_not, num_parallel_calls=4, deterministic=False)
    return {"x": mapped.batch(BATCH)}


def tfdata_snapshot():
    doubled = _rows().map(lambda x, y: (x * 2.0, y))
    return {"x": doubled.snapshot("snapshot").shuffle(64).batch(BATCH)}


def tfdata_windows():
    x, y = _arrays()
    both = tf.data.Dataset.from_tensor_slices(x).window(4, shift=4, drop_remainder=True)
    labels = tf.data.Dataset.from_tensor_slices(y).batch(4)
    windows = tf.data.Dataset.zip(both.flat_map(lambda rows: rows.batch(4)), labels)
    return {"x": windows.shuffle(20).unbatch().batch(BATCH)}


def tfdata_sampled():
    one, two = _rows().take(ROWS // 2).repeat(), _rows().skip(ROWS // 2).shuffle(40).repeat()
    mixed = tf.data.Dataset.sample_from_datasets([one, two], weights=[0.3, 0.7], seed=2)
    return {"x": mixed.batch(BATCH), "steps_per_epoch": STEPS}


def tfdata_rejection():
    kept = _rows().shuffle(ROWS).repeat().filter(lambda x, _: x[0] > -0.5)
    return {"x": kept.batch(BATCH), "steps_per_epoch": STEPS}


def tfdata_zip():
    other = tf.data.Dataset.from_tensor_slices(_arrays()[0]).shuffle(30)
    mixed = tf.data.Dataset.zip(_rows().shuffle(60), other)
    return {"x": mixed.map(lambda row, noise: (row[0] + 0.1 * noise, row[1])).batch(BATCH)}


def tfdata_ragged():
    def cut(x, y):
        return tf.reduce_sum(tf.reshape(x, (4, 4)), axis=0), y

    rows = _rows().map(cut).shuffle(ROWS).padded_batch(BATCH, padded_shapes=((WIDTH,), ()))
    return {"x": rows}


def sequence():
    return reading(Batches(workers=1))


def sequence_two_workers():
    return reading(Batches(workers=2))


def sequence_four_workers():
    return reading(Batches(workers=4, max_queue_size=3))


def sequence_two_processes():
    return reading(Batches(workers=2, use_multiprocessing=True))


def sequence_reshuffled():
    return reading(Reshuffled(workers=1))


def sequence_reshuffled_two_workers():
    return reading(Reshuffled(workers=2))


def sequence_augmented():
    return reading(Augmented(workers=1))


def sequence_with_own_generator():
    return reading(OwnGenerator(workers=1))


def generator():
    x, y = _arrays()

    def batches():
        while True:
            rows = np.random.randint(0, ROWS, BATCH)
            yield x[rows], y[rows]

    return {"x": batches(), "steps_per_epoch": STEPS}


def generator_with_own_stream():
    x, y = _arrays()
    stream = np.random.default_rng(9)

    def batches():
        while True:
            rows = stream.integers(0, ROWS, BATCH)
            yield x[rows], y[rows]

    return {"x": batches(), "steps_per_epoch": STEPS}


def generator_of_shared_stream():
    x, y = _arrays()

    def batches():
        while True:
            rows = STREAM.integers(0, ROWS, BATCH)
            yield x[rows], y[rows]

    return {"x": batches(), "steps_per_epoch": STEPS}


class Batches(PyDataset):
    """Slices of arrays."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.x, self.y = _arrays()
        self.order = np.arange(ROWS)

    def __len__(self):
        return math.ceil(ROWS / BATCH)

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        return self.x[rows], self.y[rows]


class Reshuffled(Batches):
    def on_epoch_end(self):
        np.random.shuffle(self.order)


class Augmented(Reshuffled):
    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + np.random.normal(0, 0.1, x.shape).astype("float32"), y


class OwnGenerator(Batches):
    """Keeps a stream of its own, as NumPy's documentation advises."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.stream = np.random.default_rng(8)

    def on_epoch_end(self):
        self.stream.shuffle(self.order)
