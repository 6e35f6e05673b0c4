"""Any value as a short text that is the same in another process, if the value is.

Addresses, readings of a clock and names of files are left out.  Hosts and ports of a cluster differ
in each attempt: the names of its tasks replace them.
"""

import dataclasses
import enum
import functools
import hashlib
import math
import mmap
import os
import re
import time
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitstop.cluster.spec import VARIABLE, ClusterSpec, own_cluster
from pitstop.engine.values.reachable import cells_of
from pitstop.machine.own_process import age_ns

_MOST_DEPTH = 6
_MOST_CHARACTERS = 120
_MOST_ITEMS = 1000
_MOST_CHECKED = 64
_PATH = re.compile(r"[/\\]|\d{6}|\d\d[-_.:]\d\d|\.\w{1,12}$")
_BUILTIN = (dict, list, tuple, set, frozenset)
_MAPPINGS = (dict, types.MappingProxyType)  # those of libraries may read files, or raise
_CLOCKS = (time.time, time.monotonic, time.perf_counter)
_STARTUP_SECONDS = 60.0
_OPAQUE = (types.ModuleType, types.GeneratorType, types.TracebackType, types.FrameType)
_WHOLE_BYTES = 64 << 20
_PIECES = 4096


def describe(value: Any, most_items: int = _MOST_ITEMS, whole_bytes: int = _WHOLE_BYTES) -> str:
    """The value as text: `most_items` of the items of a collection, some rows of a large array."""
    text = _Description(most_items, whole_bytes).of(value, _MOST_DEPTH)
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[: _MOST_CHARACTERS // 2]}... {digest_of_text(text)}"


def is_plain(value: Any) -> bool:
    """Whether it is data; of a long collection some items are looked at."""
    if isinstance(value, np.ndarray | np.generic):
        return not value.dtype.hasobject
    if isinstance(value, _MAPPINGS):
        pairs = _spread(_items_of(value), _MOST_CHECKED)
        return all(is_plain(each) for pair in pairs for each in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_plain, _spread(_items_of(value), _MOST_CHECKED)))
    return value is None or isinstance(
        value, bool | int | float | complex | str | bytes | enum.Enum
    )


def builtin_of(value: Any) -> Any:
    """The builtin collection from which the class of a value is derived; None for others."""
    # By type: a wrapper of TensorFlow says that it is what it holds.
    return next((each for each in _BUILTIN if issubclass(type(value), each)), None)


def _items_of(value: Any) -> list[Any]:
    """Of a builtin collection; pairs of a mapping.  It calls no method of a class of the script."""
    base = builtin_of(value)
    if base is not None:
        return list(dict.items(value) if base is dict else base.__iter__(value))
    return list(value.items() if isinstance(value, _MAPPINGS) else value)


def _spread(found: list[Any], most: int) -> list[Any]:
    """All items, or `most` of them, from the first to the last."""
    if len(found) <= most:
        return found
    return [found[place] for place in np.linspace(0, len(found) - 1, most).astype(np.int64)]


def is_reproducible(value: Any) -> bool:
    """Whether a value is no reading of a clock and no name of a file."""
    if isinstance(value, float):
        age_seconds = age_ns() / 1e9 + _STARTUP_SECONDS
        since = (clock() - value for clock in _CLOCKS) if value > age_seconds else ()
        return not any(0 <= seconds <= age_seconds for seconds in since)
    return not (isinstance(value, str) and _PATH.search(value))


def digest_of_text(*texts: str) -> str:
    return hashlib.blake2b("\0".join(texts).encode(errors="replace"), digest_size=8).hexdigest()


def plain_attributes(value: Any) -> dict[str, Any]:
    found = getattr(value, "__dict__", None)
    if not isinstance(found, Mapping):
        return {}
    return {
        name: each
        for name, each in found.items()
        if isinstance(name, str)
        and (is_plain(each) or isinstance(each, types.FunctionType))
        and is_reproducible(each)
    }


@functools.lru_cache(maxsize=1)
def _addresses(config: str) -> tuple[tuple[str, str], ...]:
    known = ClusterSpec.from_json(own_cluster({VARIABLE: config})).addresses
    # One address may be the start of another one.
    longest_first = sorted(known.items(), key=lambda each: -len(each[1]))
    return tuple((str(task), address) for task, address in longest_first)


class _Description:
    """One description; remembers the objects around the present one: they can be in a cycle."""

    def __init__(self, most_items: int, whole_bytes: int) -> None:
        self._most_items, self._whole_bytes = most_items, whole_bytes
        self._inside: list[Any] = []

    def of(self, value: Any, depth: int) -> str:
        if isinstance(value, str) and (config := os.environ.get(VARIABLE)):
            for task, address in _addresses(config):
                value = value.replace(address, task)
        if isinstance(value, bool | int | str | bytes | complex | None | float | enum.Enum):
            is_odd = isinstance(value, float) and not math.isfinite(value)
            return str(value) if is_odd else repr(value)
        if isinstance(value, np.generic):
            return repr(value.item())
        if isinstance(value, np.ndarray):
            return f"{value.dtype}{list(value.shape)} {digest_of(value, self._whole_bytes)}"
        if depth == 0 or any(value is each for each in self._inside):
            return type(value).__qualname__
        self._inside.append(value)
        try:
            return self._of_object(value, depth - 1)
        finally:
            self._inside.pop()

    def _of_object(self, value: Any, depth: int) -> str:
        if isinstance(value, (*_MAPPINGS, set, frozenset, list, tuple)):
            items = _items_of(value)
            few = _spread(items, self._most_items)
            size = "" if len(few) == len(items) else f"{len(items)}: "
            return size + self._of_items(value, few, depth)
        if isinstance(value, type):
            return value.__qualname__
        if isinstance(value, functools.partial):
            parts = (value.func, value.args, value.keywords)
            return f"partial({', '.join(self.of(each, depth) for each in parts)})"
        if isinstance(value, types.FunctionType):
            return self.of_function(value, depth)
        if isinstance(value, types.MethodType):
            owner = self.of(value.__self__, depth)
            return f"{owner}.{self.of(value.__func__, depth)}"
        return self._of_instance(value, depth)

    def _of_items(self, value: Any, few: list[Any], depth: int) -> str:
        if isinstance(value, _MAPPINGS):
            items = (f"{self.of(key, depth)}: {self.of(each, depth)}" for key, each in few)
            return f"{{{', '.join(items)}}}"
        is_ordered = isinstance(value, list | tuple)
        if is_ordered and all(type(each) is int for each in few):
            # Such as the state of a random stream: many numbers, at each `fit`.
            return repr(few)
        texts = [self.of(each, depth) for each in few]
        return f"[{', '.join(texts)}]" if is_ordered else f"{{{', '.join(sorted(texts))}}}"

    def of_function(self, function: types.FunctionType, depth: int) -> str:
        name = function.__qualname__.rpartition(".")[2]
        if str(function.__module__).partition(".")[0] in ("keras", "tensorflow", "numpy"):
            return name
        code = code_digest(function.__code__)
        globals_ = function.__globals__
        named = {name: globals_[name] for name in function.__code__.co_names if name in globals_}
        outside = {
            name: each
            for name, each in (cells_of(function) | named).items()
            if is_plain(each) or isinstance(each, types.FunctionType)
        }
        defaults = self.of([function.__defaults__, function.__kwdefaults__], depth)
        return f"{name} {digest_of_text(code, defaults, self.of(outside, depth))}"

    def _of_instance(self, value: Any, depth: int) -> str:
        name = type(value).__qualname__
        if isinstance(value, _OPAQUE):
            return name
        if dataclasses.is_dataclass(value) or type(value).__module__ == "__main__":
            return f"{name}({self.of(plain_attributes(value), depth)})"
        config = _config(value)
        return name if config is None else f"{name}({self.of(config, depth)})"


def code_digest(code: types.CodeType) -> str:
    """Digest of the code of a function, without its place in the file."""
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    plain = (each for each in code.co_consts if not isinstance(each, types.CodeType))
    # The order of a set differs in each process.
    constants = [
        repr(sorted(each, key=repr) if isinstance(each, frozenset) else each) for each in plain
    ]
    names = (*code.co_names, *code.co_varnames, *code.co_freevars)
    return digest_of_text(code.co_code.hex(), *names, *constants, *map(code_digest, inner))


def _config(value: Any) -> Any:
    # Of Keras: an object of the script's own may not be ready for it.
    get_config = getattr(type(value), "get_config", None)
    if get_config is None:
        return None
    try:
        return get_config(value)
    except Exception:  # noqa: BLE001
        return plain_attributes(value)


def digest_of(array: NDArray[np.generic], whole_bytes: int = _WHOLE_BYTES) -> str:
    """Digest of type, shape and values: text of objects, some thousand rows of a large array."""
    digest = hashlib.blake2b(f"{array.dtype} {array.shape}".encode(), digest_size=8)
    if _is_cut(array):
        return f"{digest.hexdigest()} cut"
    if array.nbytes > whole_bytes and array.ndim:
        most = max(1, whole_bytes * array.shape[0] // array.nbytes)
        array = array[np.linspace(0, array.shape[0] - 1, min(_PIECES, most)).astype(np.int64)]
    if array.dtype.hasobject:
        digest.update("\0".join(map(str, array.reshape(-1))).encode(errors="replace"))
    else:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _is_cut(array: NDArray[np.generic]) -> bool:
    """Whether the array maps a file that has become shorter: to read it would raise SIGBUS."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap) and not base.closed and base.size() < len(base)
