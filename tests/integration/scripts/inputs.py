"""The inputs of the exactness matrix: each a function from arrays to what `fit` is given.

Those of TensorFlow ops alone keep an iterator that can be saved; the others run
Python, and shuffle and draw from NumPy's global stream as scripts do.
"""

import math
import os
import random
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from which_keras import PyDataset, reading

BATCH = 32
STEPS = 20
_OWN = random.Random(17)


def from_numpy(x, y):
    return {"x": x, "y": y, "batch_size": BATCH}


def frames(x, y):
    """Frames and series of pandas, weighted by row, a part of them for validation."""
    import pandas

    weights = pandas.Series(1.0 + (y == 2))
    held_out = {"batch_size": 24, "validation_split": 0.24}  # 20 batches are left
    return {"x": pandas.DataFrame(x), "y": pandas.Series(y), "sample_weight": weights, **held_out}


def weighted(x, y):
    """Arrays, weighted by class."""
    return {**from_numpy(x, y), "class_weight": {0: 1.0, 1: 0.5, 2: 2.0, 3: 1.0}}


def sparse(x, y):
    """A sparse matrix of SciPy."""
    import scipy.sparse

    return {**from_numpy(scipy.sparse.csr_matrix(np.where(x > 0.5, x, 0.0)), y)}


def grain_dataset(x, y):
    """A `MapDataset` of Grain: shuffled, with random numbers by index."""
    import grain

    rows = grain.MapDataset.source(list(zip(x, y, strict=True))).shuffle(seed=3)
    return {"x": rows.random_map(_with_noise, seed=4).batch(BATCH)}


def grain_loader(x, y):
    """A `DataLoader` of Grain without end."""
    import grain

    sampler = grain.samplers.IndexSampler(len(x), shuffle=True, seed=3)
    loader = grain.DataLoader(
        data_source=list(zip(x, y, strict=True)),
        sampler=sampler,
        operations=[grain.transforms.Batch(BATCH)],
    )
    return {"x": loader, "steps_per_epoch": STEPS}


def _with_noise(row, generator):
    features, label = row
    return features + generator.normal(0, 0.1, features.shape).astype("float32"), label


def tfdata(x, y):
    return {"x": _rows(x, y).batch(BATCH).prefetch(2)}


def tfdata_shuffle(x, y):
    return {"x": _rows(x, y).shuffle(len(x)).batch(BATCH).prefetch(tf.data.AUTOTUNE)}


def tfdata_repeat(x, y):
    batches = _rows(x, y).shuffle(len(x)).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return {"x": batches, "steps_per_epoch": STEPS}


def py_function(x, y):
    """A pipeline with a step in Python."""

    def double(features, label):
        doubled = tf.numpy_function(lambda values: values * 2, [features], tf.float32)
        return tf.ensure_shape(doubled, x.shape[1:]), label

    return {"x": _rows(x, y).shuffle(len(x)).map(double).batch(BATCH)}


def generator(x, y):
    """Batches drawn at random, without end."""

    def batches():
        while True:
            rows = np.random.randint(0, len(x), BATCH)
            yield x[rows], y[rows]

    return {"x": batches(), "steps_per_epoch": STEPS}


def own_generator(x, y):
    """Batches drawn with a generator that only this function knows."""
    own = np.random.default_rng(11)

    def batches():
        inner = np.random.RandomState(own.integers(1000))
        while True:
            rows = own.integers(0, len(x), BATCH)
            yield x[rows] + inner.normal(0, 0.1, x[rows].shape).astype("float32"), y[rows]

    return {"x": batches(), "steps_per_epoch": STEPS}


def own_from_generator(x, y):
    """The same through `tf.data`, with a global generator of this module, anew for each epoch."""

    def batches():
        for _ in range(STEPS):
            rows = _OWN.choices(range(len(x)), k=BATCH)
            yield x[rows], y[rows]

    signature = (tf.TensorSpec((BATCH, *x.shape[1:])), tf.TensorSpec((BATCH,), tf.int32))
    return {"x": tf.data.Dataset.from_generator(batches, output_signature=signature)}


def own_sequence(x, y):
    """A `PyDataset` that shuffles and augments with a generator of its own."""
    return reading(OwnBatches(x, y, noise=0.1, workers=1))


def sequence(x, y):
    """A `PyDataset` with augmentation, read by one worker."""
    return reading(Batches(x, y, noise=0.1, workers=1))


def sequence_two_workers(x, y):
    """A `PyDataset` read by two workers, whose threads share NumPy's stream."""
    return reading(Batches(x, y, noise=0.0, workers=2))


def stalling(x, y):
    """Blocks before the 26th batch until the file of the variable GATE exists, if there is one."""

    def rows():
        for number in range(STEPS * 3 * BATCH):
            while number == 25 * BATCH and not Path(os.environ.get("GATE", "/")).exists():
                print("input waits", flush=True)
                time.sleep(0.05)
            yield x[number % len(x)], y[number % len(y)]

    signature = (tf.TensorSpec(x.shape[1:]), tf.TensorSpec((), tf.int32))
    batches = tf.data.Dataset.from_generator(rows, output_signature=signature).batch(BATCH)
    return {"x": batches, "steps_per_epoch": STEPS}


INPUTS = {
    "numpy": from_numpy,
    "frames": frames,
    "weighted": weighted,
    "sparse": sparse,
    "grain-dataset": grain_dataset,
    "grain-loader": grain_loader,
    "tfdata": tfdata,
    "tfdata-shuffle": tfdata_shuffle,
    "tfdata-repeat": tfdata_repeat,
    "py-function": py_function,
    "generator": generator,
    "sequence": sequence,
    "sequence-two-workers": sequence_two_workers,
    "own-generator": own_generator,
    "own-from-generator": own_from_generator,
    "own-sequence": own_sequence,
    "stalling": stalling,
}


class Batches(PyDataset):
    """Slices of arrays, reshuffled after each epoch, with noise on the features."""

    def __init__(self, x, y, noise, **settings):
        super().__init__(**settings)
        self.x, self.y, self.noise = x, y, noise
        self.order = np.arange(len(x))

    def __len__(self):
        return math.ceil(len(self.x) / BATCH)

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        features = self.x[rows]
        if self.noise:
            features = features + np.random.normal(0, self.noise, features.shape)
        return features.astype("float32"), self.y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


class OwnBatches(Batches):
    """The same, random by a generator of its own."""

    def __init__(self, x, y, noise, **settings):
        super().__init__(x, y, noise, **settings)
        self.random = np.random.default_rng(5)

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        features = self.x[rows] + self.random.normal(0, self.noise, self.x[rows].shape)
        return features.astype("float32"), self.y[rows]

    def on_epoch_end(self):
        self.random.shuffle(self.order)


def _rows(x, y):
    return tf.data.Dataset.from_tensor_slices((x, y))
