"""What a call was given: names, types and shapes as words, values as a checksum."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pitstop.replay.calls import Call
from pitstop.tensorflow import drawn_inputs, private

_WHOLE_CALLS = 16
_WHOLE_BYTES = 64 << 20
_SAMPLE_VALUES = 1024

_PLAIN = bool | int | float | str | bytes
_known_words: dict[tuple[Any, ...], str] = {}
"""For every signature seen, so that each is put together once."""


def of_call(call: Call, number: int) -> tuple[str, int]:
    """A call in words, and the checksum of its arguments, as of this number in its loop."""
    words = in_words(call.name, call.args, call.kwargs)
    return words, checksum(call.args, call.kwargs, number)


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
    """Arrays, numbers and words, as far as they are in memory."""
    for value in values:
        if private.is_eager_tensor(value):
            if value.dtype.is_numpy_compatible and private.is_in_host_memory(value):
                yield np.asarray(private.as_numpy(value))
        elif drawn_inputs.is_iterator(value):
            yield drawn_inputs.contents_of(value)
        elif private.is_composite(value):
            yield from _leaves(private.components(value))
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
