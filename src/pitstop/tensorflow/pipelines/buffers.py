"""The buffers of a `tf.data` pipeline, and how they hold less in the same order."""

import inspect
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import batch_op, cache_op, interleave_op, map_op, prefetch_op

from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.tensorflow.pipelines import pipeline, stages

_BUFFERS = (
    (prefetch_op, "_PrefetchDataset", "buffer_size"),
    (map_op, "_ParallelMapDataset", "num_parallel_calls"),
    (batch_op, "_ParallelBatchDataset", "num_parallel_calls"),
    (interleave_op, "_ParallelInterleaveDataset", "num_parallel_calls"),
)
_REDUCED = "_pitstop_reduced"
_SHUFFLED = "_reshuffle_each_iteration"


def large_buffers(dataset: Any) -> Iterator[str]:
    for stage in stages.every_stage(dataset):
        if _keeps_what_is_read_again(stage):
            yield "cache()"
        for _, kind, name in _BUFFERS:
            held: Any = getattr(stage, f"_{name}", None)
            if type(stage).__name__ == kind and (count := int(held)) != 1:
                call = kind.removeprefix("_Parallel").removeprefix("_").removesuffix("Dataset")
                yield f"{call.lower()}({name}={'AUTOTUNE' if count < 0 else count})"


def shuffle_bytes(dataset: Any) -> int:
    """The least that the largest buffer of a `shuffle()` takes, once it is full; 0 if unknown."""
    shuffles = (stage for stage in stages.every_stage(dataset) if hasattr(stage, _SHUFFLED))
    return max(map(_bytes_of_full, shuffles), default=0)


def _bytes_of_full(shuffle: Any) -> int:
    (read,) = shuffle._inputs()
    specs = tf.nest.flatten(read.element_spec)
    each_bytes = sum(_least_bytes(spec) for spec in specs)
    count, there = int(shuffle._buffer_size), int(read.cardinality())
    return each_bytes * (min(count, there) if there >= 0 else count)


def _least_bytes(spec: Any) -> int:
    is_known = isinstance(spec, tf.TensorSpec) and spec.shape.is_fully_defined()
    return spec.shape.num_elements() * spec.dtype.size if is_known else 0


def is_reduced(dataset: Any) -> bool:
    return any(hasattr(stage, _REDUCED) for stage in stages.every_stage(dataset))


@observing()
def reduce() -> None:
    for module, kind, name in _BUFFERS:
        _read_less_ahead(getattr(module, kind), name)
    hook(cache_op.CacheDataset, "__init__", _make_cache)


def _read_less_ahead(kind: Any, name: str) -> None:
    signature = inspect.signature(kind.__init__)

    def make(original: Original, stage: Any, /, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(stage, *args, **kwargs)
        if bound.arguments[name] != 1:
            bound.arguments[name] = 1
            setattr(stage, _REDUCED, name)
        original(*bound.args, **bound.kwargs)

    hook(kind, "__init__", make)


def _make_cache(
    original: Original, stage: Any, /, input_dataset: Any, *args: Any, **kwargs: Any
) -> None:
    original(stage, input_dataset, *args, **kwargs)
    if _keeps_what_is_read_again(stage):
        read_again = input_dataset.skip(0)._variant_tensor
        super(cache_op.CacheDataset, stage).__init__(input_dataset, read_again)
        setattr(stage, _REDUCED, "cache")


def _keeps_what_is_read_again(stage: Any) -> bool:
    is_cache = isinstance(stage, cache_op.CacheDataset) and not hasattr(stage, _REDUCED)
    return is_cache and all(
        pipeline.reads_again(each) and not pipeline.file_cache_of(stage) for each in stage._inputs()
    )
