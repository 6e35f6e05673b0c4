"""What can be told of a `tf.data` pipeline before it is read: its order, seeds and content."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.snapshot_pb2 import SnapshotMetadataRecord

from pitstop.engine.values.described import digest_of
from pitstop.tensorflow.pipelines.stage_functions import graph_facts, stateful_stages, variables_of
from pitstop.tensorflow.pipelines.stages import all_captured, before, every_stage, functions
from pitstop.tensorflow.strategies import is_mirrored


def of_one_device(dataset: Any) -> Any:
    dealt_out = getattr(dataset, "_original_dataset", None)
    if dealt_out is None:
        dealt_out = next(iter(getattr(dataset, "_datasets", ())), None)
    return dataset if hasattr(dataset, "_inputs") or dealt_out is None else dealt_out


def is_repeatable(dataset: Any) -> bool:
    """Whether an input is read by this process alone, or dealt out to devices in a fixed way."""
    strategy = getattr(dataset, "_strategy", None)
    is_dealt_out = isinstance(of_one_device(dataset), tf.data.Dataset)
    return isinstance(dataset, tf.data.Dataset) or (is_dealt_out and is_mirrored(strategy))


def is_deterministic(dataset: Any) -> bool:
    """Whether a pipeline that can be saved gives the same elements again, by its options."""
    policy = dataset.options().experimental_external_state_policy
    return policy is None and not leaves_order_open(dataset)


def file_cache_of(dataset: Any) -> str:
    return next(filter(None, map(_file_of, every_stage(dataset))), "")


class KeptStage(NamedTuple):
    """A stage that keeps its elements in files.

    `complete`: the file that tells that all are there, else empty; `is_hidden`: what comes before
    the stage is not read, because it or a stage after it is complete.
    """

    name: str
    complete: str
    inputs: list[Any]
    is_hidden: bool


def kept_stages(stage: Any, *, is_hidden: bool = False) -> Iterator[KeptStage]:
    """Those of a pipeline, from its end."""
    if name := _file_of(stage):
        complete = _complete(stage, name)
        is_hidden = is_hidden or bool(complete)
        yield KeptStage(name, complete, list(stage._inputs()), is_hidden)
    for each in before(stage):
        yield from kept_stages(each, is_hidden=is_hidden)


def read_beside(stage: Any, file: str) -> Iterator[Any]:
    """The stages of a pipeline that are not behind this file."""
    if hasattr(stage, "_inputs"):
        yield stage
    for each in before(stage) if _file_of(stage) != file else ():
        yield from read_beside(each, file)


def _file_of(stage: Any) -> str:
    if hasattr(stage, "_filename"):
        return bytes(stage._filename.numpy()).decode()
    return str(stage._path) if hasattr(stage, "_shard_func") else ""


def _complete(stage: Any, name: str) -> str:
    if hasattr(stage, "_filename"):
        return f"{name}.index" if tf.io.gfile.exists(f"{name}.index") else ""
    for each in tf.io.gfile.glob(f"{name}/*/snapshot.metadata"):
        record = tf.io.gfile.GFile(each, "rb").read()
        if SnapshotMetadataRecord.FromString(record).finalized:
            return str(each)
    return ""


def has_state(dataset: Any) -> bool:
    """Whether functions of a pipeline may have state, other than a place in files or tables."""
    stages = stateful_stages(dataset)
    plain = all(each.ops <= _REPEATABLE and not each.random_ops for each in stages)
    return not plain or bool(variables_of(dataset))


_SOURCE_NAMES = """
_FixedLengthRecordDataset _RangeDataset _TensorDataset _TensorSliceDataset _TextLineDataset
_TFRecordDataset"""
_SOURCES = frozenset(_SOURCE_NAMES.split())
"""Stages that give the same elements to each reader, in one order."""


def is_known(dataset: Any) -> bool:
    """Whether all that a pipeline reads from is seen, and gives the same to each reader."""
    sources = [each for each in every_stage(dataset) if not each._inputs()]
    known = all(type(each).__name__ in _SOURCES for each in sources)
    return bool(sources) and known and not file_cache_of(dataset)


_READERS = frozenset(
    {"TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset", "CSVDataset", "CSVDatasetV2"}
)


def reads_again(dataset: Any) -> bool:
    """Whether each reading of a pipeline surely gives the same elements in the same order."""
    held = (each for _, function in functions(dataset) for each in function.captured_inputs)
    same = not draws(dataset) and is_known(dataset) and is_deterministic(dataset)
    reading = all(stage.ops <= _READERS for stage in stateful_stages(dataset))
    return same and reading and not any(each.dtype == tf.resource for each in held)


def draws(dataset: Any) -> bool:
    """Whether a pipeline itself draws anew in each reading: an order, or random numbers."""
    drawing = any(stage.random_ops for stage in stateful_stages(dataset))
    return drawing or any(map(is_drawn, every_stage(dataset)))


def is_drawn(stage: Any) -> bool:
    is_shuffle = getattr(stage, "_reshuffle_each_iteration", False) is not False
    return is_shuffle or bool(getattr(stage, "_rerandomize", None))


def cached_in_memory(dataset: Any) -> Iterator[Any]:
    for stage in _stages(dataset, "_filename"):
        if not stage._filename.numpy():
            yield from stage._inputs()


def repeats_a_shuffle(dataset: Any) -> bool:
    """Whether nobody knows how often a shuffle begins while the pipeline is read once."""
    at_will = any(map(draws, all_captured(dataset)))
    return at_will or any(_reseeded(dataset, in_parts=True, is_ahead=True, is_repeated=False))


def late_shuffles(
    stage: Any, *, is_behind: bool = False, is_later: bool = False
) -> Iterator[tuple[Any, bool]]:
    """Stages that draw anew later than an iterator over the whole pipeline is created.

    They do so when a shuffle before their reader fills its buffer; or (true) when a concatenation
    comes to them.
    """
    if hasattr(stage, "_filename"):
        return  # A cache is filled once.
    if (is_behind or is_later) and is_drawn(stage):
        yield stage, is_later
    is_behind = is_behind or hasattr(stage, "_reshuffle_each_iteration")
    is_sequence = type(stage).__name__ == "_ConcatenateDataset"
    for place, each in enumerate(getattr(stage, "_inputs", tuple)()):
        is_next = is_later or (is_sequence and place > 0)
        yield from late_shuffles(each, is_behind=is_behind, is_later=is_next)


def leaves_order_open(dataset: Any) -> bool:
    stages = [stage._deterministic for stage in _stages(dataset, "_deterministic")]
    if "false" in stages or ("default" in stages and dataset.options().deterministic is False):
        return True
    # Of datasets that a function of the pipeline makes.
    return any(graph_facts(function.graph).in_any_order for _, function in functions(dataset))


def _stages(dataset: Any, attribute: str) -> Iterator[Any]:
    return (stage for stage in every_stage(dataset) if hasattr(stage, attribute))


def share_a_shuffle(one: Any, other: Any) -> bool:
    """Whether both read from one that draws another order for each reader."""
    known = {id(stage) for stage in _stages(one, "_reshuffle_each_iteration") if is_drawn(stage)}
    return any(id(stage) in known for stage in every_stage(other))


def shuffles_read_ahead(dataset: Any, *, in_parts: bool) -> list[Any]:
    """The stages that draw another seed in each repetition, ahead of their reader."""
    if not hasattr(dataset, "_inputs"):
        return []
    injected = dataset.options().experimental_optimization.inject_prefetch is not False
    return list(_reseeded(dataset, in_parts, is_ahead=injected, is_repeated=False))


_REPEATABLE = _READERS | {"LookupTableFindV2", "LookupTableSizeV2", "ReadFile"}


def fills_alike(dataset: Any) -> bool:
    """Whether a cache that keeps an order gets the same from the first reading in any process."""
    if not (isinstance(dataset, tf.data.Dataset) and keeps_an_order(dataset)):
        return False
    seeded = all(map(any, seeds_of(dataset))) and is_known(dataset) and is_deterministic(dataset)
    return seeded and not has_state(dataset)


def seeds_of(dataset: Any) -> list[list[int]]:
    shuffles = _stages(dataset, "_reshuffle_each_iteration")
    return [[int(stage._seed), int(stage._seed2)] for stage in shuffles]


def keeps_an_order(dataset: Any) -> bool:
    """Whether a cache in memory keeps what a shuffle gave, with no shuffle after it."""
    if not hasattr(dataset, "_inputs") or hasattr(dataset, "_reshuffle_each_iteration"):
        return False
    if hasattr(dataset, "_filename"):
        return any(_stages(dataset, "_reshuffle_each_iteration"))
    return any(map(keeps_an_order, dataset._inputs()))


def captures_an_order(dataset: Any) -> bool:
    """Whether a dataset that a function captures has such a cache."""
    held = all_captured(dataset)
    return any(draws(read) for each in held for read in cached_in_memory(each))


_AHEAD = ("Prefetch", "Parallel", "Map")
"""In the names of stages that run in threads; TensorFlow makes a map parallel by itself."""


def _reseeded(stage: Any, in_parts: bool, *, is_ahead: bool, is_repeated: bool) -> Iterator[Any]:
    name = type(stage).__name__
    if name == "_RepeatDataset" and is_ahead:
        count = int(stage._count)
        is_repeated = is_repeated or count < 0 or (in_parts and count > 1)
    if is_repeated and is_drawn(stage):
        yield stage
    is_ahead = is_ahead or any(word in name for word in _AHEAD)
    for each in getattr(stage, "_inputs", tuple)():
        yield from _reseeded(each, in_parts, is_ahead=is_ahead, is_repeated=is_repeated)


def read_further(stage: Any, *, is_partly_read: bool) -> Iterator[Any]:
    """The parts of a pipeline that threads may read further than its reader, or a `take`, uses."""
    name = type(stage).__name__
    inputs: Iterable[Any] = getattr(stage, "_inputs", tuple)()
    if is_partly_read and any(word in name for word in _AHEAD):
        yield from [stage] if "Parallel" in name else inputs
        return
    for each in inputs:
        yield from read_further(each, is_partly_read=is_partly_read or name == "_TakeDataset")


def source_tensors(dataset: Any) -> list[Any]:
    held = (each for stage in every_stage(dataset) for each in getattr(stage, "_tensors", ()))
    return [readable(each) for each in held if hasattr(each, "numpy")]


def readable(tensor: Any) -> Any:
    """A tensor that NumPy can read: of a ragged or a sparse one, its bytes; else its kind."""
    if tensor.dtype != tf.variant:
        return tensor
    return np.frombuffer(tf.io.serialize_tensor(tensor).numpy(), np.uint8)


_STAGE_NUMBERS = ("_buffer_size", "_batch_size", "_count")


def pipeline_of(dataset: Any) -> str:
    """The stages in their order: "TensorSlice > Shuffle 100 > Batch 32"; empty for others."""
    inputs = getattr(dataset, "_inputs", None)
    if inputs is None:
        return ""
    before = [pipeline_of(each) for each in inputs()]
    name = type(dataset).__name__.strip("_").removesuffix("Dataset")
    # How far a prefetch reads ahead is no part of an iterator's position.
    told = () if name == "Prefetch" else _STAGE_NUMBERS
    numbers = (getattr(dataset, each, None) for each in told)
    stage = " ".join([name, *(str(int(number)) for number in numbers if number is not None)])
    sources = f"({', '.join(before)})" if len(before) > 1 else "".join(before)
    return f"{sources} > {stage}" if sources else stage


def contents_of(dataset: Any) -> Iterator[str]:
    for stage in every_stage(dataset):
        yield type(stage).__name__
        for tensor in tf.nest.flatten(getattr(stage, "_tensors", ())):
            if hasattr(tensor, "numpy"):
                yield digest_of(np.asarray(readable(tensor)))
    for _, function in functions(dataset):
        # Names of functions contain a number that counts over the whole process.
        definition = function.graph.as_graph_def()
        yield " ".join(f"{node.op}{sorted(_plain_attributes(node))}" for node in definition.node)
        for held in function.captured_inputs:
            if held.dtype not in (tf.resource, tf.variant) and hasattr(held, "numpy"):
                yield digest_of(np.asarray(held.numpy()))


def _plain_attributes(node: Any) -> Iterator[str]:
    for name, value in node.attr.items():
        if not name.startswith("_") and value.WhichOneof("value") not in ("func", "list"):
            yield f"{name}={value.SerializeToString(deterministic=True).hex()}"
