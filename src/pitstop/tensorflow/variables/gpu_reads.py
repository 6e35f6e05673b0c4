"""Reads large values of a GPU in pieces, through pinned memory.

TensorFlow copies a value of a GPU into new memory of its size; the pages of that memory cost more
than the copy.  Here the driver copies piece after piece into a small buffer that it knows (CUDA
Driver API: cuMemHostAlloc, cuMemcpyDtoHAsync), at the speed of the bus, and what the training asks
of the bus comes in between.  Where the driver refuses, TensorFlow's way is taken.
"""

import ctypes
import functools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import tensorflow as tf

from pitstop.snapshot.arena import PIECE_BYTES

LEAST_BYTES = 1 << 20
"""Of a value; smaller ones gain nothing."""

_LIBRARY = "libcuda.so.1"
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_PORTABLE = 1  # CU_MEMHOSTALLOC_PORTABLE
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_CUDA = 2  # kDLCUDA of dlpack.h


class _DLTensor(ctypes.Structure):
    """The begin of `DLManagedTensor` in dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
    )


class CudaError(Exception):
    """The driver did not do what it was asked for."""


class _Lane(NamedTuple):
    """A buffer of pinned memory and a stream, for one copy at a time."""

    context: ctypes.c_void_p
    buffer: ctypes.c_void_p
    stream: ctypes.c_void_p


class CudaDriver:
    """Copies from GPUs, in several threads at once; keeps as many lanes as were in use."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._free: defaultdict[int, list[_Lane]] = defaultdict(list)  # by GPU

    def copy(self, address: int, target: memoryview) -> None:
        """Fills `target`, of at most `PIECE_BYTES`, from an address of a GPU; or `CudaError`."""
        gpu = self._gpu_of(address)
        lane = self._free[gpu].pop() if self._free[gpu] else self._new_lane(gpu)
        self._ask("cuCtxSetCurrent", lane.context)
        source, size_bytes = ctypes.c_uint64(address), ctypes.c_size_t(len(target))
        self._ask("cuMemcpyDtoHAsync_v2", lane.buffer, source, size_bytes, lane.stream)
        self._ask("cuStreamSynchronize", lane.stream)
        copied = memoryview((ctypes.c_uint8 * len(target)).from_address(lane.buffer.value or 0))
        np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(copied.cast("B"), np.uint8))
        self._free[gpu].append(lane)

    def _gpu_of(self, address: int) -> int:
        found, where = ctypes.c_int(), ctypes.c_uint64(address)
        self._ask("cuPointerGetAttribute", ctypes.byref(found), _DEVICE_ORDINAL, where)
        return found.value

    def _new_lane(self, gpu: int) -> _Lane:
        context, buffer, stream = (ctypes.c_void_p() for _ in range(3))
        # The context that TensorFlow uses, too.
        self._ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), gpu)
        self._ask("cuCtxSetCurrent", context)
        size_bytes = ctypes.c_size_t(PIECE_BYTES)
        self._ask("cuMemHostAlloc", ctypes.byref(buffer), size_bytes, _PORTABLE)
        self._ask("cuStreamCreate", ctypes.byref(stream), _NON_BLOCKING)
        return _Lane(context, buffer, stream)

    def _ask(self, function: str, *args: Any) -> None:
        code = getattr(self._library, function)(*args)
        if code != 0:
            raise CudaError(f"{function}: CUDA error {code}")


@functools.cache
def driver() -> CudaDriver | None:
    """That of this process; None without a GPU of CUDA."""
    if not tf.config.list_logical_devices("GPU"):
        return None
    try:
        return CudaDriver(ctypes.CDLL(_LIBRARY))
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class GpuValue:
    """Bytes of a value of a GPU, which cannot change any more; a slice has the same form."""

    _driver: CudaDriver
    _read: Callable[[], memoryview]
    _capsule: Any  # of dlpack; keeps the value
    _address: int
    _start: int
    _stop: int

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, part: slice) -> Self:
        start, stop, _ = part.indices(len(self))
        return replace(self, _start=self._start + start, _stop=self._start + stop)

    def copy_to(self, target: memoryview) -> None:
        """Fills a target of the same size, at most `PIECE_BYTES`."""
        try:
            self._driver.copy(self._address + self._start, target)
        except CudaError:
            target[:] = self._read()[self._start : self._stop]


def gpu_value(tensor: Any, read: Callable[[], memoryview]) -> GpuValue | None:
    """A value that a GPU has, if it is large; it has been computed when this returns.

    `read`: all of its bytes, by TensorFlow.
    """
    asked = driver()
    if asked is None:
        return None
    size_bytes = tensor.shape.num_elements() * tensor.dtype.size
    if size_bytes < LEAST_BYTES:
        return None
    try:
        capsule = tf.experimental.dlpack.to_dlpack(tensor)
    except (tf.errors.OpError, RuntimeError):
        return None  # of a type that dlpack does not know
    address = address_of(capsule)
    return GpuValue(asked, read, capsule, address, 0, size_bytes) if address else None


def address_of(capsule: Any) -> int:
    """Where a tensor begins that dlpack describes; 0 where that is not in a GPU."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    return int(tensor.data or 0) if tensor.device_type == _CUDA else 0
