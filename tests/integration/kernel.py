"""A real kernel of Jupyter, whose trainings end themselves at the steps that a file names."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_PATIENCE_SECONDS = 200.0
PLAN = "plan"

SETUP = """
import os, signal
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras, numpy as np

class Ends(keras.callbacks.Callback):
    def __init__(self, training="fit"):
        super().__init__()
        self.training = training

    def on_train_batch_end(self, batch, logs=None):
        if os.path.exists("plan"):
            name, step, training = open("plan").read().split()
            done = self.model.optimizer.iterations.numpy()
            if training == self.training and done == int(step):
                os.remove("plan")
                os.kill(os.getpid(), getattr(signal, name))

def digest(model):
    import hashlib
    parts = [each.numpy().tobytes() for each in (*model.variables, *model.optimizer.variables)]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]
"""
"""Below it, `callbacks=[Ends(NAME)]` obeys `Kernel.plan`."""


@dataclass(frozen=True)
class Ran:
    """What a cell has come to: "ok", "error", or "dead" where the kernel has died of it."""

    status: str
    text: str
    shown: dict[str, str]


class Kernel:
    """Runs cells; `dead` once its process has ended."""

    def __init__(self, folder: Path, words: Sequence[str] = ()) -> None:
        """Starts one; `words` do it where they are given, before those of Jupyter."""
        manager = pytest.importorskip("jupyter_client.manager")
        pytest.importorskip("ipykernel")
        self._folder = folder
        self._manager: Any = manager.KernelManager(kernel_name="python3")
        if words:
            self._manager.kernel_spec.argv = [*words, "-f", "{connection_file}"]
        self._manager.start_kernel(cwd=str(folder))
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(_PATIENCE_SECONDS)
        self._ended = False

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._ended:
            self._client.stop_channels()
            self._manager.shutdown_kernel(now=True)

    def shut_down(self) -> None:
        """As a user does it: the interpreter exits."""
        self._ended = True
        self._manager.shutdown_kernel()
        self._client.stop_channels()

    @property
    def pid(self) -> int:
        return int(self._manager.provisioner.pid)

    def kill(self) -> None:
        """As the kernel of the machine does it: SIGKILL, whatever it is at."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def plan(self, signal_name: str, step: int, training: str = "fit") -> None:
        """The training that reaches this step of its optimizer sends itself a signal."""
        (self._folder / PLAN).write_text(f"{signal_name} {step} {training}")

    def run_all(self, cells: Sequence[str]) -> Ran:
        """The cells in order, up to one that fails."""
        ran = Ran("ok", "", {})
        for cell in cells:
            ran = self.run(cell)
            if ran.status != "ok":
                return ran
        return ran

    def run(self, cell: str) -> Ran:
        message = self._client.execute(cell)
        told: list[str] = []
        shown: dict[str, str] = {}
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        status = "ok"
        while time.monotonic() < give_up_at:
            try:
                answer = self._client.get_iopub_msg(timeout=1.0)
            except queue.Empty:
                if not self._manager.is_alive():
                    return Ran("dead", "".join(told), shown)
                continue
            if answer["parent_header"].get("msg_id") != message:
                continue
            kind, content = answer["msg_type"], answer["content"]
            if kind == "stream":
                told.append(content["text"])
            elif kind == "error":
                status = "error"
                told.append("\n".join(content["traceback"]))
            elif kind in ("execute_result", "display_data"):
                shown |= content["data"]
            elif kind == "status" and content["execution_state"] == "idle":
                return Ran(status, "".join(told), shown)
        raise AssertionError(f"the cell did not end: {cell}\n{''.join(told)}")

    def value(self, expression: str) -> str:
        """What an expression is in the kernel, as text."""
        ran = self.run(f"print({expression})")
        assert ran.status == "ok", ran.text
        return ran.text.strip()
