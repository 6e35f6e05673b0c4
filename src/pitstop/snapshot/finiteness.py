"""Which tensors of a snapshot hold NaN or infinite numbers: looked at while they are read."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pitstop.store.image import DTYPE_WIDTH_BYTES, Image, Placement
from pitstop.store.writer import SnapshotSource

_FORMS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_BFLOAT_EXPONENT = 0x7F80


class FiniteSource:
    """Hands the bytes of a snapshot on, and looks at the numbers of some of its tensors.

    Attributes:
        bad: names of tensors of which a value that was read is NaN or infinite.
    """

    def __init__(self, source: SnapshotSource, image: Image, names: Collection[str]) -> None:
        self._source = source
        self._watched = [
            each
            for each in image.placements
            if each.spec.name in names and each.spec.dtype in _FORMS
        ]
        self.bad: set[str] = set()

    def read_into(self, target: memoryview, offset_bytes: int) -> None:
        """Fills `target` with the bytes from an offset of the image on."""
        self._source.read_into(target, offset_bytes)
        for place in self._watched:
            if place.spec.name not in self.bad and not _is_finite(target, offset_bytes, place):
                self.bad.add(place.spec.name)


def _is_finite(data: memoryview, offset_bytes: int, place: Placement) -> bool:
    """Whether the part of a tensor that lies in these bytes of the image is finite.

    Tensors and pieces begin at multiples of a number's width, see `store.image`.
    """
    width = DTYPE_WIDTH_BYTES[place.spec.dtype]
    start = max(place.offset_bytes - offset_bytes, 0)
    end = min(place.end_bytes - offset_bytes, len(data))
    if start >= end:
        return True
    part = data[start : end - (end - start) % width]
    numbers = np.frombuffer(part, _FORMS[place.spec.dtype])
    if place.spec.dtype == "BF16":
        return not bool((numbers & _BFLOAT_EXPONENT == _BFLOAT_EXPONENT).any())
    return bool(np.isfinite(numbers).all())
