"""How VS Code differs from Jupyter: it signals the descendants of a kernel, then the kernel."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of
from tests.integration.kernel import SETUP, Kernel, Ran
from tests.integration.supervisor.launch import until
from tests.integration.test_notebooks import FIT, LOAD, MODEL, OUTCOME, RESUMED, SEEDED

WAITS = """
class Waits(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == 9 and not os.path.exists("go"):
            open("reached", "w").close()
            while not os.path.exists("go"):
                pass
"""
WAITING_FIT = FIT.replace("[Ends()]", "[Ends(), Waits()]")
CELLS = [LOAD, SETUP + WAITS, SEEDED, MODEL]

pytestmark = pytest.mark.xdist_group("kernels")


def _name_notebook(kernel: Kernel, folder: Path) -> None:
    # As its startup code does, before the first cell.
    kernel.run(f'__vsc_ipynb_file__ = "{folder}/my digits.ipynb"')


def _run_and_signal(kernel: Kernel, folder: Path, number: signal.Signals) -> Ran:
    """Runs the cell, which waits at a step until the signals have come."""

    def send() -> None:
        until((folder / "reached").exists)
        for each in psutil.Process(kernel.pid).children(recursive=True):
            each.send_signal(number)
        # Whoever answers has handled what came before.
        status_of(open_existing(folder / "runs" / "my digits"))
        os.kill(kernel.pid, number)
        (folder / "go").touch()

    with ThreadPoolExecutor() as beside:
        sent = beside.submit(send)
        ran = kernel.run(WAITING_FIT)
        sent.result()
    return ran


def test_one_interrupt_counts_once(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with Kernel(tmp_path / "plain") as kernel:
        assert kernel.run_all([SETUP, SEEDED, MODEL, FIT]).status == "ok"
        plain = kernel.value(OUTCOME)
    with Kernel(tmp_path) as kernel:
        _name_notebook(kernel, tmp_path)
        assert kernel.run_all(CELLS).status == "ok"
        stopped = _run_and_signal(kernel, tmp_path, signal.SIGINT)
        assert "Stopped after step 9 " in stopped.text
        assert "Traceback" not in stopped.text
        assert f"{RESUMED} 9" in kernel.run(WAITING_FIT).text
        assert kernel.value(OUTCOME) == plain


def test_a_restart_saves_the_step(tmp_path: Path) -> None:
    with Kernel(tmp_path) as kernel:
        _name_notebook(kernel, tmp_path)
        assert kernel.run_all(CELLS).status == "ok"
        assert _run_and_signal(kernel, tmp_path, signal.SIGTERM).status == "dead"
    with Kernel(tmp_path) as kernel:
        _name_notebook(kernel, tmp_path)
        assert f"{RESUMED} 9" in kernel.run_all([*CELLS, WAITING_FIT]).text
