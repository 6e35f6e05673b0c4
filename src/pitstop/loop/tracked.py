"""The objects that a custom loop names, each saved and restored in place."""

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.randomness import script_random
from pitstop.engine.snapshots.state_capture import HeldTensor
from pitstop.engine.snapshots.weights_file import WeightsUnusable
from pitstop.engine.values.python_state import Encoder, NotPortable, decode
from pitstop.errors import ResumeRefused, UserError
from pitstop.tensorflow import private
from pitstop.tensorflow.pipelines import drawn_inputs, pipeline, stage_functions
from pitstop.tensorflow.variables.naming import path_of, value_of
from pitstop.tensorflow.variables.stored_values import StoredValue

_DOUBT = (
    "the graph of {name!r} draws from hidden random streams ({ops}), which cannot be restored; "
    "use tf.random.stateless_* ops with a seed from a variable or the step number"
)

Named = Mapping[str, Any]  # the objects of a loop, by the names that the script gives them


class GraphSession:
    """Saves what the global variables of a session's graph hold."""

    def __init__(self, name: str, session: Any) -> None:
        self._name = name
        self._session = session
        self._operations = 0
        self._hidden: list[str] = []

    @property
    def doubt(self) -> str:
        count = len(self._session.graph.get_operations())
        if count != self._operations:
            self._operations = count
            initializers = [each.initializer for each in self._variables().values()]
            self._hidden = private.hidden_random_ops(self._session.graph, initializers)
        return _DOUBT.format(name=self._name, ops=", ".join(self._hidden)) if self._hidden else ""

    def capture(self, encoder: Encoder) -> tuple[Any, list[HeldTensor]]:
        values = self._session.run(self._variables())
        return encoder.encode({name: np.asarray(value) for name, value in values.items()}), []

    def restore(self, saved: Any, tensors: Mapping[str, memoryview]) -> None:
        """Assigns the variables; raises `ResumeRefused` where the graph has others than it had."""
        values = decode(saved, tensors)
        if changed := sorted(values.keys() ^ self._variables().keys()):
            raise ResumeRefused(
                f"The graph of {self._name!r} changed: {', '.join(changed)}.",
                "Undo the change, or start over in another run folder.",
            )
        self._assign(values)

    def begin_with(self, path: Path, values: Mapping[str, StoredValue]) -> int:
        """Assigns a v1 Saver's values, and counts them; raises `WeightsUnusable`."""
        variables = self._variables().items()
        found = {name: _value_for(each, path, values) for name, each in variables}
        self._assign(found)
        return len(found)

    def _assign(self, values: Mapping[str, Any]) -> None:
        variables = self._variables()
        # An initializer is an assignment whose value can be fed.
        initializers = [each.initializer for each in variables.values()]
        feed = {
            each.initializer.inputs[1]: values[name].astype(each.dtype.base_dtype.as_numpy_dtype)
            for name, each in variables.items()
        }
        self._session.run(initializers, feed)

    def _variables(self) -> dict[str, Any]:
        with self._session.graph.as_default():
            return {each.name: each for each in tf.compat.v1.global_variables()}


def _value_for(variable: Any, path: Path, values: Mapping[str, StoredValue]) -> Any:
    name = path_of(variable)
    value = values.get(name)
    if value is None or not variable.shape.is_compatible_with(value.shape):
        found = f"{value.form} in it" if value is not None else "not in it"
        raise WeightsUnusable(
            f"{path} does not fit the graph: {name} is {variable.shape.as_list()}, but {found}.",
            "Give weights of this graph with --from, or start without --from.",
        )
    return value.read()


_LISTS_OF_VARIABLES = ("variables", "metrics_variables")


class CannotTrack(UserError):
    """An object whose state can be neither read nor set in place."""


def leaves_of(values: Named) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping | list | tuple):
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
            yield from leaves_of({f"{name}/{key}": each for key, each in pairs})
        else:
            yield name, value


def variables_of(objects: Named) -> Iterator[tuple[str, Any]]:
    """The variables of objects with readable paths: of a model, its optimizer's too."""
    for name, each in leaves_of(objects):
        yield from _variables_at(name, each)


def _variables_at(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tf.Variable):
        yield name, value
        return
    for attribute in _LISTS_OF_VARIABLES:
        listed = getattr(value, attribute, None)
        for each in listed if isinstance(listed, list | tuple) else ():
            yield f"{name}/{path_of(each)}", value_of(each)
    optimizer = getattr(value, "optimizer", None)
    if optimizer is not None:
        yield from _variables_at(f"{name}/optimizer", optimizer)
    if isinstance(value, tf.random.Generator):
        yield f"{name}/state", value.state


def _holds_variables(value: Any) -> bool:
    if isinstance(value, tf.Variable | tf.Module | tf.random.Generator):
        return True
    if isinstance(value, list | tuple | dict):
        items = value.values() if isinstance(value, dict) else value
        return bool(value) and all(map(_holds_variables, items))
    # Keras' models, layers, metrics and optimizers, also before they are built.
    return isinstance(getattr(value, "variables", None), list | tuple)


_HAS_STATE = (
    "the position of {!r} cannot be saved: its pipeline contains Python code or random ops with "
    "hidden counters; read the batches in Python, from an object with state_dict() and "
    "load_state_dict()"
)
_OPEN_ORDER = "a parallel stage of {!r} may change the order of its elements"


class DataIterator:
    """An iterator over a `tf.data` pipeline, saved with its buffers."""

    def __init__(self, name: str, value: Any) -> None:
        self._name = name
        self._iterator = value
        self._tensor = f"objects/{name}"
        datasets = drawn_inputs.datasets_of(value)
        is_open = any(map(pipeline.leaves_order_open, datasets))
        self.doubt = _OPEN_ORDER.format(name) if is_open else ""
        self._is_refused = not all(map(stage_functions.is_saved, datasets))
        if self._is_refused:
            self.doubt = _HAS_STATE.format(name)

    def capture(self, encoder: Encoder) -> tuple[Any, list[HeldTensor]]:
        """Its position; none where a function of the pipeline has state."""
        if not self._is_refused:
            try:
                data = private.serialize_iterator(self._iterator)
                return None, [HeldTensor.of_bytes(self._tensor, data)]
            except tf.errors.UnimplementedError as error:
                self._is_refused = True
                self.doubt = f"{_HAS_STATE.format(self._name)} ({error.message})"
        return None, []

    def restore(self, saved: Any, tensors: Mapping[str, memoryview]) -> None:
        if self._tensor in tensors:
            private.restore_iterator(self._iterator, bytes(tensors[self._tensor]))


class PortableValue:
    """An object whose whole state is one portable value: read by one call, set by another."""

    def __init__(self, name: str, read: Callable[[], Any], write: Callable[[Any], Any]) -> None:
        self.doubt = ""
        self._name = name
        self._read = read
        self._write = write

    def capture(self, encoder: Encoder) -> tuple[Any, list[HeldTensor]]:
        """Its state; `CannotTrack` where that holds something that only pickle could carry."""
        try:
            return encoder.encode(self._read()), []
        except NotPortable as problem:
            raise CannotTrack(
                f"The state of {self._name!r} cannot be saved: {problem}.",
                "It must consist of numbers, strings, arrays, and lists and dicts of them.",
            ) from None

    def restore(self, saved: Any, tensors: Mapping[str, memoryview]) -> None:
        self._write(decode(saved, tensors))


Tracked = GraphSession | DataIterator | PortableValue
"""One named object of the script; its `doubt` says why a resume cannot restore it exactly."""


def track(name: str, value: Any) -> Tracked:
    """How the object that was given under this keyword is saved; raises `CannotTrack`."""
    for fits, kind in _KINDS:
        if fits(value):
            return kind(name, value)
    if drawn_inputs.is_distributed(value):
        raise CannotTrack(
            f"pitstop.start cannot save {name!r}: TensorFlow can neither read nor set the position "
            f"of a {type(value).__name__}.",
            "Give it iter(dataset) over the rows of this process, and strategy.run the batch "
            "(examples/cluster_ray.py); or omit pitstop.start: `pitstop run` records such loops.",
        )
    raise CannotTrack(
        f"pitstop.start cannot save {name!r}: a {type(value).__name__} cannot be changed in place.",
        "Keep the value in a dict, a list, an array or a tf.Variable, or give the object "
        "state_dict() and load_state_dict().",
    )


def _variables(name: str, _: Any) -> PortableValue:
    """Of a variable, a module, a model, an optimizer, a metric: the registry has their values."""
    return PortableValue(name, lambda: None, lambda _: None)


def _stream(name: str, value: Any) -> PortableValue:
    return PortableValue(
        name,
        lambda: script_random.state_of(value),
        lambda state: script_random.set_state(value, state),
    )


def _array(name: str, value: np.ndarray[Any, Any]) -> PortableValue:
    def write(saved: np.ndarray[Any, Any]) -> None:
        value[...] = saved

    return PortableValue(name, lambda: value, write)


def _content(name: str, value: Any) -> PortableValue:
    is_dict = isinstance(value, dict)

    def write(saved: Any) -> None:
        value.clear()
        (value.update if is_dict else value.extend)(saved)

    return PortableValue(name, lambda: value if is_dict else list(value), write)


def _has(*methods: str) -> Callable[[Any], bool]:
    return lambda value: all(callable(getattr(value, each, None)) for each in methods)


# The first that fits; objects with state methods of their own come first.  A variable is not asked
# for them: one of several workers would make them all add up its value.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[str, Any], Tracked]], ...] = (
    (lambda value: isinstance(value, tf.Variable), _variables),
    (private.is_serializable, DataIterator),
    (lambda value: isinstance(value, tf.compat.v1.Session), GraphSession),
    (lambda value: isinstance(value, (*script_random.KINDS, random.Random)), _stream),
    (
        _has("state_dict", "load_state_dict"),
        lambda name, value: PortableValue(name, value.state_dict, value.load_state_dict),
    ),
    (_holds_variables, _variables),
    (
        _has("get_state", "set_state"),
        lambda name, value: PortableValue(name, value.get_state, value.set_state),
    ),
    (lambda value: isinstance(value, dict), _content),
    (_has("clear", "extend", "__iter__"), _content),
    (lambda value: isinstance(value, np.ndarray), _array),
)
