"""The calls of a script that are recorded: of a `tf.function`, or of a method of a Keras model."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.replay import values
from pitstop.replay.values import Form
from pitstop.tensorflow import private
from pitstop.tensorflow.pipelines import drawn_inputs
from pitstop.tensorflow.variables.naming import value_of


@dataclass(frozen=True)
class Call:
    """One call that the script makes; a class for most kinds of what is called.

    `owner` is the object that is called, or whose `method` is; `run` makes the call.
    """

    owner: Any
    run: Callable[[], Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    method: str = ""

    @property
    def name(self) -> str:
        return self.method

    @property
    def feeds_itself(self) -> bool:
        """Whether it takes a whole input, and draws from it in its graph."""
        return False

    def functions(self) -> list[Any]:
        """The `tf.function`s that run."""
        return []

    def traces(self) -> int:
        return sum(map(private.traces, self.functions()))

    def trains(self) -> bool:
        return False

    def variables(self) -> list[Any]:
        return []

    def is_eager(self) -> bool:
        """Whether it runs Python code of the script each time."""
        return False

    def flatten(self, result: Any) -> tuple[Form, bytes]:
        """What is recorded of its result, see `values`; or `NotRecordable` is raised."""
        return values.flatten(result)

    def build(self, form: Form, data: memoryview) -> Any:
        return values.build(form, data)

    def signature(self, number: int) -> tuple[str, int]:
        """It in words, and the checksum of its arguments, as of this number in its loop."""
        words = in_words(self.name, self.args, self.kwargs)
        return words, checksum(self.args, self.kwargs, number)

    def iterators(self) -> list[Any]:
        given = tf.nest.flatten((*self.args, *self.kwargs.values()))
        return [each for each in given if drawn_inputs.is_iterator(each)]

    def advances_input(self) -> bool:
        if not self.feeds_itself:
            return False
        return not all(map(_is_plain, (*self.args, *self.kwargs.values())))


@dataclass(frozen=True)
class FunctionCall(Call):
    """A call of a `tf.function`."""

    @property
    def name(self) -> str:
        return private.function_name(self.owner)

    def functions(self) -> list[Any]:
        return [self.owner]

    def trains(self) -> bool:
        return private.trains(self.owner)

    def variables(self) -> list[Any]:
        held = (each for graph in private.graphs(self.owner) for each in graph.variables)
        given = tf.nest.flatten((list(self.args), dict(self.kwargs)))
        passed = [each for each in given if isinstance(each, tf.Variable)]
        return list({id(variable): variable for variable in (*held, *passed)}.values())


METHODS = {
    "train_on_batch": "train_function",
    "test_on_batch": "test_function",
    "predict_on_batch": "predict_function",
    "evaluate": "test_function",
    "predict": "predict_function",
}
"""Those of a Keras model, each with the attribute that holds the function it calls."""


@dataclass(frozen=True)
class MethodCall(Call):
    """A call of one of `METHODS`."""

    @property
    def feeds_itself(self) -> bool:
        return not self.method.endswith("_on_batch")

    def functions(self) -> list[Any]:
        return private.functions_behind(getattr(self.owner, METHODS[self.method], None))

    def trains(self) -> bool:
        return self.method == "train_on_batch"

    def variables(self) -> list[Any]:
        owners = (self.owner, getattr(self.owner, "optimizer", None))
        listed = [owner.variables for owner in owners if owner]
        # An old optimizer of Keras 2 has a method of that name.
        lists = [each() if callable(each) else each for each in listed]
        return [value_of(each) for variables in lists for each in variables]

    def is_eager(self) -> bool:
        return bool(self.owner.run_eagerly)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    known = isinstance(value, np.ndarray | float | int | str | None)
    return known or private.is_eager_tensor(value)


_WHOLE_CALLS = 16
_WHOLE_BYTES = 64 << 20
_SAMPLE_VALUES = 1024

_PLAIN = bool | int | float | str | bytes
_known_words: dict[tuple[Any, ...], str] = {}
"""For every signature seen, so that each is put together once."""


def in_words(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call in words: "train_step(float32[32, 8], int64[32])"."""
    key = (name, *map(_key, args), *((word, _key(kwargs[word])) for word in kwargs))
    words = _known_words.get(key)
    if words is None:
        parts = [*map(_words, args), *(f"{word}={_words(kwargs[word])}" for word in kwargs)]
        words = _known_words[key] = f"{name}({', '.join(parts)})"
    return words


def checksum(args: Sequence[Any], kwargs: Mapping[str, Any], number: int) -> int:
    """CRC-32 of the arguments: whole in the first calls, then of other values each time."""
    crc = 0
    for leaf in _leaves((*args, *kwargs.values())):
        crc = zlib.crc32(_sample(leaf, number), crc)
    return crc


def _sample(leaf: Any, number: int) -> bytes:
    if not isinstance(leaf, np.ndarray):
        return repr(leaf).encode()
    whole = number < _WHOLE_CALLS and leaf.nbytes <= _WHOLE_BYTES
    stride = 1 if whole else max(1, leaf.size // _SAMPLE_VALUES)
    flat = leaf.reshape(-1) if leaf.flags.c_contiguous else leaf.flat
    values = np.asarray(flat[number % stride :: stride])
    if leaf.dtype.hasobject:
        # Their bytes are addresses.
        return repr([each for each in values if isinstance(each, _PLAIN)]).encode()
    return values.tobytes()


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if private.is_eager_tensor(value):
            if value.dtype.is_numpy_compatible and ":CPU:" in str(value.device):
                yield np.asarray(private.as_numpy(value))
        elif drawn_inputs.is_iterator(value):
            yield drawn_inputs.contents_of(value)
        elif private.is_composite(value) and not isinstance(value, tf.Variable):
            yield from _leaves(drawn_inputs.parts_of(value))
        elif isinstance(value, list | tuple):
            yield from _leaves(value)
        elif isinstance(value, dict):
            yield from _leaves(list(value.values()))
        elif isinstance(value, np.ndarray | np.generic):
            yield np.asarray(value)
        elif value is None or isinstance(value, _PLAIN):
            yield value


def _key(value: Any) -> Any:
    if private.is_eager_tensor(value):
        return private.shape_of(value), value.dtype
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype
    if isinstance(value, list | tuple):
        return (type(value), *map(_key, value))
    if isinstance(value, dict):
        return (dict, *((str(key), _key(item)) for key, item in value.items()))
    return type(value)


def _words(value: Any) -> str:
    if private.is_eager_tensor(value):
        return f"{value.dtype.name}{list(private.shape_of(value))}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_words, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_words(item)}" for key, item in value.items()) + "}"
    return type(value).__name__
