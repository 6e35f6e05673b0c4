"""What a script does to its own run, as its environment says.

FAULTS is a list such as "kill@batch:5 stop@test:2": what to do, where, and at
which count over the whole run.  They happen one after the other; the folder
FAULTS_DONE gets a folder for each, so that the attempt that resumes meets the next.
No file is written: a file that a script goes on with makes a resume inexact.

    kill    SIGKILL to this process
    stop    the shell command STOP_COMMAND, which returns when the request has arrived
    wait    prints "waiting" and sleeps for a minute
"""

import os
import signal
import subprocess
import time
from pathlib import Path

from which_keras import keras


def meet(place, count):
    """Does what is due at this count of a place; nothing without FAULTS."""
    action, due_place, due_count = _due()
    if place != due_place or count < due_count:
        return
    done = Path(os.environ["FAULTS_DONE"])
    (done / str(_happened(done))).mkdir(parents=True)
    _ACTIONS[action]()


def _due():
    faults = os.environ.get("FAULTS", "").split()
    happened = _happened(Path(os.environ.get("FAULTS_DONE", os.devnull)))
    if happened >= len(faults):
        return "", "", 0
    action, _, at = faults[happened].partition("@")
    place, _, count = at.partition(":")
    return action, place, int(count)


def _happened(done):
    return len(list(done.iterdir())) if done.is_dir() else 0


def _stop():
    subprocess.run(os.environ["STOP_COMMAND"], shell=True, check=True)


def _wait():
    print("waiting", flush=True)
    time.sleep(60)


_ACTIONS = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "stop": _stop,
    "wait": _wait,
}


class Fault(keras.callbacks.Callback):
    """Counts in attributes of its own, so a resumed count goes on."""

    def __init__(self, steps_per_execution=1):
        super().__init__()
        self.steps_per_execution = steps_per_execution
        self.batches = self.tests = self.epochs = 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += self.steps_per_execution
        meet("batch", self.batches)

    def on_test_batch_end(self, batch, logs=None):
        self.tests += 1
        meet("test", self.tests)

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1
        meet("epoch", self.epochs)
