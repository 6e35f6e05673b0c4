"""Small snapshots whose bytes follow from their step."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from pitstop.snapshot.arena import Arena, ArenaPlan, plan_arena, write_slot
from pitstop.store.image import Image, TensorSpec, plan_image

LARGE_BYTES = 20_000
"""More than the writer copies without numpy."""


@dataclass(frozen=True)
class Sample:
    """The arguments of a slot's writer."""

    image: Image
    tensors: tuple[memoryview, ...]
    state: bytes

    @property
    def size_bytes(self) -> int:
        return self.image.size_bytes + len(self.state)

    @property
    def file(self) -> bytes:
        """What `tensors.safetensors` must hold."""
        return self.image.header + b"".join(self.tensors)


def sample(step: int, large_bytes: int = 64, milestone: str = "") -> Sample:
    specs = [
        TensorSpec("flags", "BOOL", (3,)),
        TensorSpec("kernel", "U8", (large_bytes,)),
        TensorSpec("nothing", "F32", (0, 4)),
        TensorSpec("step", "I64", ()),
    ]
    image = plan_image(specs)
    noise = random.Random(step)
    tensors = tuple(memoryview(noise.randbytes(place.size_bytes)) for place in image.placements)
    position = {
        "step": step,
        "fit": 0,
        "epoch": 1,
        "step_in_epoch": 2,
        "stage": "steps",
        "milestone": milestone,
    }
    state = {"position": position, "level": {"level": "exact"}, "versions": {"keras": "3.15.0"}}
    return Sample(image, tensors, json.dumps(state).encode())


def new_arena(folder: Path, snapshot_bytes: int = 1 << 16, backing: str = "memory") -> Arena:
    planned = plan_arena(snapshot_bytes, 1 << 40, 0)
    return Arena(ArenaPlan(planned.slot_bytes, backing), folder)


def take(arena: Arena, sequence: int, step: int, pinned: int = 0) -> None:
    """Writes the sample of a step as the trainer does."""
    index = arena.choose_slot(pinned)
    assert index is not None
    fill(arena, index, sequence, step, sample(step))


def fill(arena: Arena, index: int, sequence: int, step: int, part: Sample) -> None:
    with arena.slot(index, sequence) as slot:
        write_slot(slot, sequence, step, part.image, part.tensors, part.state)
