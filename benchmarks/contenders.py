"""The ways there are to save the state of a TensorFlow training, each behind the same two calls.

`save` is called by the training thread behind a step; how long it keeps that thread is what the
benchmark measures.  `finish` waits for what goes on in the background.
"""

from __future__ import annotations

import mmap
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
import safetensors.numpy
import tensorflow as tf

from pitstop.engine.session import process_session

PIECE_BYTES = 8 << 20


class Contender:
    """One way to save `model` and its optimizer into `folder`, again and again."""

    def __init__(self, model: keras.Model, folder: Path) -> None:
        self.model = model
        self.folder = folder
        folder.mkdir()

    def save(self) -> None:
        """Saves, or begins to."""

    def finish(self) -> None:
        """Returns when nothing goes on any more; removes what was saved."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    @property
    def variables(self) -> list[Any]:
        """Everything that a whole state holds."""
        return [*self.model.variables, *self.model.optimizer.variables]

    @property
    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """Views of the variables, without a copy."""
        return [np.asarray(memoryview(variable.value.read_value())) for variable in self.variables]


class Nothing(Contender):
    """No save at all: what everything else is compared with."""


class Pitstop(Contender):
    """A checkpoint asked for in the middle of a training under `pitstop run`."""

    def save(self) -> None:
        session = process_session.current()
        if session is None:
            raise SystemExit("run this under `pitstop run`")
        session.beacon.request_checkpoint()

    def finish(self) -> None:
        """The checkpoint was on the disk long before: a turn is longer than that takes."""


class PitstopInMemory(Contender):
    """A snapshot that only survives the process: what `--overhead` spends most of its budget on."""

    def save(self) -> None:
        session = process_session.current()
        if session is None:
            raise SystemExit("run this under `pitstop run`")
        # Due at the next boundary.
        session.snapshots._cadence.postponed(time.monotonic_ns(), by_ns=0)

    def finish(self) -> None:
        """The copy was over long before."""


class Memcpy(Contender):
    """One copy of the state in memory, by one thread; the least that copying costs."""

    def save(self) -> None:
        for target, array in zip(self._targets, self.arrays, strict=True):
            np.copyto(target, array)

    def prepare(self) -> None:
        """Makes the memory, and touches it."""
        self._targets = [np.ones_like(array) for array in self.arrays]

    def finish(self) -> None:
        self._targets = []


class DirectWrite(Contender):
    """So many bytes past the page cache, then fsync; the least that writing costs."""

    def save(self) -> None:
        size_bytes = sum(array.nbytes for array in self.arrays)
        buffer = memoryview(mmap.mmap(-1, PIECE_BYTES))
        fd = os.open(self.folder / "file", os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        for _ in range(0, size_bytes, PIECE_BYTES):
            os.write(fd, buffer)
        os.fsync(fd)
        os.close(fd)


class BackupAndRestore(Contender):
    """Keras' callback; weights and optimizer as HDF5."""

    def __init__(self, model: keras.Model, folder: Path) -> None:
        super().__init__(model, folder)
        self._callback = keras.callbacks.BackupAndRestore(str(folder), save_freq=1)
        self._callback.set_model(model)

    def save(self) -> None:
        self._callback._save_model()


class ModelCheckpoint(Contender):
    """Keras' callback; the whole model as .keras."""

    def save(self) -> None:
        self.model.save(self.folder / "model.keras")


class TensorFlowCheckpoint(Contender):
    """`tf.train.Checkpoint` of model and optimizer."""

    options: Mapping[str, bool] = {}

    def __init__(self, model: keras.Model, folder: Path) -> None:
        super().__init__(model, folder)
        self._checkpoint = self._tracked()

    def _tracked(self) -> tf.train.Checkpoint:
        return tf.train.Checkpoint(model=self.model, optimizer=self.model.optimizer)

    def save(self) -> None:
        options = tf.train.CheckpointOptions(**self.options)
        self._checkpoint.write(str(self.folder / "ckpt"), options)

    def finish(self) -> None:
        self._checkpoint.sync()
        super().finish()


class AsyncTensorFlowCheckpoint(TensorFlowCheckpoint):
    """The same, copied by the training thread and written by another.

    Of the bare `tf.Variable`s: on a Keras 3 model TensorFlow 2.21 raises "tf.function only
    supports singleton tf.Variables created on the first call".
    """

    options: Mapping[str, bool] = {"experimental_enable_async_checkpoint": True}

    def _tracked(self) -> tf.train.Checkpoint:
        values = {str(index): each.value for index, each in enumerate(self.variables)}
        return tf.train.Checkpoint(**values)


class Safetensors(Contender):
    """`safetensors.numpy.save_file` of views of the variables."""

    def save(self) -> None:
        arrays = {str(index): array for index, array in enumerate(self.arrays)}
        safetensors.numpy.save_file(arrays, self.folder / "state.safetensors")


class OrbaxAsync(Contender):
    """Orbax' AsyncCheckpointer on a tree of NumPy arrays."""

    def __init__(self, model: keras.Model, folder: Path) -> None:
        super().__init__(model, folder)
        import orbax.checkpoint as ocp

        self._ocp = ocp
        self._checkpointer = ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler())

    def save(self) -> None:
        tree = {str(index): array for index, array in enumerate(self.arrays)}
        arguments = self._ocp.args.StandardSave(tree)
        self._checkpointer.save(self.folder / "state", args=arguments, force=True)

    def finish(self) -> None:
        self._checkpointer.wait_until_finished()
        super().finish()


CONTENDERS: Mapping[str, Callable[[keras.Model, Path], Contender]] = {
    "nothing": Nothing,
    "control": Nothing,
    "Pitstop, on disk": Pitstop,
    "Pitstop, in memory": PitstopInMemory,
    "memcpy": Memcpy,
    "O_DIRECT write, fsync": DirectWrite,
    "BackupAndRestore": BackupAndRestore,
    "ModelCheckpoint": ModelCheckpoint,
    "tf.train.Checkpoint": TensorFlowCheckpoint,
    "tf.train.Checkpoint, async": AsyncTensorFlowCheckpoint,
    "Orbax, async": OrbaxAsync,
    "safetensors.save_file": Safetensors,
}
