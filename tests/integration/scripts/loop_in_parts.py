"""A loop whose third step asks for more memory than there is, unless it has four parts."""

import sys

import keras
import numpy as np
import tensorflow as tf

import pitstop

keras.utils.set_random_seed(7)
fails = sys.argv[2] == "fails"
weights, optimizer = tf.Variable(tf.ones((4, 1))), keras.optimizers.SGD(0.1)
optimizer.build([weights])
x = np.random.default_rng(0).normal(size=(6, 8, 4)).astype("float32")
y = x.sum(-1, keepdims=True)


def gradient(rows, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((rows @ weights - labels) ** 2)
    return tape.gradient(loss, weights)


run = pitstop.start("run", weights=weights, optimizer=optimizer, every_steps=1, in_parts=True)
for step in run.steps(6):
    if fails and step == 2 and run.parts < 4:
        tf.zeros([1 << 46])
    parts = zip(np.split(x[step], run.parts), np.split(y[step], run.parts), strict=True)
    optimizer.apply([sum(gradient(*part) for part in parts) / run.parts], [weights])
np.savez(sys.argv[1], weights=weights.numpy(), updates=optimizer.iterations.numpy())
