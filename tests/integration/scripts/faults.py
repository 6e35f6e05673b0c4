"""A callback that kills or stops its own run once, as its environment says.

DIE_AT=N: SIGKILLs the process at the end of the N-th batch of the whole run.
STOP_AT=N with STOP_COMMAND: runs that shell command there and waits for it.
Both act only while the file ONCE does not exist, and create it first: the
attempt that resumes is left alone.
"""

import os
import signal
import subprocess
from pathlib import Path

import keras


class Fault(keras.callbacks.Callback):
    """Counts batches in an attribute of its own, so a resumed count goes on."""

    def __init__(self, steps_per_execution=1):
        super().__init__()
        self.batches = 0
        self.steps_per_execution = steps_per_execution

    def on_train_batch_end(self, batch, logs=None):
        self.batches += self.steps_per_execution
        if self._is_due("DIE_AT"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self._is_due("STOP_AT"):
            subprocess.run(os.environ["STOP_COMMAND"], shell=True, check=True)

    def _is_due(self, name):
        due = name in os.environ and self.batches >= int(os.environ[name])
        if not due or Path(os.environ["ONCE"]).exists():
            return False
        Path(os.environ["ONCE"]).touch()
        return True
