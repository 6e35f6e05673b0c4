"""A user's script that fails in every way it can; each failure is shown by the excepthook."""

import sys

import keras
import numpy as np
import tensorflow as tf

ROWS = np.ones((8, 2), "float32")


class Failing(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.fail()

    def fail(self):
        raise ValueError("in a callback")


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        raise RuntimeError("in train_step")


class Eager(Model):
    def train_step(self, data):
        tf.debugging.assert_equal(1, 2, "in an op")


class Graph(Model):
    def train_step(self, data):
        rows = tf.gather(tf.zeros(3), tf.cast(data[0], tf.int32) + 7)
        return {"loss": tf.reduce_sum(rows)}


def compiled(model, **settings):
    model.compile(optimizer="sgd", loss="mse", **settings)
    return model


def plain():
    return compiled(keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)]))


def in_a_callback():
    plain().fit(ROWS, ROWS[:, :1], batch_size=4, verbose=0, callbacks=[Failing()])


def in_train_step():
    compiled(Model()).fit(ROWS, ROWS[:, :1], verbose=0)


def in_an_eager_op():
    compiled(Eager(), run_eagerly=True).fit(ROWS, ROWS[:, :1], verbose=0)


def in_an_op_of_a_graph():
    compiled(Graph()).fit(ROWS, ROWS[:, :1], verbose=0)


def in_a_generator():
    def batches():
        yield ROWS, ROWS[:, :1]
        raise KeyError("in a generator")

    plain().fit(batches(), verbose=0)


def in_the_input():
    plain().fit(ROWS, ROWS[:3, :1], verbose=0)


def chained():
    try:
        in_a_callback()
    except ValueError as error:
        raise OSError("because of it") from error


def while_handling():
    try:
        in_train_step()
    except RuntimeError:
        raise LookupError("on the way") from None


def outside_of_fit():
    plain()
    int("outside of fit")


CASES = [
    in_a_callback,
    in_train_step,
    in_an_eager_op,
    in_an_op_of_a_graph,
    in_a_generator,
    in_the_input,
    chained,
    while_handling,
    outside_of_fit,
]


def main():
    for case in CASES:
        print(f"-- {case.__name__}", file=sys.stderr)
        try:
            case()
        except Exception:  # noqa: BLE001 - each of them is shown
            sys.excepthook(*sys.exc_info())
    print("-- uncaught", file=sys.stderr)
    in_a_callback()


main()
