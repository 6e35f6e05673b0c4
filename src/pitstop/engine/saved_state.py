"""A saved state as the trainer sees it: arrays by name, and the JSON beside them."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pitstop.engine.cut import Position
from pitstop.errors import InternalFault
from pitstop.snapshot import slot
from pitstop.store.image import Placement, parse_image


@dataclass(frozen=True)
class SavedState:
    """A restore point in memory.

    Attributes:
        state: the JSON object of the cut.
        tensors: bytes of each tensor by name; valid while this object lives.
    """

    state: dict[str, Any]
    tensors: Mapping[str, memoryview]

    @property
    def position(self) -> Position:
        """Where the state was saved."""
        return Position(**self.state["position"])


def open_saved_state(fd: int) -> SavedState:
    """Maps the slot behind a descriptor, which is closed; the mapping stays.

    Raises:
        InternalFault: there is no whole snapshot in it.
    """
    try:
        head = slot.read_head(fd, 0)
        if head is None:
            raise InternalFault("The restore image is not a whole snapshot.")
        view = memoryview(mmap.mmap(fd, head.size_bytes, access=mmap.ACCESS_READ))
    finally:
        os.close(fd)
    image = view[slot.HEAD_BYTES : slot.HEAD_BYTES + head.image_bytes]
    state = bytes(view[slot.HEAD_BYTES + head.image_bytes : head.size_bytes])
    tensors = {place.spec.name: _part(image, place) for place in parse_image(image).placements}
    return SavedState(json.loads(state), tensors)


def _part(image: memoryview, place: Placement) -> memoryview:
    return image[place.offset_bytes : place.offset_bytes + place.size_bytes]
