"""What a `tf.data` pipeline holds in memory, and the same pipeline with less of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from tensorflow.python.data.ops import batch_op, cache_op, interleave_op, map_op, prefetch_op

from pitstop.engine.fence import observing
from pitstop.tensorflow import pipeline

_AHEAD = (
    (prefetch_op, "_PrefetchDataset", "buffer_size"),
    (map_op, "_ParallelMapDataset", "num_parallel_calls"),
    (batch_op, "_ParallelBatchDataset", "num_parallel_calls"),
    (interleave_op, "_ParallelInterleaveDataset", "num_parallel_calls"),
)
_REDUCED = "_pitstop_reduced"


def large_buffers(dataset: Any) -> Iterator[str]:
    for stage in pipeline.every_stage(dataset):
        if _keeps_what_is_read_again(stage):
            yield "cache()"
        for _, kind, name in _AHEAD:
            held: Any = getattr(stage, f"_{name}", None)
            if type(stage).__name__ == kind and (count := int(held)) != 1:
                call = kind.removeprefix("_Parallel").removeprefix("_").removesuffix("Dataset")
                yield f"{call.lower()}({name}={'AUTOTUNE' if count < 0 else count})"


def is_reduced(dataset: Any) -> bool:
    return any(hasattr(stage, _REDUCED) for stage in pipeline.every_stage(dataset))


@observing()
def reduce() -> None:
    for module, kind, name in _AHEAD:
        _read_less_ahead(getattr(module, kind), name)
    _read_again(cache_op.CacheDataset)


def _read_less_ahead(kind: Any, name: str) -> None:
    original = kind.__init__
    signature = inspect.signature(original)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        if bound.arguments[name] != 1:
            bound.arguments[name] = 1
            setattr(self, _REDUCED, name)
        original(*bound.args, **bound.kwargs)

    kind.__init__ = __init__


def _read_again(kind: Any) -> None:
    original = kind.__init__

    def __init__(self: Any, input_dataset: Any, *args: Any, **kwargs: Any) -> None:
        original(self, input_dataset, *args, **kwargs)
        if _keeps_what_is_read_again(self):
            super(kind, self).__init__(input_dataset, input_dataset.skip(0)._variant_tensor)
            setattr(self, _REDUCED, "cache")

    kind.__init__ = __init__


def _keeps_what_is_read_again(stage: Any) -> bool:
    is_cache = isinstance(stage, cache_op.CacheDataset) and not hasattr(stage, _REDUCED)
    return is_cache and all(
        pipeline.reads_again(each) and not pipeline.file_cache_of(stage) for each in stage._inputs()
    )
