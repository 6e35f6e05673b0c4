"""A resume that is refused goes on with `--force`, and says that it is not exact."""

from __future__ import annotations

from pathlib import Path

from pitstop.events import Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun

_SCRIPT = """\
import keras
import numpy as np


class NewOptimizer(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.model.optimizer = keras.optimizers.SGD(0.01)
            self.model.make_train_function(force=True)


keras.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(64, 6)).astype("float32")
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.02), "mse")
model.fit(x, x.sum(1), batch_size=16, epochs=4, verbose=0, callbacks=[NewOptimizer()])
"""


def test_a_replaced_optimizer_is_refused_and_forced(tmp_path: Path, forked: Interpreter) -> None:
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    run = KerasRun(tmp_path, str(script), (), interpreter=forked)
    died = run.attempt("--every", "2steps", "--die-at-step", "11")
    assert died.returncode != 0
    refused = run.attempt()
    assert refused.returncode == 2
    assert b"--force" in refused.stderr
    forced = run.attempt("--force")
    assert forced.returncode == 0, forced.stderr
    assert run.last(Restored).level == "not_exact"
