"""Iterators over the data of a training: when they end, and when they begin to be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import Restored
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, KerasRun
from tests.integration.supervisor.launch import run_alone

_KILLED = 128 + 9
_SCRIPT = """
import gc, sys
gc.disable()  # what only the collector ends may live until the interpreter does
import {keras} as keras
import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops

def rows():
    for _ in range(1000):
        yield np.ones((8, 4), "float32"), np.ones((8, 1), "float32")

form = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 1)))
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
for data in (tf.data.Dataset.from_generator(rows, output_signature=form).prefetch(2), rows()):
    model.fit(data, epochs=2, steps_per_epoch=3, verbose=0)
    print(sum(type(each) is iterator_ops.OwnedIterator for each in gc.get_objects()), "iterators")
"""


@pytest.mark.parametrize("keras", ["keras", "tf_keras"])
def test_none_is_left_behind_a_fit(
    keras: str, tmp_path: Path, forked: Interpreter, forked_legacy: Interpreter
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT.format(keras=keras))
    python = forked if keras == "keras" else forked_legacy
    ended = KerasRun(tmp_path, str(script), interpreter=python).attempt()
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.decode().splitlines()
    assert [line for line in lines if line.endswith("iterators")] == ["0 iterators"] * 2


_DRAWS = """
import sys
import keras
import numpy as np

class Rows(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return np.random.random((8, 4)).astype("float32"), np.ones((8, 1), "float32")

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
parts = {"steps_per_epoch": 5, "validation_data": Rows(), "validation_steps": 5}
model.fit(Rows(), epochs=4, verbose=0, **parts)
np.save(sys.argv[1], model.get_weights()[0])
"""


@pytest.mark.timeout(300)
def test_an_iterator_that_is_made_before_a_validation_is_read_after_it(
    tmp_path: Path, forked: Interpreter
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_DRAWS)
    run_alone(tmp_path, *forked, script, "plain.npy")
    options = ("--every", "3steps")
    run = KerasRun(tmp_path, str(script), ("out.npy",), options, interpreter=forked)
    assert run.attempt("--die-at-step", "13").returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "out.npy").read_bytes() == (tmp_path / "plain.npy").read_bytes()


_CACHES = """
import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(320, 4)).astype("float32")
rows = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1)))
model = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.1), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(rows.cache("rows").shuffle(80).batch(8), epochs=2, verbose=0)
np.savez("out.npz", *model.get_weights())
"""


def test_a_kill_while_a_file_cache_is_written(tmp_path: Path, forked: Interpreter) -> None:
    script = tmp_path / "script.py"
    script.write_text(_CACHES)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    options = ("--every", "10steps")
    whole, killed = (
        KerasRun(tmp_path / name, str(script), options=options, interpreter=forked)
        for name in ("whole", "killed")
    )
    assert whole.attempt().returncode == 0
    # At the third kill the cache is whole.
    for step in ("15", "25", "55"):
        assert killed.attempt("--die-at-step", step).returncode == _KILLED
    assert killed.attempt().returncode == 0
    assert killed.last(Restored).step in (40, 50)  # a busy disk puts the newest one off
    assert_identical(whole.folder / OUT, killed.folder / OUT)
