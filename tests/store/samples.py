"""Small checkpoints and strategies that the tests of the store share."""

from __future__ import annotations

import contextlib
import random
import resource
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hypothesis import strategies as st

from pitstop.store.filesystem import REAL_FILESYSTEM, Filesystem
from pitstop.store.image import DTYPE_WIDTH_BYTES, Image, TensorSpec, plan_image
from pitstop.store.manifest import CheckpointInfo, Manifest
from pitstop.store.writer import CheckpointWriter

EVERY_DTYPE = tuple(DTYPE_WIDTH_BYTES)

SPECS = (
    TensorSpec("flag", "BOOL", (3,)),
    TensorSpec("kernel", "F32", (4, 5)),
    TensorSpec("step", "I64", ()),
    TensorSpec("nothing", "F16", (0, 7)),
    TensorSpec("half", "BF16", (11,)),
)

SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
NAMES = st.text(max_size=12).filter(lambda name: name != "__metadata__")
SPEC_LISTS = st.lists(
    st.builds(TensorSpec, NAMES, st.sampled_from(EVERY_DTYPE), SHAPES),
    max_size=8,
    unique_by=lambda spec: spec.name,
)


def info(step: int, milestone: str = "") -> CheckpointInfo:
    """Where a checkpoint of this step was taken."""
    return CheckpointInfo(
        step, 2, 3, 0, milestone, 1, "cadence", "exact", 1.7e9, {"keras": "3.15.0"}
    )


def image_bytes(image: Image, seed: int = 0) -> bytes:
    """The whole file of an image, with random data."""
    return image.header + random.Random(seed).randbytes(image.size_bytes - len(image.header))


def cut(data: bytes, lengths: Iterable[int]) -> Iterator[memoryview]:
    """The data in chunks of these lengths, and then the rest."""
    view = memoryview(data)
    for length in lengths:
        yield view[:length]
        view = view[length:]
    yield view


def state_of(step: int) -> bytes:
    """The state that `save` stores for a step."""
    return b'{"step": %d}\n' % step


def save(
    checkpoints_dir: Path,
    step: int,
    sequence: int,
    *,
    specs: Sequence[TensorSpec] = SPECS,
    milestone: str = "",
    filesystem: Filesystem = REAL_FILESYSTEM,
) -> tuple[Path, Manifest]:
    """Commits a small checkpoint whose bytes follow from its step."""
    image = plan_image(specs)
    with CheckpointWriter(checkpoints_dir, sequence, filesystem) as writer:
        writer.write_tensors(image, [memoryview(image_bytes(image, step))])
        return writer.commit(state_of(step), info(step, milestone))


@contextlib.contextmanager
def lowered(kind: int, limit: int) -> Iterator[None]:
    """A limit of this process, lowered for a while."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)
