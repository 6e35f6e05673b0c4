"""What a `tf.function` draws from an iterator that it is given.

Private names of TensorFlow, like those in `private`.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops, iterator_ops
from tensorflow.python.distribute import input_lib, values
from tensorflow.python.framework import config

from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.engine.values.described import digest_of_text
from pitstop.tensorflow.pipelines import pipeline, stage_functions

NEEDED: tuple[tuple[Any, str], ...] = (
    (input_lib.DistributedIteratorBase, "get_next"),
    (input_lib._SingleWorkerDatasetIteratorBase, "get_next_as_list"),
    (input_lib._SingleWorkerDatasetIteratorBase, "get_next_as_optional_list"),
    (iterator_ops.OwnedIterator, "_next_internal"),
    (dataset_ops, "_VariantDataset"),
    (values.PerReplicaSpec, "_value_specs"),
    (config, "is_op_determinism_enabled"),
)
"""The private names that are used here, see `private.check`."""

_KINDS = (iterator_ops.OwnedIterator, input_lib.DistributedIteratorBase)
_UNCERTAIN = (
    "{} may not read the same batches again because it reads them itself ({}); read the batch "
    "outside the function"
)
_UNKNOWN = "its pipeline is not known"
_DISORDER = (
    "the loop reads an input that is not repeatable even without an interruption: {}; remove {}"
)


def is_distributed(value: Any) -> bool:
    """Whether it is an iterator over the input of a strategy."""
    return isinstance(value, input_lib.DistributedIteratorBase)


class _Drawing(threading.local):
    now = False


_drawing = _Drawing()


def is_drawing() -> bool:
    return _drawing.now


_begun: WeakSet[Any] = WeakSet()


def on_draw(notify: Callable[[Any], None], notify_first: Callable[[Any], None]) -> None:
    """`notify` of a draw that is traced, `notify_first` of the first one outside of functions."""
    notify, notify_first = map(observing(spoils=True), (notify, notify_first))

    def draw(original: Original, iterator: Any, /, *args: Any, **kwargs: Any) -> Any:
        if _drawing.now:
            return original(iterator, *args, **kwargs)
        if tf.executing_eagerly():
            if iterator not in _begun:
                _begun.add(iterator)
                notify_first(iterator)
            return original(iterator, *args, **kwargs)
        notify(iterator)
        _drawing.now = True
        try:
            return original(iterator, *args, **kwargs)
        finally:
            _drawing.now = False

    hook(iterator_ops.OwnedIterator, "_next_internal", draw)
    hook(input_lib.DistributedIteratorBase, "get_next", draw)


def drawing_graph(iterator: Any) -> Any:
    """The graph of the function that draws once in each call, in no loop or branch; else None."""
    graph = tf.compat.v1.get_default_graph()
    if not graph.building_function or graph.outer_graph.building_function:
        return None
    captured = {id(inner) for _, inner in graph.captures}
    are_arguments = all(
        # An eager tensor is of an iterator that the function holds by itself.
        getattr(each, "graph", None) is graph
        and each.op.type == "Placeholder"
        and id(each) not in captured
        for each in parts_of(iterator)
    )
    return graph if are_arguments else None


def parts_of(value: Any) -> list[Any]:
    return list(tf.nest.flatten(value, expand_composites=True))


def is_iterator(value: Any) -> bool:
    return isinstance(value, _KINDS)


def spec_of_one_replica(dataset: Any) -> Any:
    """The form of an element; of a distributed dataset, of what its first replica gets of one."""

    def of_first(spec: Any) -> Any:
        return spec._value_specs[0] if isinstance(spec, values.PerReplicaSpec) else spec

    return tf.nest.map_structure(of_first, dataset.element_spec)


def iterator_over(elements: Sequence[Any], iterator: Any) -> Any:
    """An iterator over these elements of another one, at least one, in the same form."""
    one, *more = (
        dataset_ops._VariantDataset(
            tf.data.Dataset.from_tensors(each)._variant_tensor, iterator.element_spec
        )
        for each in elements
    )
    for each in more:
        one = one.concatenate(each)
    return iter(one)


def skip(iterator: Any, elements: int) -> None:
    for _ in range(elements):
        if not isinstance(iterator, _KINDS[1]):
            next(iterator)
            continue
        for each in iterator._iterators:
            if iterator._enable_get_next_as_optional:
                each.get_next_as_optional_list()
            else:
                each.get_next_as_list()


def _once(look: Callable[[Any], str]) -> Callable[[Any], str]:
    """Looks at each dataset once, which is not held."""
    found: WeakKeyDictionary[Any, str] = WeakKeyDictionary()

    def of(dataset: Any) -> str:
        if dataset not in found:
            found[dataset] = look(dataset)
        return found[dataset]

    return of


def contents_of(iterator: Any) -> str:
    return digest_of_text(*map(_contents_of, datasets_of(iterator)))


@_once
def _contents_of(dataset: Any) -> str:
    return digest_of_text(pipeline.pipeline_of(dataset), *pipeline.contents_of(dataset))


def datasets_of(iterator: Any) -> list[Any]:
    """The pipelines that it reads, one for each device; none where they are not known."""
    found = getattr(iterator, "_iterators", [iterator])
    return [each._dataset for each in found if getattr(each, "_dataset", None) is not None]


def doubt_of(iterator: Any, name: str) -> str:
    """Why a repetition may draw others, empty where it draws the same; `name`: of the function."""
    problems = [*map(_problem_of, datasets_of(iterator))] or [_UNKNOWN]
    problem = next(filter(None, problems), "")
    return _UNCERTAIN.format(name, problem) if problem else ""


def disorder_of(iterator: Any) -> str:
    """Why other elements come in each reading; empty where they are the same."""
    return next(filter(None, map(_disorder_of, datasets_of(iterator))), "")


@_once
def _disorder_of(dataset: Any) -> str:
    if pipeline.leaves_order_open(dataset):
        return _DISORDER.format("a parallel stage may reorder it", "deterministic=False")
    if config.is_op_determinism_enabled():
        return ""
    for each in stage_functions.stateful_stages(dataset):
        changing = sorted(each.random_ops | (each.ops & stage_functions.VARIABLE_WRITES))
        if each.is_parallel and changing:
            told = f"its {each.name} runs {changing[0]} in the order in which elements are finished"
            return _DISORDER.format(told, "num_parallel_calls, or use tf.random.stateless_*")
    return ""


@_once
def _problem_of(dataset: Any) -> str:
    known = "" if pipeline.is_known(dataset) else _UNKNOWN
    order = "" if pipeline.is_deterministic(dataset) else "a parallel stage may reorder it"
    stages = (each.name for each in stage_functions.stateful_stages(dataset))
    state = (f"its {name} keeps state or draws random numbers" for name in stages)
    return next(state, known or order)
