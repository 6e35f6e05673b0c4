"""Fingerprints of values that a checkpoint does not hold: they change when the value changes.

Nothing is ever unpickled: what pickle writes is only hashed.
"""

import builtins
import contextvars
import hashlib
import hmac
import io
import itertools
import json
import logging
import mmap
import operator
import os
import pickle
import queue
import secrets
import signal
import subprocess
import sys
import threading
import types
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from pitstop.engine.script_state import array_checksum
from pitstop.engine.script_state.frozen import BARE
from pitstop.engine.script_state.holder import items_of
from pitstop.engine.values import reachable
from pitstop.engine.values.described import builtin_of, digest_of_text
from pitstop.engine.values.reachable import CACHED, dict_of

_MOST_BYTES = 8 << 20
_SAMPLED_ITEMS = 512
# They show what happens, and decide nothing.
_DISPLAYS = (
    *("matplotlib", "tqdm", "logging", "rich", "IPython", "ipywidgets", "wandb"),
    *("datetime", "pathlib", "uuid"),
)
_ITERATORS = ("builtins", "itertools", "csv", "_csv", "numpy")
_ELSEWHERE = ("concurrent", "asyncio", "multiprocessing")
_STREAMS = ("_bz2", "_lzma", "zlib")
_VALUES = (int, float, str, bytes, list, dict, set)
_ITEMS = (str, bytes, int, float, tuple)
_MANY = (list, dict, set)
_CALLING = type(iter(int, 1))
_PLAIN = (bool, int, float, str)
_UNTOLD = ("queue_ref", "dynamic_size")  # attributes of queues, and of arrays of tensors
_FRAMEWORKS = ("keras", "tf_keras", "tensorflow", "jax", "torch")
_DIGESTS = (type(hashlib.sha256()), type(hashlib.blake2b()), type(hashlib.blake2s()), hmac.HMAC)
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


class _Enough(Exception):
    """Enough has been hashed: the rest is left out."""


class _Sink:
    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=12)
        self.size_bytes = 0

    def write(self, data: Any) -> None:
        view = memoryview(data)
        self.digest.update(view)
        self.size_bytes += view.nbytes
        if self.size_bytes > _MOST_BYTES:
            raise _Enough


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> str | None:
        if issubclass(type(value), types.FunctionType | type):
            # pickle cannot find a lambda by name; the values that it closes over may change.
            cells = reachable.cells_of(value) if isinstance(value, types.FunctionType) else {}
            held = [each for each in cells.values() if isinstance(each, _VALUES)]
            told = [of_many(items_of(each)) if isinstance(each, _MANY) else each for each in held]
            return f"{value.__qualname__} {told}"
        # Their state is saved elsewhere, and takes long to write.
        return _package(value) if _package(value) in _FRAMEWORKS else None


def fingerprint(value: Any) -> str | None:
    """A text that changes when the value changes; None if no change can be noticed."""
    for kind, tell in _TOLD:
        if isinstance(value, kind):
            return tell(value)
    package = _package(value)
    if package in _FRAMEWORKS:
        # From a file for writing, such as TensorFlow's `GFile`, nothing is read.
        reads = hasattr(type(value), "__next__")
        if reads and not str(getattr(value, "mode", "")).startswith(("w", "a")):
            return _moved()
        if any(hasattr(type(value), name) for name in _UNTOLD):
            return _moved()
        return _of_settings(value)
    if package in _STREAMS:
        # What they have still to write, with the checksum of all that they were given.
        is_told = hasattr(value, "compress") and hasattr(value, "copy")
        return _pickled(value.copy().flush()) if is_told else _moved()
    if package in _OF_FILES:
        return _OF_FILES[package](value)
    if package in _ELSEWHERE:
        return _of_answer(value)
    if package in _DISPLAYS:
        return None
    found = _pickled(value) or _of_fields(value)
    is_iterator = package in _ITERATORS and hasattr(type(value), "__next__")
    cannot_say = found is None or isinstance(value, _CALLING)
    return _moved() if cannot_say and is_iterator else found


def _of_settings(value: Any) -> str:
    """The name of a framework's object; if it has a configuration, also its plain attributes."""
    found = {"_name": dict_of(value).get("_name", "")}
    if hasattr(type(value), "get_config"):
        found |= {key: each for key, each in dict_of(value).items() if not key.startswith("_")}
    return str([f"{key}={each}" for key, each in sorted(found.items()) if type(each) in _PLAIN])


def is_of_graph(value: Any, most_depth: int = 3) -> bool:
    """Whether it consists of tensors of a graph, which have no values."""
    if issubclass(type(value), list | tuple | dict):
        base = builtin_of(value)
        items = dict.values(value) if base is dict else base.__iter__(value)
        is_inside = base.__len__(value) and most_depth
        return bool(is_inside) and all(is_of_graph(each, most_depth - 1) for each in items)
    # A module that a library loads late raises on any name: its class is asked first.
    is_tensor = _package(value) in _FRAMEWORKS and hasattr(type(value), "graph")
    if not is_tensor or hasattr(type(value), "synchronization"):
        # A variable: one worker that asks it may make all workers add up its value.
        return False
    return hasattr(value, "graph") and hasattr(value, "op")


def _of_fields(value: Any) -> str | None:
    """Fingerprint of the plain fields of an object that has a field that cannot be pickled."""
    plain = {name: each for name, each in dict_of(value).items() if isinstance(each, _VALUES)}
    return _pickled(plain) if plain else None


def _of_answer(value: Any) -> str | None:
    if hasattr(value, "_getvalue"):
        try:
            return _pickled(value._getvalue())
        except Exception:  # noqa: BLE001  whatever goes wrong in the other process
            return None
    if (jobs := _jobs_of(value)) is not None:
        return jobs
    counted = getattr(value, "_flag", value)
    if hasattr(counted, "get_value"):
        return str(counted.get_value())
    if not hasattr(value, "result"):
        return _pickled(value)
    return _pickled(value.result()) if value.done() and not value.exception() else _moved()


def _jobs_of(value: Any) -> str | None:
    """Fingerprint of what was given to other processes, which may keep state."""
    if hasattr(value, "recv_bytes"):
        return _moved()
    pools = sys.modules.get("multiprocessing.pool")
    if pools and isinstance(value, pools.Pool) and not isinstance(value, pools.ThreadPool):
        return repr(pools.job_counter)
    count = getattr(value, "_queue_count", None)
    return None if count is None else str(count)


def _of_process(process: subprocess.Popen[Any]) -> str | None:
    """Another text each time while the script reads from or writes to the process; else None."""
    is_piped = process.returncode is None and (process.stdin or process.stdout)
    return _moved() if is_piped else None


def _of_hdf5(value: Any) -> str | None:
    """Another text each time for a file that can be written: its content is not restored."""
    return _moved() if value and value.file.mode != "r" else None


def _of_database(value: Any) -> str | None:
    """How often a database in memory was changed; one in a file is known by its file."""
    connection = getattr(value, "connection", value)
    cursor = connection.cursor()
    cursor.row_factory = None
    files = [row[2] for row in cursor.execute("pragma database_list")]
    return None if any(files) else str(connection.total_changes)


def _of_picture(value: Any) -> str | None:
    """Of one in memory; one in a file is known by its file, and fonts and the like show it."""
    return str(zlib.crc32(value.tobytes())) if type(value).__name__ == "Image" else None


def _of_memory(memory: mmap.mmap) -> str | None:
    return None if memory.closed else of_array(np.frombuffer(memory, "uint8"))


def _of_text_file(file: io.TextIOWrapper) -> str | None:
    if file.closed or not file.seekable():
        return None
    try:
        file.tell()
    except OSError:
        # It is being read line by line.
        return _moved()
    # It may be a file that is read at any position.
    return None


def _of_handled(handler: logging.Filterer) -> str | None:
    """The records that a handler keeps in memory; None for one that shows them."""
    kept = getattr(handler, "buffer", None)
    return of_many([str(record) for record in kept]) if isinstance(kept, list) else None


def _moved() -> str:
    """Another text each time, so that the value counts as changed."""
    return secrets.token_hex(8)


def _package(value: Any) -> str:
    return str(type(value).__module__).partition(".")[0]


def _of_generator(generator: Any) -> str:
    frames = (getattr(generator, f"{kind}_frame", None) for kind in ("gi", "ag", "cr"))
    frame = next(filter(None, frames), None)
    if frame is None:
        return "ended"
    kinds = (int, float, str, bytes)
    plain = {key: value for key, value in frame.f_locals.items() if isinstance(value, kinds)}
    # `yield from` stays where it is: what it reads from moves.
    inner = getattr(generator, "gi_yieldfrom", None)
    read_from = "" if inner is None else fingerprint(inner)
    return f"{frame.f_lasti} {sorted(plain.items())} {read_from}"


def _pickled(value: Any) -> str | None:
    sink = _Sink()
    try:
        _Pickler(sink, protocol=5).dump(value)
    except _Enough:
        pass
    except Exception:  # noqa: BLE001  whatever an object does when it is asked for its state
        return None
    return sink.digest.hexdigest()


_TOLD: tuple[tuple[Any, Callable[[Any], str | None]], ...] = (
    (types.ModuleType, lambda module: str(module.__name__)),
    (_CODE, lambda code: str(getattr(code, "__qualname__", ""))),
    (types.GeneratorType | types.AsyncGeneratorType | types.CoroutineType, _of_generator),
    (CACHED, lambda function: str(function.cache_info().misses)),
    (threading.Event, lambda event: str(event.is_set())),
    (queue.SimpleQueue, lambda waiting: str(waiting.qsize())),
    (threading.Semaphore, lambda semaphore: str(semaphore._value)),
    (mmap.mmap, _of_memory),
    (contextvars.Context, lambda context: _pickled(list(context.values()))),
    (logging.Filterer, _of_handled),
    (subprocess.Popen, _of_process),
    (_DIGESTS, lambda digest: str(digest.hexdigest())),
    (io.TextIOWrapper, _of_text_file),
    (types.MappingProxyType, lambda view: _pickled(dict(view))),
)
"""How the fingerprint of an object of these classes is made."""

_OF_FILES = {"sqlite3": _of_database, "h5py": _of_hdf5, "PIL": _of_picture}
"""The same, by the package of the object's class."""

_OF_KERAS = (
    *("backend.epsilon", "backend.floatx", "backend.image_data_format"),
    "mixed_precision.global_policy",
)
_SETTINGS = {
    f"{package}.{name}()": (package, operator.attrgetter(name))
    for package, names in {
        "numpy": ("geterr", "get_printoptions"),
        "tensorflow": ("config.functions_run_eagerly",),
        **dict.fromkeys(("keras", "tf_keras"), _OF_KERAS),
    }.items()
    for name in names
}
"""Functions that return global settings of a library."""
_SIGNALS = {
    f"the handler of signal {number}": int(number)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
}
_handler_of: Callable[[int], Any] = getattr(
    sys.modules.get("_signal"), "getsignal", signal.getsignal
)
"""Not that of the module `signal`, which makes an enumeration of each answer: ten times slower."""


def of_process() -> dict[str, str]:
    """Settings of the process that a step or a callback may change, and plain builtins, by name."""
    found = {}
    for name, (package, member) in _SETTINGS.items():
        with suppress(AttributeError):
            found[name] = repr(member(sys.modules.get(package))())
    with suppress(OSError):
        found["the working directory"] = os.getcwd()  # noqa: PTH109
    if decimal := sys.modules.get("decimal"):
        context = decimal.getcontext()
        found["decimal.getcontext()"] = f"{context.prec} {context.rounding}"
    if step := _summary_step():
        found["tensorflow.summary.experimental.get_step()"] = step
    loggers = (logging.root, *logging.root.manager.loggerDict.values())
    for handler in (handler for each in loggers for handler in getattr(each, "handlers", ())):
        if told := _of_handled(handler):
            found[f"the records in {handler!r}"] = told
    for name, number in _SIGNALS.items():
        found[name] = _of_handler(_handler_of(number))
    for name, value in list(vars(builtins).items()):
        # Nearly all are functions and classes.
        if type(value) not in _CODE and isinstance(value, _VALUES) and not name.startswith("_"):
            found[f"builtins.{name}"] = str(_pickled(value))
    return found


def handlers() -> dict[str, Any]:
    """What is called when a signal comes, although no code of the training may name it."""
    return {name: _handler_of(number) for name, number in _SIGNALS.items()}


def _summary_step() -> str:
    """The step of TensorBoard that the script has set; empty for a variable, which is restored."""
    summary = getattr(sys.modules.get("tensorflow"), "summary", None)
    step = summary.experimental.get_step() if summary else None
    return str(step) if isinstance(step, int) else ""


def _of_handler(handler: Any) -> str:
    """The name of a function that the script handles a signal with; empty for all others."""
    is_script = isinstance(handler, types.FunctionType | types.MethodType)
    is_own = getattr(handler, "__module__", "").partition(".")[0] == "pitstop"
    return str(handler.__qualname__) if is_script and not is_own else ""


def of_saved(described: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    parts = (f"{name} {of_array(array)}" for name, array in arrays.items())
    return digest_of_text(json.dumps(described), *parts)


def of_array(array: np.ndarray[Any, Any]) -> str:
    form = f"{array.dtype.str} {array.shape}"
    if isinstance(array, np.ma.MaskedArray):
        return f"{of_array(array.data)} {of_array(np.ma.getmaskarray(array))}"
    if array.dtype.hasobject:
        return f"{form} {_pickled(array)}"
    return f"{form} {array_checksum.of_values(array)}"


def of_many(items: list[Any]) -> str:
    stride = max(1, len(items) // _SAMPLED_ITEMS)
    sample = [*items[::stride], *items[-2:]]
    words = [each if isinstance(each, _ITEMS) else _outline(each) for each in sample]
    whole = hash(tuple(items)) if _are_values(items) else 0
    return f"{len(items)} {zlib.crc32(repr(words).encode()):08x} {whole}"


def _are_values(items: list[Any]) -> bool:
    """Whether all items, also those in tuples, are of classes whose hash depends on the value."""
    kinds = set(map(type, items))
    is_told = all(e in {*BARE, tuple} or issubclass(e, np.number | np.bool_) for e in kinds)
    inner = itertools.chain.from_iterable(each for each in items if type(each) is tuple)
    return is_told and (tuple not in kinds or _are_values(list(inner)))


def of_code(function: types.FunctionType) -> str:
    """A text that changes with the code, and if a default is replaced, not if it is mutated."""
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return f"{hash(function.__code__)} {[of_item(each) for each in defaults]}"


def of_item(value: Any) -> str:
    """A text that changes if another object takes its place: of a plain object, its value.

    The first object must still exist: its identity may be given out again.
    """
    return repr(value) if type(value) in _VALUES[:4] else str(id(value))


def _outline(value: Any) -> str:
    held = [each for each in dict_of(value).values() if isinstance(each, _ITEMS)]
    return f"{type(value).__name__} {held}"
