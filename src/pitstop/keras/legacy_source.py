"""The training input of Keras 2 (`DataHandler`), seen as the adapter sees that of Keras 3."""

from typing import Any

import tensorflow as tf

_KINDS = {
    "TensorLikeDataAdapter": "arrays",
    "ListsOfScalarsDataAdapter": "arrays",
    "GenericArrayLikeDataAdapter": "arrays",
    "DatasetAdapter": "dataset",
    "CompositeTensorDataAdapter": "dataset",
}
SHAPES = "_pitstop_shapes"
"""The attribute of a data adapter that keeps what `LegacyAdapter.shapes` gives."""

_WORKERS = (
    "with workers or use_multiprocessing, Keras 2 reads and shuffles the next epoch while "
    "callbacks run: not repeatable even without an interruption; do not use them"
)


class LegacyAdapter:
    def __init__(self, adapter: Any, arguments: dict[str, Any], *, on_workers: bool) -> None:
        self.name = type(adapter).__name__  # of its class
        # "arrays", "dataset", "python" for what is code of the script, or "workers" where each
        # worker of a cluster reads for itself
        self.kind = "workers" if on_workers else _KINDS.get(self.name, "python")
        # the `Sequence` that it reads; None for other data
        self.sequence = getattr(adapter, "_keras_sequence", None)
        # why what it reads cannot be repeated; empty where it can be
        self.doubt = _doubt(self.name, arguments)
        # of the tensors of the batch that was looked at; empty where none was
        self.shapes: tuple[tuple[int, ...], ...] = getattr(adapter, SHAPES, ())
        self._adapter = adapter

    @property
    def batch_size(self) -> int | None:
        size: int | None = None if self.kind == "workers" else self._adapter.batch_size()
        return size

    @property
    def num_batches(self) -> int | None:
        size: int | None = self._adapter.get_size()
        return size

    @property
    def is_renewed(self) -> bool:
        """Whether each epoch has an iterator of its own."""
        return bool(self._adapter.should_recreate_iterator())

    @property
    def skips_rows(self) -> bool:
        return self.kind == "arrays" and not self.shuffles_batches

    @property
    def shuffles_batches(self) -> bool:
        """Whether rows are shuffled in their batches, by ops whose stream cannot be set."""
        inner = getattr(self._adapter, "_internal_adapter", self._adapter)
        return getattr(inner, "_shuffle", False) == "batch"


def _doubt(name: str, arguments: dict[str, Any]) -> str:
    workers = int(arguments.get("workers", 1))
    if name == "DatasetCreatorAdapter":
        return "each worker creates its own input (DatasetCreator)"
    is_pooled = workers > 1 or (workers > 0 and bool(arguments.get("use_multiprocessing")))
    return _WORKERS if is_pooled else ""


class LegacySource:
    """A `DataHandler`, by the names of an `EpochIterator`."""

    def __init__(self, handler: Any, arguments: dict[str, Any]) -> None:
        self.handler = handler
        on_workers = getattr(handler._model, "_cluster_coordinator", None) is not None
        self.data_adapter = LegacyAdapter(handler._adapter, arguments, on_workers=on_workers)
        self.steps_per_epoch = handler._steps_per_epoch

    @property
    def _distributed_dataset(self) -> Any:
        return self.handler._dataset

    def _get_iterator(self) -> Any:
        return self.handler._dataset

    @property
    def _num_batches(self) -> int | None:
        batches: int | None = self.handler._inferred_steps
        return batches

    @_num_batches.setter
    def _num_batches(self, batches: int | None) -> None:
        # What the size of the data says stands; the first epoch tells that of others.
        if self.handler._inferred_steps is None:
            self.handler._inferred_steps = batches

    num_batches = _num_batches

    @property
    def _steps_seen(self) -> int:
        return int(self.handler._current_step)

    @_steps_seen.setter
    def _steps_seen(self, steps: int) -> None:
        self.handler._current_step = steps

    @property
    def steps_per_execution(self) -> int:
        return int(self.handler._step_increment) + 1

    def infer_steps(self) -> None:
        handler = self.handler
        if isinstance(handler._dataset, tf.data.Dataset):
            steps = handler._infer_steps(handler._steps_per_epoch, handler._dataset)
            handler._inferred_steps = handler._inferred_steps if steps is None else steps


def take_place(holder: Any, iterator: Any) -> None:
    """Turns one iterator into another, for everything that holds it."""
    holder.__class__ = type(iterator)
    vars(holder).clear()
    vars(holder).update(vars(iterator))


def placeholder() -> Any:
    return iter(tf.data.Dataset.range(1))
