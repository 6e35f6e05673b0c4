"""Checksums of arrays that are cheap enough for each snapshot."""

import mmap
import zlib
from typing import Any

import numpy as np

_WHOLE_BYTES = 1 << 20
_SAMPLED = 16_384
_SUMMED_BYTES = 256 << 20
_BLOCK_BYTES = 4096


def of_values(array: np.ndarray[Any, Any]) -> str:
    """Of all bytes of an array if it is small, else of a sample and of sums; it has no objects."""
    if array.nbytes <= _WHOLE_BYTES:
        return f"{zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"
    # `flat` takes a sample with any strides, without a copy of the whole array.
    sample = np.ascontiguousarray(array.flat[:: array.size // _SAMPLED])
    return f"{zlib.crc32(sample.tobytes()):08x} {_of_sums(array):08x}"


def _of_sums(array: np.ndarray[Any, Any]) -> int:
    """It changes with each element; 0 if the array is too large, or if a file would be read.

    A sum of words takes a fraction of the time of a checksum.  There is one for each block, so that
    it changes too if elements of two blocks change places.
    """
    if isinstance(array.base, np.memmap | mmap.mmap) or array.nbytes > _SUMMED_BYTES:
        return 0
    data = np.asarray(array).ravel(order="K").view(np.uint8)
    summed_bytes = data.size // _BLOCK_BYTES * _BLOCK_BYTES
    blocks = data[:summed_bytes].view(np.uint64).reshape(-1, _BLOCK_BYTES // 8)
    return zlib.crc32(blocks.sum(axis=1).tobytes() + data[summed_bytes:].tobytes())
