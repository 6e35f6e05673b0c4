"""Values of a GPU are read in pieces; a driver that refuses costs nothing but time."""

from __future__ import annotations

import ctypes
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.snapshot import arena
from pitstop.snapshot.arena import PIECE_BYTES
from pitstop.store.image import TensorSpec, plan_image
from pitstop.tensorflow.variables import gpu_reads
from pitstop.tensorflow.variables.gpu_reads import CudaDriver, GpuValue, address_of, gpu_value


class PlayedLibrary:
    """The driver's functions, for a "GPU" whose memory is that of this process."""

    def __init__(self, refuses: str = "") -> None:
        self.asked: Counter[str] = Counter()
        self._refuses = refuses
        self._does: dict[str, Callable[..., None]]
        self._buffers: list[Any] = []
        self._streams = 0
        self._current: dict[int, int] = {}
        self._does = {
            "cuPointerGetAttribute": self.pointer_attribute,
            "cuDevicePrimaryCtxRetain": self.retain,
            "cuCtxSetCurrent": self.set_current,
            "cuMemHostAlloc": self.allocate,
            "cuStreamCreate": self.create_stream,
            "cuMemcpyDtoHAsync_v2": self.copy,
            "cuStreamSynchronize": lambda _stream: None,
        }

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*args: Any) -> int:
            self.asked[name] += 1
            if name == self._refuses:
                return 1
            self._does[name](*args)
            return 0

        return call

    def pointer_attribute(self, found: Any, attribute: int, _where: Any) -> None:
        assert attribute == 9
        found._obj.value = 3

    def retain(self, context: Any, gpu: int) -> None:
        assert gpu == 3
        context._obj.value = 77

    def set_current(self, context: Any) -> None:
        self._current[threading.get_ident()] = context.value

    def allocate(self, buffer: Any, size: Any, _flags: int) -> None:
        self._buffers.append(ctypes.create_string_buffer(size.value))
        buffer._obj.value = ctypes.addressof(self._buffers[-1])

    def create_stream(self, stream: Any, _flags: int) -> None:
        self._streams += 1
        stream._obj.value = self._streams

    def copy(self, to: Any, source: Any, size: Any, stream: Any) -> None:
        assert self._current[threading.get_ident()] == 77
        assert size.value <= PIECE_BYTES
        assert stream.value
        ctypes.memmove(to, source.value, size.value)


def value_in(library: PlayedLibrary, content: np.ndarray[Any, Any]) -> GpuValue:
    read = content.reshape(-1).view(np.uint8).data
    address = content.ctypes.data
    return GpuValue(CudaDriver(library), lambda: read, content, address, 0, content.nbytes)


CONTENT = np.random.default_rng(1).integers(0, 255, 2 * PIECE_BYTES + 12_345, np.uint8)
REFUSALS = ("", "cuMemHostAlloc", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize")


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("refuses", REFUSALS)
def test_a_value_is_copied_into_a_slot(refuses: str, threads: int) -> None:
    library = PlayedLibrary(refuses)
    image = plan_image([TensorSpec("kernel", "U8", CONTENT.shape)])
    slot = memoryview(bytearray(arena.HEAD_BYTES + image.size_bytes + 2))
    value = value_in(library, CONTENT)
    head = arena.write_slot(slot, 1, 7, image, [value], b"{}", threads)
    begin = arena.HEAD_BYTES + image.placements[0].offset_bytes
    assert bytes(slot[begin : begin + len(CONTENT)]) == CONTENT.tobytes()
    assert arena.unpack_head(bytes(slot)) == head


def test_a_part_of_a_value_is_copied_where_it_is() -> None:
    part = value_in(PlayedLibrary(), CONTENT)[100:]
    target = memoryview(bytearray(PIECE_BYTES))
    part[7 : 7 + PIECE_BYTES].copy_to(target)
    assert bytes(target) == CONTENT[107 : 107 + PIECE_BYTES].tobytes()


def test_buffers_are_used_again() -> None:
    library = PlayedLibrary()
    piece = value_in(library, CONTENT)[:PIECE_BYTES]
    target = memoryview(bytearray(PIECE_BYTES))
    for _ in range(3):
        piece.copy_to(target)
    assert library.asked["cuMemHostAlloc"] == library.asked["cuStreamCreate"] == 1
    assert library.asked["cuMemcpyDtoHAsync_v2"] == 3


def test_a_value_in_this_memory_is_not_a_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_reads, "driver", lambda: CudaDriver(PlayedLibrary()))
    here = tf.zeros((1 << 20,), tf.float32)
    assert address_of(tf.experimental.dlpack.to_dlpack(here)) == 0
    assert gpu_value(here, lambda: memoryview(b"")) is None
    assert gpu_value(tf.zeros((1 << 21,), tf.bool), lambda: memoryview(b"")) is None


def test_a_process_without_a_gpu_has_no_driver() -> None:
    assert gpu_reads.driver() is None
