"""Trains with a callback that keeps its state outside of the process, as argv[1] says."""

# As many write it.
# ruff: noqa: PTH103, PTH110, PTH207

import glob
import os
import secrets
import sys
import uuid
from pathlib import Path

import keras
import tensorflow as tf
from tiny import fit


def _count_by_tensorflow():
    count = int(tf.io.read_file("count").numpy()) if tf.io.gfile.exists("count") else 0
    tf.io.write_file("count", str(count + 1))


def _count_files():
    Path(f"file-{len(glob.glob('file-*'))}").touch()


def _mark_once():
    if not os.path.exists("mark"):
        Path("mark").touch()


def _write_logs():
    os.makedirs("logs", exist_ok=True)
    if not os.path.exists("logs"):
        raise FileNotFoundError
    Path("logs", "last.json").write_text("{}")


def _set_variable():
    os.environ["COUNT"] = str(int(os.environ.get("COUNT", "0")) + 1)


_WAYS = {
    "tensorflow": _count_by_tensorflow,
    "files": _count_files,
    "mark": _mark_once,
    "logs": _write_logs,
    "environment": _set_variable,
    "secrets": lambda: secrets.randbelow(9),
    "name": lambda: None,
}


class Acts(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.name = uuid.uuid4().hex

    def on_epoch_end(self, epoch, logs=None):
        _WAYS[sys.argv[1]]()


fit([Acts()])
