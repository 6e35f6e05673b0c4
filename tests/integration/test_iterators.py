"""The iterator of a training ends with its `fit`, as it does without Pitstop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun

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
