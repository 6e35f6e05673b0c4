"""What a call was given: names, types and shapes as words, values as a sampled checksum."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pitstop.tensorflow import private

_SAMPLE_VALUES = 64

_Key = tuple[Any, ...]


class Signatures:
    """The words for every signature seen, so that each is put together once."""

    def __init__(self) -> None:
        self._words: dict[_Key, str] = {}

    def describe(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """A call in words: "train_step(float32[32, 8], int64[32])"."""
        key = (name, *map(_key, args), *((word, _key(kwargs[word])) for word in kwargs))
        words = self._words.get(key)
        if words is None:
            parts = [*map(_words, args), *(f"{word}={_words(kwargs[word])}" for word in kwargs)]
            words = self._words[key] = f"{name}({', '.join(parts)})"
        return words


def checksum(args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """CRC-32 of the first values of each argument, as far as they are in memory."""
    crc = 0
    for array in _arrays((*args, *kwargs.values())):
        crc = zlib.crc32(array.reshape(-1)[:_SAMPLE_VALUES].tobytes(), crc)
    return crc


def _arrays(values: Sequence[Any]) -> Iterator[np.ndarray[Any, Any]]:
    for value in values:
        if private.is_eager_tensor(value):
            if value.dtype.is_numpy_compatible and private.is_in_host_memory(value):
                yield from _plain(private.as_numpy(value))
        elif isinstance(value, np.ndarray):
            yield from _plain(value)
        elif isinstance(value, list | tuple):
            yield from _arrays(value)
        elif isinstance(value, dict):
            yield from _arrays(list(value.values()))


def _plain(array: Any) -> Iterator[np.ndarray[Any, Any]]:
    # A scalar string comes as Python bytes; the bytes of objects are addresses.
    if not (isinstance(array, bytes) or array.dtype.hasobject):
        yield np.asarray(array)


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
