"""Writes one checkpoint, whole or not at all: see "The commit" in docs/format.md."""

import contextlib
import mmap
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from xxhash import xxh3_64_hexdigest

from pitstop.errors import CheckpointWriteFailed, InternalFault
from pitstop.store.digest import StreamHasher, checksum
from pitstop.store.disk_fault import explained
from pitstop.store.filesystem import REAL_FILESYSTEM, Filesystem, created_file
from pitstop.store.image import Image
from pitstop.store.increment import Extent, PreviousCheckpoint, WritePlan, plan_whole
from pitstop.store.manifest import (
    MANIFEST_FILE,
    STATE_FILE,
    TENSORS_FILE,
    CheckpointInfo,
    FileEntry,
    Manifest,
    TensorEntry,
    encode,
)
from pitstop.store.names import PARTIAL_PREFIX, checkpoint_names, first_free

BUFFER_BYTES = 8 << 20
"""Bytes written at a time: enough to keep a disk busy, few enough for a CPU's cache."""

BUFFERS = 3  # one being filled, one being written, one ready in between


class Stage:
    """Page-aligned buffers, and the thread that writes them; fresh memory would be slow."""

    def __init__(self) -> None:
        self.buffers = tuple(memoryview(mmap.mmap(-1, BUFFER_BYTES)) for _ in range(BUFFERS))
        self.pool = ThreadPoolExecutor(1, "pitstop-writer")


@dataclass(eq=False)
class StagedFile:
    """A file that is appended to through the buffers of a stage, in order; nothing is synced.

    A write that fails raises its OSError at a later call.
    """

    _stage: Stage
    _filesystem: Filesystem
    _fd: int  # at the present end of the file
    _pace: Callable[[], None] = lambda: None  # called by the writing thread

    def __post_init__(self) -> None:
        self._turn = 0
        self._filled_bytes = 0
        self._under_way: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._submit()
                while self._under_way:
                    self._under_way.popleft().result()
        finally:
            # The buffers and the file are the caller's again: nothing may be under way.
            for future in self._under_way:
                future.cancel()
            wait(self._under_way)

    def room(self, most_bytes: int) -> memoryview:
        """Where the next bytes go: at least one, at most `most_bytes`; then call `filled`."""
        if self._filled_bytes == BUFFER_BYTES:
            self._submit()
        buffer = self._stage.buffers[self._turn]
        return buffer[self._filled_bytes : self._filled_bytes + most_bytes]

    def filled(self, size_bytes: int) -> None:
        self._filled_bytes += size_bytes

    def append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            room = self.room(len(view))
            room[:] = view[: len(room)]
            self.filled(len(room))
            view = view[len(room) :]

    def _submit(self) -> None:
        piece = self._stage.buffers[self._turn][: self._filled_bytes]
        self._under_way.append(self._stage.pool.submit(self._write, piece))
        self._turn = (self._turn + 1) % BUFFERS
        self._filled_bytes = 0
        if len(self._under_way) == BUFFERS:
            self._under_way.popleft().result()

    def _write(self, piece: memoryview) -> None:
        self._filesystem.write_past_cache(self._fd, piece)
        self._pace()


class SnapshotSource(Protocol):
    """The bytes of a snapshot, laid out as its image."""

    def read_into(self, target: memoryview, offset_bytes: int) -> None:
        """Fills `target` with the bytes from an offset of the image on."""
        ...


class CheckpointWriter:
    """Writes one checkpoint; removes it without a commit.  The caller holds the run's lock."""

    def __init__(
        self,
        checkpoints_dir: Path,
        sequence: int,
        filesystem: Filesystem = REAL_FILESYSTEM,
        stage: Stage | None = None,
    ) -> None:
        self._checkpoints_dir = checkpoints_dir
        self._sequence = sequence
        self._filesystem = filesystem
        self._stage = stage
        self._partial_dir = checkpoints_dir / f"{PARTIAL_PREFIX}{sequence}"
        self._files: dict[str, FileEntry] = {}
        self.chunks: dict[str, bytes] = {}
        self._tensors: dict[str, TensorEntry] = {}

    def __enter__(self) -> Self:
        self._clear()
        return self

    def __exit__(self, *_: object) -> None:
        # After a commit the folder has another name and nothing is removed.
        self._filesystem.remove_tree(self._partial_dir)

    def link(self, ledger: PreviousCheckpoint, plan: WritePlan) -> bool:
        """Takes over the files of earlier checkpoints that the plan refers to, before any writing.

        False, and the folder is empty again, where the file system knows no hard links.
        """
        try:
            for name in plan.links:
                self._filesystem.link(ledger.path_of(name), self._partial_dir / name)
        except OSError:
            self._clear()
            return False
        self._files.update(plan.links)
        return True

    def write_tensors(
        self,
        image: Image,
        snapshot: SnapshotSource,
        plan: WritePlan | None = None,
        chunks: Mapping[str, bytes] | None = None,
        pace: Callable[[], None] = lambda: None,
    ) -> None:
        """Streams a snapshot's tensors to disk; `pace`, called after each piece, may wait.

        `chunks`, the digests of the tensors' chunks, are needed for a plan that leaves something
        out. Raises `CheckpointWriteFailed` where the disk refuses.
        """
        plan = plan or plan_whole(image)
        hasher = StreamHasher((p.spec.name, p.size_bytes) for p in image.placements)
        with self._failures_explained(), self._created(TENSORS_FILE) as fd:
            self._filesystem.allocate(fd, plan.image.size_bytes)
            with StagedFile(self._stage or Stage(), self._filesystem, fd, pace) as file:
                file.append(plan.image.header)
                for extent in plan.extents:
                    _copy(snapshot, extent, file, None if chunks else hasher)
        hasher.update(memoryview(b""))
        self.chunks = dict(chunks or hasher.chunks)
        header = xxh3_64_hexdigest(plan.image.header)
        self._files[TENSORS_FILE] = FileEntry(plan.image.size_bytes, header)
        self._tensors = {
            place.spec.name: TensorEntry(
                place.spec.dtype,
                place.spec.shape,
                place.size_bytes,
                checksum(self.chunks[place.spec.name]),
                plan.parts[place.spec.name],
            )
            for place in image.placements
        }

    def commit(self, state: bytes, info: CheckpointInfo) -> tuple[Path, Manifest]:
        """Makes the checkpoint durable; its folder and its manifest.

        Raises `CheckpointWriteFailed` where the disk refuses, or `InternalFault` without tensors.
        """
        if TENSORS_FILE not in self._files:
            raise InternalFault("A checkpoint was committed without its tensors.")
        files = {**self._files, STATE_FILE: FileEntry(len(state), xxh3_64_hexdigest(state))}
        manifest = Manifest(self._sequence, info, files, self._tensors)
        with self._failures_explained():
            self._write_file(STATE_FILE, state)
            self._write_file(MANIFEST_FILE, encode(manifest))
            self._filesystem.sync_dir(self._partial_dir)
            target = first_free(self._checkpoints_dir, checkpoint_names(info.step))
            self._filesystem.rename(self._partial_dir, target)
            self._filesystem.sync_dir(self._checkpoints_dir)
        return target, manifest

    def _write_file(self, name: str, data: bytes) -> None:
        with self._created(name) as fd:
            self._filesystem.write(fd, memoryview(data))

    def _created(self, name: str) -> contextlib.AbstractContextManager[int]:
        return created_file(self._filesystem, self._partial_dir / name)

    def _clear(self) -> None:
        with self._failures_explained():
            self._filesystem.remove_tree(self._partial_dir)
            self._filesystem.make_dir(self._partial_dir)

    def _failures_explained(self) -> contextlib.AbstractContextManager[None]:
        return explained(
            f"No checkpoint could be written to {self._checkpoints_dir}",
            CheckpointWriteFailed,
            "Earlier checkpoints are intact.",
        )


def _copy(
    snapshot: SnapshotSource, extent: Extent, file: StagedFile, hasher: StreamHasher | None
) -> None:
    done = 0
    while done < extent.size_bytes:
        room = file.room(extent.size_bytes - done)
        snapshot.read_into(room, extent.offset_bytes + done)
        if hasher:
            hasher.update(room)
        file.filled(len(room))
        done += len(room)
