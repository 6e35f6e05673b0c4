"""Notebooks: stops, kills, and cells that are edited, left out, run twice or in another order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pitstop.link.settings import ENV_ENTROPY
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of
from tests.integration.kernel import SETUP, Kernel
from tests.integration.supervisor import launch

LOAD = "%load_ext pitstop"
DATA = "x = np.random.rand(256, 8); y = x.sum(1)"
SEEDED = f"keras.utils.set_random_seed(3)\n{DATA}"
MODEL = """
def build():
    layers = keras.layers
    parts = [layers.Input((8,)), layers.Dense(8), layers.Dropout(0.2), layers.Dense(1)]
    model = keras.Sequential(parts)
    model.compile("adam", "mse")
    return model
model = build()
"""
FIT = "h = model.fit(x, y, epochs=3, verbose=0, callbacks=[Ends()])"
OUTCOME = "digest(model), h.history['loss'], h.epoch"
ENDS = "Run this cell again to resume there."
RESUMED = "resuming at step"
_SAVED_AFTER_SECONDS = 12.0
"""Behind what a new kernel takes to its first `fit`."""


Start = Callable[[Path], Kernel]
"""Starts a kernel in a folder."""

pytestmark = pytest.mark.xdist_group("kernels")


@pytest.fixture(autouse=True)
def _one_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENV_ENTROPY, "5eed")


@pytest.fixture
def start(request: pytest.FixtureRequest) -> Start:
    """Real kernels in the fast tests, in the others forks that have imported the frameworks."""
    if request.node.get_closest_marker("fast"):
        return Kernel
    words = request.getfixturevalue("forked_kernel")
    return lambda folder: Kernel(folder, words)


def _plain(start: Start, folder: Path, cells: list[str], expression: str = OUTCOME) -> str:
    """The outcome without Pitstop."""
    folder.mkdir()
    with start(folder) as kernel:
        assert kernel.run_all([SETUP, *cells]).status == "ok"
        return kernel.value(expression)


def _uninterrupted(start: Start, folder: Path, cells: list[str]) -> str:
    """The outcome with it."""
    return _plain(start, folder, [LOAD, *cells])


@pytest.mark.fast
def test_an_interrupted_cell_goes_on_when_it_is_run_again(start: Start, tmp_path: Path) -> None:
    plain = _plain(start, tmp_path / "plain", [SEEDED, MODEL, FIT])
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, SEEDED, MODEL]).status == "ok"
        for step in (5, 17):
            kernel.plan("SIGINT", step)
            stopped = kernel.run(FIT)
            assert stopped.status == "error"
            assert stopped.text.rstrip().endswith("Details: `%pitstop why`.")
            assert f"Stopped after step {step} " in stopped.text
            assert ENDS in stopped.text
            assert "Traceback" not in stopped.text
            assert "To exit" not in stopped.text
            assert kernel.value("1 + 1") == "2"
        went_on = kernel.run(FIT)
        assert f"{RESUMED} 17" in went_on.text
        assert kernel.value(OUTCOME) == plain
        # What has ended is trained further when it is run again, as without Pitstop.
        trained = kernel.value("digest(model)")
        assert kernel.run(FIT).status == "ok"
        assert kernel.value("digest(model)") != trained
        assert kernel.value("int(model.optimizer.iterations)") == "48"
        assert "text/html" in kernel.run("import pitstop; pitstop.current().status()").shown
        why = kernel.run("%pitstop why").shown
        assert "<iframe" in why["text/html"]
        assert "running" in why["text/plain"]


@pytest.mark.fast
def test_a_killed_kernel_goes_on_in_the_next_one(start: Start, tmp_path: Path) -> None:
    cells = [SETUP, DATA, MODEL, FIT]
    whole = _uninterrupted(start, tmp_path / "whole", cells[1:])
    with start(tmp_path) as kernel:
        kernel.plan("SIGKILL", 21)
        assert kernel.run_all([LOAD, *cells]).status == "dead"
    with start(tmp_path) as kernel:
        # Another cell in between, another layout, and one that is left out.
        again = FIT.replace(", verbose", ",  # as before\n  verbose")
        ran = kernel.run_all([LOAD, "import random; random.random()", *cells[:-1], again])
        assert RESUMED in ran.text
        assert "not exact" not in ran.text
        assert kernel.value(OUTCOME) == whole
        # And it is trained further by another run of the cell, which the next kernel repeats.
        kernel.run(again)
        further = kernel.value(OUTCOME)
        assert further != whole
        kernel.shut_down()
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, *cells]).status == "ok"
        assert kernel.value(OUTCOME) == whole
        kernel.run(FIT)
        assert kernel.value(OUTCOME) == further


def test_a_training_is_saved_before_the_time_of_its_runtime_is_over(
    start: Start, tmp_path: Path
) -> None:
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, SEEDED, MODEL, FIT]).status == "ok"
        assert "is not a valid time" in kernel.run("%pitstop limit soon").text
        # Also for a supervisor that is there already.
        kernel.run("%pitstop limit 30s")
        assert ENDS in kernel.run(FIT.replace("epochs=3", "epochs=10**6")).text
        assert "time_limit" in kernel.run("%pitstop why").shown["text/plain"]


def test_the_folder_is_chosen_again(start: Start, tmp_path: Path) -> None:
    choose = "%pitstop folder runs/chosen"
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, choose, SETUP, SEEDED, MODEL]).status == "ok"
        kernel.plan("SIGINT", 9)
        assert "saved in runs/chosen" in kernel.run(FIT).text
        # As by "run all": the first cell, and then the one that was stopped.
        assert f"{RESUMED} 9" in kernel.run_all([choose, FIT]).text
        # A folder that was left is not in use, and its training not a running one.
        for another in ("%pitstop folder runs/another", choose):
            assert kernel.run_all([another, FIT]).status == "ok"
        assert _state_of(tmp_path / "runs" / "another") == "completed"


def _state_of(folder: Path) -> str:
    return status_of(open_existing(folder)).state


def test_the_next_kernel_waits_until_the_one_before_is_saved(tmp_path: Path) -> None:
    cells = [SETUP, DATA, MODEL, FIT]
    with Kernel(tmp_path) as kernel, ThreadPoolExecutor() as beside:
        kernel.plan("SIGSTOP", 20)
        suspended = beside.submit(_die_while_nobody_saves, kernel, tmp_path)
        assert kernel.run_all([LOAD, *cells]).status == "dead"
    later = threading.Timer(_SAVED_AFTER_SECONDS, suspended.result().resume)
    later.start()
    with Kernel(tmp_path) as kernel:
        assert RESUMED in kernel.run_all([LOAD, *cells]).text
    later.join()


def _die_while_nobody_saves(kernel: Kernel, folder: Path) -> psutil.Process:
    """Suspends the persister behind the step that is planned; the persister."""
    launch.until(lambda: psutil.Process(kernel.pid).status() == psutil.STATUS_STOPPED)
    persister = launch.persister_among(launch.processes_in(folder))
    persister.suspend()
    kernel.kill()
    return persister


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ('"adam"', "keras.optimizers.Adam(0.01)"),
        pytest.param("rand(256", "rand(255", marks=pytest.mark.torture),
        ("(self, batch, logs=None):", "(self, batch, logs=None, more=1):"),
        pytest.param("epochs=3", "epochs=4", marks=pytest.mark.torture),
    ],
    ids=["learning rate", "data", "code of a callback", "epochs"],
)
def test_an_edited_cell_trains_anew_and_says_so(
    start: Start, tmp_path: Path, before: str, now: str
) -> None:
    cells = [SETUP, DATA, MODEL, FIT]
    with start(tmp_path) as kernel:
        kernel.plan("SIGKILL", 21)
        assert kernel.run_all([LOAD, *cells]).status == "dead"
    edited = [cell.replace(before, now) for cell in cells]
    whole = _uninterrupted(start, tmp_path / "whole", [edited[0], *edited[1:]])
    with start(tmp_path) as kernel:
        ran = kernel.run_all([LOAD, *edited])
        assert ran.status == "ok"
        assert RESUMED not in ran.text
        assert "is not the interrupted training 1" in ran.text
        assert kernel.value(OUTCOME) == whole


def test_a_model_that_is_built_anew_is_another_training(start: Start, tmp_path: Path) -> None:
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, DATA, MODEL]).status == "ok"
        kernel.plan("SIGINT", 9)
        assert ENDS in kernel.run(FIT).text
        kernel.run(MODEL)
        before = kernel.value("digest(model)")
        ran = kernel.run(FIT)
        assert RESUMED not in ran.text
        assert "is not the interrupted training 1: first weights" in ran.text
        assert kernel.value("int(model.optimizer.iterations)") == "24"
        assert kernel.value("digest(model)") != before


def test_weights_that_were_changed_behind_a_stop_are_kept(start: Start, tmp_path: Path) -> None:
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, DATA, MODEL]).status == "ok"
        kernel.plan("SIGINT", 9)
        assert ENDS in kernel.run(FIT).text
        kernel.run("model.set_weights([0 * each for each in model.get_weights()])")
        ran = kernel.run(FIT)
        assert RESUMED not in ran.text
        assert "is not the interrupted training 1: first weights" in ran.text
        # Adam goes on counting, as it does without Pitstop.
        assert kernel.value("int(model.optimizer.iterations)") == "33"


def test_a_list_that_a_function_fills_while_it_trains(start: Start, tmp_path: Path) -> None:
    train = """
seen = []
def train(model):
    note = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    return model.fit(x, y, epochs=3, verbose=0, callbacks=[Ends(), note])
"""
    call = "h = train(model)"
    outcome = f"{OUTCOME}, seen"
    whole = _plain(start, tmp_path / "whole", [SEEDED, MODEL, train, call], outcome)
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, SEEDED, MODEL, train]).status == "ok"
        for step in (13, 18):
            kernel.plan("SIGINT", step)
            assert ENDS in kernel.run(call).text
        assert f"{RESUMED} 18" in kernel.run(call).text
        assert kernel.value(outcome) == whole


def test_two_models_keep_apart(start: Start, tmp_path: Path) -> None:
    second = "other = build()\no = other.fit(x, y, epochs=2, verbose=0)"
    whole = _plain(start, tmp_path / "whole", [SEEDED, MODEL, FIT])
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, SEEDED, MODEL]).status == "ok"
        kernel.plan("SIGINT", 9)
        assert ENDS in kernel.run(FIT).text
        assert kernel.run(second).status == "ok"
        other = kernel.value("digest(other)")
        assert f"{RESUMED} 9" in kernel.run(FIT).text
        assert kernel.value(OUTCOME) == whole
        assert kernel.value("digest(other)") == other


def test_two_fits_of_one_cell(start: Start, tmp_path: Path) -> None:
    cell = f"{MODEL}\n{FIT.replace('h =', 'first =')}\n{FIT}\n"
    whole = _uninterrupted(start, tmp_path / "whole", [DATA, cell])
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, DATA]).status == "ok"
        for step in (7, 20, 23):
            kernel.plan("SIGINT", step)
            assert ENDS in kernel.run(cell).text
        assert kernel.run(cell).status == "ok"
        assert kernel.value(OUTCOME) == whole


def test_a_model_of_another_cell_trained_twice_in_one(start: Start, tmp_path: Path) -> None:
    cell = f"{FIT.replace('h =', 'first =')}\n{FIT}\n"
    callbacks = "plateau = keras.callbacks.ReduceLROnPlateau('loss', patience=1, min_delta=9)"
    cell = cell.replace("Ends()", "Ends(), plateau")
    whole = _plain(start, tmp_path / "whole", [SEEDED, MODEL, callbacks, cell])
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, SEEDED, MODEL, callbacks]).status == "ok"
        for step in (13, 40):
            kernel.plan("SIGINT", step)
            assert ENDS in kernel.run(cell).text
        kernel.run("model.evaluate(x, y, verbose=0)")
        assert kernel.run(cell).status == "ok"
        assert kernel.value(OUTCOME) == whole


_TWO_DEVICES = """
import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
"""
_MIRRORED = """
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = build()
"""
_ROWS = """
import tensorflow as tf
rows = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(16, seed=1).batch(32)
"""
_FIT_ROWS = FIT.replace("x, y", "rows")


def test_a_mirrored_model_goes_on_in_the_same_kernel_and_in_the_next(
    start: Start, tmp_path: Path
) -> None:
    cells = [_TWO_DEVICES, SEEDED, MODEL, _MIRRORED, _ROWS, _FIT_ROWS]
    plain = _plain(start, tmp_path / "plain", cells)
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, *cells[:-1]]).status == "ok"
        kernel.plan("SIGINT", 5)
        assert "Stopped after step 5 " in kernel.run(_FIT_ROWS).text
        kernel.plan("SIGKILL", 17)
        assert kernel.run_all([_ROWS, _FIT_ROWS]).status == "dead"
    with start(tmp_path) as kernel:
        ran = kernel.run_all([LOAD, SETUP, *cells])
        assert RESUMED in ran.text
        assert "not exact" not in ran.text
        assert kernel.value(OUTCOME) == plain


def test_a_shuffle_goes_on_with_the_same_orders_in_the_same_kernel(
    start: Start, tmp_path: Path
) -> None:
    cells = [SEEDED, MODEL, _ROWS, _FIT_ROWS]
    plain = _plain(start, tmp_path / "plain", cells)
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, *cells[:-1]]).status == "ok"
        for step in (7, 8, 15, 23):  # near the end of each epoch, the buffer is empty
            kernel.plan("SIGINT", step)
            assert f"Stopped after step {step} " in kernel.run(_FIT_ROWS).text
        assert "not exact" not in kernel.run(_FIT_ROWS).text
        assert kernel.value(OUTCOME) == plain


def test_a_shuffle_that_cannot_be_set_back_is_named(start: Start, tmp_path: Path) -> None:
    rows = _ROWS.replace(".batch", ".cache().shuffle(16, seed=2).batch")
    cells = [SEEDED, MODEL, rows, _FIT_ROWS]
    plain = _plain(start, tmp_path / "plain", cells)
    for again, is_named in (([_FIT_ROWS], True), ([rows, _FIT_ROWS], False)):
        folder = tmp_path / str(is_named)
        folder.mkdir()
        with start(folder) as kernel:
            assert kernel.run_all([LOAD, SETUP, *cells[:-1]]).status == "ok"
            kernel.plan("SIGINT", 13)
            kernel.run(_FIT_ROWS)
            told = kernel.run_all(again).text
            assert f"{RESUMED} 13" in told
            assert ("run the cell that makes the dataset again" in told) == is_named
            assert is_named or kernel.value(OUTCOME) == plain


_OF_EARLIER_CELLS = """
class Rows(keras.utils.PyDataset):
    def __init__(self):
        super().__init__()
        self.order, self.random = np.arange(256), np.random.default_rng(1)

    def __len__(self):
        return 8

    def __getitem__(self, batch):
        rows = self.order[batch * 32 : batch * 32 + 32]
        return x[rows], y[rows]

    def on_epoch_end(self):
        self.random.shuffle(self.order)

class Rates(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(batch)
        self.model.optimizer.learning_rate = 0.001 + 0.001 * (len(self.seen) % 3)

rows, rates, plateau = Rows(), Rates(), keras.callbacks.ReduceLROnPlateau("loss", patience=1)
best = keras.callbacks.EarlyStopping("loss", patience=2, restore_best_weights=True)
"""


def test_objects_of_other_cells_that_the_training_changes_are_the_same_after_a_stop(
    start: Start, tmp_path: Path
) -> None:
    fit = FIT.replace("x, y", "rows").replace("Ends()", "rates, plateau, best, Ends()")
    cells = [SEEDED, MODEL, _OF_EARLIER_CELLS, fit]
    outcome = f"{OUTCOME}, rows.order.tolist(), len(rates.seen)"
    plain = _plain(start, tmp_path / "plain", cells, outcome)
    with start(tmp_path) as kernel:
        assert kernel.run_all([LOAD, SETUP, *cells[:-1]]).status == "ok"
        for step in (3, 13, 20):
            kernel.plan("SIGINT", step)
            assert f"Stopped after step {step} " in kernel.run(fit).text
        told = kernel.run(fit).text
        assert f"{RESUMED} 20" in told
        assert "not exact" not in told
        assert kernel.value(outcome) == plain
