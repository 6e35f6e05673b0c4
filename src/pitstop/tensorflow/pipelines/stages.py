"""The stages of a `tf.data` pipeline, and their functions."""

import inspect
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

from tensorflow.python.data.ops import dataset_ops, interleave_op

from pitstop.engine.fence import fenced
from pitstop.engine.hooking import Original, hook

_datasets: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Datasets of this process, by the identity of their tensor: all that a function captures."""


def watch() -> None:
    """Has known what datasets themselves do not keep; those made before tell less."""
    _watch_orders()

    def make(original: Original, dataset: Any, variant_tensor: Any) -> None:
        original(dataset, variant_tensor)
        _datasets[id(variant_tensor)] = dataset

    hook(dataset_ops.DatasetV2, "__init__", make)


def _watch_orders() -> None:
    """Has an interleave keep, as other stages do, whether its order is left open."""
    kind = interleave_op._ParallelInterleaveDataset
    signature = inspect.signature(kind.__init__)
    words = {None: "default", True: "true", False: "false"}

    def make(original: Original, stage: Any, /, *args: Any, **kwargs: Any) -> None:
        original(stage, *args, **kwargs)
        with fenced(spoils=True):
            asked = signature.bind(stage, *args, **kwargs).arguments.get("deterministic")
            stage._deterministic = words[asked]

    hook(kind, "__init__", make)


def every_stage(dataset: Any) -> Iterator[Any]:
    """Also of datasets from elsewhere that a function of the pipeline uses."""
    if hasattr(dataset, "_inputs"):
        yield dataset
        for each in before(dataset):
            yield from every_stage(each)


def before(stage: Any) -> list[Any]:
    """The stages that one reads from; none of what is no stage."""
    return [*stage._inputs(), *captured(stage)] if hasattr(stage, "_inputs") else []


def captured(stage: Any) -> Iterator[Any]:
    """Datasets from elsewhere that the functions of a stage use."""
    for _, function in functions_of(stage):
        for held in function.captured_inputs:
            dataset = _datasets.get(id(held))
            if dataset is not None:
                yield dataset


def all_captured(dataset: Any) -> Iterator[Any]:
    return (each for stage in every_stage(dataset) for each in captured(stage))


def functions(dataset: Any) -> Iterator[tuple[Any, Any]]:
    for stage in every_stage(dataset):
        yield from functions_of(stage)


def functions_of(stage: Any) -> Iterator[tuple[Any, Any]]:
    for value in list(vars(stage).values()):
        function = getattr(value, "function", None)
        if hasattr(function, "captured_inputs"):
            yield stage, function
