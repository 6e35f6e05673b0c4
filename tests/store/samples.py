"""Small checkpoints and strategies that the tests of the store share."""

from __future__ import annotations

import contextlib
import random
import resource
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from hypothesis import strategies as st

from pitstop.store.catalog import Catalog
from pitstop.store.digest import ChunkHasher
from pitstop.store.filesystem import REAL_FILESYSTEM, Filesystem
from pitstop.store.image import DTYPE_WIDTH_BYTES, Image, TensorSpec, plan_image
from pitstop.store.increment import ledger_of, plan_increment
from pitstop.store.manifest import CheckpointInfo, Manifest
from pitstop.store.reader import read_tensors
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


class Bytes:
    """A snapshot that is just these bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def read_into(self, target: memoryview, offset_bytes: int) -> None:
        target[:] = self._data[offset_bytes : offset_bytes + len(target)]


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
        writer.write_tensors(image, Bytes(image_bytes(image, step)))
        return writer.commit(state_of(step), info(step, milestone))


def save_increment(
    checkpoints_dir: Path,
    step: int,
    sequence: int,
    *,
    specs: Sequence[TensorSpec] = SPECS,
    filesystem: Filesystem = REAL_FILESYSTEM,
    changed: Mapping[str, bytes] = MappingProxyType({}),
) -> tuple[Path, Manifest]:
    """Commits a checkpoint that holds what the newest one holds, but for some tensors.

    Args:
        changed: the new bytes by tensor; those of "kernel" count up when None are given.
    """
    [newest, *_] = Catalog(checkpoints_dir).entries()
    assert newest.manifest is not None
    file = bytearray()
    before = read_tensors(newest.path, newest.manifest, file.extend)
    chunks = dict(before)
    image = plan_image(specs)
    for place in image.placements:
        default = bytes(range(place.size_bytes)) if place.spec.name == "kernel" else None
        if (data := changed.get(place.spec.name, default)) is not None:
            file[place.offset_bytes : place.end_bytes] = data
            hasher = ChunkHasher()
            hasher.update(memoryview(data))
            chunks[place.spec.name] = hasher.finish()
    ledger = ledger_of(
        newest.path,
        newest.manifest,
        read_tensors(newest.path, newest.manifest, lambda _piece: None),
    )
    plan = plan_increment(image, chunks, ledger)
    with CheckpointWriter(checkpoints_dir, sequence, filesystem) as writer:
        assert writer.link(ledger, plan)
        writer.write_tensors(image, Bytes(bytes(file)), plan, chunks)
        return writer.commit(state_of(step), info(step))


@contextlib.contextmanager
def lowered(kind: int, limit: int) -> Iterator[None]:
    """A limit of this process, lowered for a while."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)
