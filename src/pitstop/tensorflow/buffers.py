"""The buffers of a `tf.data` pipeline, and how they hold less in the same order."""

import inspect
from collections.abc import Iterator
from typing import Any

from tensorflow.python.data.ops import batch_op, cache_op, interleave_op, map_op, prefetch_op

from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.tensorflow import pipeline, stages

_BUFFERS = (
    (prefetch_op, "_PrefetchDataset", "buffer_size"),
    (map_op, "_ParallelMapDataset", "num_parallel_calls"),
    (batch_op, "_ParallelBatchDataset", "num_parallel_calls"),
    (interleave_op, "_ParallelInterleaveDataset", "num_parallel_calls"),
)
_REDUCED = "_pitstop_reduced"


def large_buffers(dataset: Any) -> Iterator[str]:
    for stage in stages.every_stage(dataset):
        if _keeps_what_is_read_again(stage):
            yield "cache()"
        for _, kind, name in _BUFFERS:
            held: Any = getattr(stage, f"_{name}", None)
            if type(stage).__name__ == kind and (count := int(held)) != 1:
                call = kind.removeprefix("_Parallel").removeprefix("_").removesuffix("Dataset")
                yield f"{call.lower()}({name}={'AUTOTUNE' if count < 0 else count})"


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
