"""Faults thought of by somebody who had not seen the rules: `python stranger.py NAME`."""

import ctypes
import faulthandler
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

RNG = np.random.default_rng(3)
X = RNG.normal(size=(1200, 8)).astype("float32")
Y = X.sum(1)


def network(optimizer="adam", loss="mse", width=16):
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(width, "relu"), keras.layers.Dense(1)]
    )
    model.compile(optimizer, loss)
    return model


def train(data=None, callbacks=(), model=None, epochs=3):
    rows = {"x": X, "y": Y} if data is None else {"x": data}
    (model or network()).fit(**rows, epochs=epochs, callbacks=list(callbacks), verbose=2)


def at_batch(number, act):
    seen = []

    def count(batch, **_):
        seen.append(batch)
        time.sleep(0.01)
        if len(seen) == number:
            act()

    return keras.callbacks.LambdaCallback(on_train_batch_end=count)


def full_cache():
    """`cache(FILE)` on a small scratch disk."""
    wide = tf.data.Dataset.range(4000).map(lambda _: (tf.zeros([8]), tf.zeros([64, 64])))
    cached = wide.cache("disk/features").map(lambda x, y: (x, y[0, 0]))
    train(cached.batch(16))


def dead_producer():
    """The thread that fills the queue dies of one bad row; the generator waits for ever."""
    rows = queue.Queue(4)

    def produce():
        for i in range(5000):
            rows.put((X[:16], Y[:16]) if i != 70 else {"img": 1}["image"])

    def batches():
        while True:
            yield rows.get()

    threading.Thread(target=produce, daemon=True).start()
    network().fit(batches(), steps_per_epoch=100, epochs=3, verbose=2)


def stands_still():
    """Waits for an event that nobody sets."""
    train(callbacks=[at_batch(27, threading.Event().wait)])


def fails_and_stays():
    """Fails, while a thread of its own keeps the process alive."""
    threading.Thread(target=time.sleep, args=(600,)).start()
    train(callbacks=[at_batch(27, lambda: {}["best"])])


def double_free():
    """A bug of a native extension that glibc notices."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

    def act():
        place = libc.malloc(2000)
        libc.free(place)
        libc.free(place)

    train(callbacks=[at_batch(27, act)])


class Node:
    """A parse tree as deep as its sentence is long."""

    def __init__(self, child):
        self.child = child

    def __reduce__(self):
        return Node, (self.child,)


def deep_recursion():
    """Pickles a deep tree, with the limit raised as forums advise."""
    train()
    sys.setrecursionlimit(10**8)
    tree = None
    for _ in range(300_000):
        tree = Node(tree)
    pickle.dumps(tree)


def missing_program():
    """A decoder that is not installed."""

    def clip(_):
        raw = subprocess.run(["ffmpeg-of-nobody"], check=True, capture_output=True).stdout
        return np.frombuffer(raw, "float32")

    def load(i):
        return tf.ensure_shape(tf.numpy_function(clip, [i], tf.float32), (8,)), 1.0

    train(tf.data.Dataset.range(100).map(load).batch(4))


def cut_weights():
    """A copy of the weights that was interrupted."""
    model = network(width=256)
    model.save_weights("pre.weights.h5")
    os.truncate("pre.weights.h5", 9000)
    model.load_weights("pre.weights.h5")


def other_weights():
    """Weights of a narrower network."""
    network(width=128).save_weights("base.weights.h5")
    network(width=256).load_weights("base.weights.h5")


def wrong_signature():
    """A callback that names its arguments otherwise."""
    train(callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=lambda number, _: number)])


def own_interrupt():
    """A curses window whose "q" raises KeyboardInterrupt."""

    def act():
        raise KeyboardInterrupt("q was pressed")

    train(callbacks=[at_batch(27, act)])


def diverges():
    """Too high a rate, but no NaN yet."""
    linear = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    linear.compile(keras.optimizers.SGD(0.9), "mse")
    train(model=linear, epochs=2)


def busy_store():
    """An object store that asks to slow down."""

    def rows():
        yield from zip(X[:400], Y[:400], strict=True)
        raise urllib.error.HTTPError("http://store/shard-9", 503, "SlowDown", None, None)

    specs = (tf.TensorSpec((8,)), tf.TensorSpec(()))
    train(tf.data.Dataset.from_generator(rows, output_signature=specs).batch(16))


class Mixture(keras.Model):
    """A density network with a step of its own: log(0) for what no component explains."""

    def __init__(self):
        super().__init__()
        self.out, self.nll = keras.layers.Dense(2), keras.metrics.Mean(name="nll")

    def call(self, x):
        return self.out(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            mean, weight = tf.split(self(x, training=True), 2, -1)
            close = tf.exp(-100.0 * (y[:, None] - mean) ** 2)
            loss = -tf.reduce_mean(tf.math.log(tf.nn.relu(weight) * close))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.nll.update_state(loss)
        return {"nll": self.nll.result()}


def log_of_zero():
    """NaN under another name than "loss"."""
    model = Mixture()
    model.compile("adam")
    train(model=model)


def flood():
    """Prints what looks like every fault, and then fails for a reason of its own."""

    def shout(_batch, **_):
        print("OOM killer? disk full? loss: nan? Segmentation fault? no. " * 4000)

    train(callbacks=[keras.callbacks.LambdaCallback(on_train_batch_end=shout)])
    print({"loss": 1.0}["val_loss"])


def leaves_a_server():
    """Starts a server beside the training, and forgets it."""
    command = [sys.executable, "-m", "http.server", "0", "--bind", "127.0.0.1"]
    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    train()


def licence():
    """A licence check of a library, in the middle of an epoch."""
    train(callbacks=[at_batch(27, lambda: os._exit(7))])


class BadScan(Exception):
    """Cannot be made again from its own arguments, so no pool can pass it on."""

    def __init__(self, patient, series):
        super().__init__(f"scan {patient}/{series} has no pixels")


class Scans(keras.utils.PyDataset):
    """Read by two processes."""

    def __len__(self):
        return 60

    def __getitem__(self, index):
        if index == 30:
            raise BadScan("P0231", 4)
        return X[:8], Y[:8]


def unpicklable_error():
    """The pool's own thread dies of the exception, and Keras waits for ever."""
    network().fit(Scans(workers=2, use_multiprocessing=True), shuffle=False, verbose=2)


def numpy_on_a_full_disk():
    """Numpy names no file and no error number, where a disk is full."""
    train()
    np.save("disk/features", np.ones((2000, 2000)))


def own_watchdog():
    """`faulthandler` ends the script, with exit code 1 and no exception."""
    faulthandler.dump_traceback_later(20, exit=True)
    train(callbacks=[at_batch(27, queue.Queue().get)])


def own_timer():
    """A test's timer that nobody handles."""
    signal.alarm(15)
    train(callbacks=[at_batch(27, lambda: time.sleep(60))])


def hidden_by_a_pipe():
    """Fails in an epoch; `| tee` returns 0."""
    train(callbacks=[at_batch(27, lambda: {}["best"])])


def schedule_divides():
    """Keras takes the frame of its callback out of the traceback."""
    train(callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / epoch)])


def caught_label():
    """The script prints what it caught, and gives up."""
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    labels = np.arange(len(X)) % 4
    labels[700] = 9
    try:
        model.fit(X, labels, verbose=2)
    except tf.errors.OpError:
        traceback.print_exc()
        sys.exit(1)


def guard_gives_up():
    """A callback of the script that looks for NaN."""

    def look(_, logs):
        if not np.isfinite(logs["loss"]):
            raise RuntimeError("training diverged, giving up")

    guard = keras.callbacks.LambdaCallback(on_train_batch_end=look)
    train(model=network(keras.optimizers.SGD(1e30)), callbacks=[guard])


def cluster_settings():
    """TF_CONFIG with the quotation marks of Python."""
    tf.distribute.MultiWorkerMirroredStrategy()


def frozen_model():
    """Nothing is trained."""
    model = network()
    model.trainable = False
    model.compile("sgd", "mse")
    train(model=model)


def hidden_by_relu():
    """One empty cell of a table; ReLU turns its NaN into 0, and the loss stays finite."""
    X[17, 3] = np.nan
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, "relu")])
    model.compile("sgd", "mse")
    model.fit(X, np.ones((len(X), 16), "float32"), epochs=3, verbose=2, shuffle=False)


def lock_of_a_cache():
    """A run that was killed has left the lock of `cache(FILE)`."""
    Path("features_0.lockfile").write_text("Created at: 1700000000")
    train(tf.data.Dataset.from_tensor_slices((X, Y)).batch(16).cache("features"))


def asks_for_a_name():
    """Works in a terminal."""
    train()
    input("Name of the experiment: ")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
