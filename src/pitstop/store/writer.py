"""Writes one checkpoint so that it is either whole on the disk or not there.

The order is the commit: tensors, state and manifest reach the disk in a hidden
folder, then the folder's names, and then one rename makes it a checkpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from xxhash import xxh3_64_hexdigest

from pitstop.errors import CheckpointWriteFailed, InternalFault
from pitstop.store.digest import Span, SpanHasher
from pitstop.store.disk_fault import explain
from pitstop.store.filesystem import REAL_FILESYSTEM, Filesystem, created_file
from pitstop.store.image import Image
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
from pitstop.store.names import checkpoint_names, first_free, partial_name

PIECE_BYTES = 8 * 1024 * 1024
"""Bytes hashed and written at a time: small enough to stay in a CPU cache."""

_HEADER = "__metadata__"
"""Span name of the image header: the one name that no tensor can have."""


class CheckpointWriter:
    """A context in which one checkpoint is written and committed.

    Leaving it without a commit, by an exception or not, removes what was
    written.  The caller holds the run's lock.
    """

    def __init__(
        self, checkpoints_dir: Path, sequence: int, filesystem: Filesystem = REAL_FILESYSTEM
    ) -> None:
        self._checkpoints_dir = checkpoints_dir
        self._sequence = sequence
        self._filesystem = filesystem
        self._partial_dir = checkpoints_dir / partial_name(sequence)
        self._files: dict[str, FileEntry] = {}
        self._tensors: dict[str, TensorEntry] = {}

    def __enter__(self) -> CheckpointWriter:
        with self._failures_explained():
            self._filesystem.remove_tree(self._partial_dir)
            self._filesystem.make_dir(self._partial_dir)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After a commit the folder has another name and nothing is removed.
        self._filesystem.remove_tree(self._partial_dir)

    def write_tensors(self, image: Image, chunks: Iterable[memoryview]) -> None:
        """Streams the tensors file to disk and hashes it on the way.

        Args:
            image: the layout of the file.
            chunks: the bytes of the whole file, header included, in order and
                cut anywhere.

        Raises:
            CheckpointWriteFailed: the disk refused.
            InternalFault: the chunks are not the bytes of this image.
        """
        hasher = SpanHasher(_spans(image))
        with self._failures_explained(), self._created(TENSORS_FILE) as fd:
            self._filesystem.allocate(fd, image.size_bytes)
            digests = self._stream(fd, hasher, _pieces(chunks))
        if digests.pop(_HEADER, "") != xxh3_64_hexdigest(image.header):
            raise InternalFault("The snapshot does not begin with its own header.")
        if hasher.position_bytes != image.size_bytes:
            raise InternalFault(
                f"The snapshot has {hasher.position_bytes} bytes, its header"
                f" promises {image.size_bytes}."
            )
        self._files[TENSORS_FILE] = FileEntry(hasher.position_bytes, hasher.whole())
        self._tensors = _tensor_entries(image, digests)

    def commit(self, state: bytes, info: CheckpointInfo) -> tuple[Path, Manifest]:
        """Makes the checkpoint durable; its folder and its manifest.

        Raises:
            CheckpointWriteFailed: the disk refused; earlier checkpoints are intact.
            InternalFault: the tensors were not written before.
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

    def _stream(self, fd: int, hasher: SpanHasher, pieces: Iterable[memoryview]) -> dict[str, str]:
        digests: dict[str, str] = {}
        for piece in pieces:
            start_bytes = hasher.position_bytes
            digests.update(hasher.update(piece))
            self._filesystem.write(fd, piece)
            self._filesystem.start_writeback(fd, start_bytes, len(piece))
        return digests

    def _write_file(self, name: str, data: bytes) -> None:
        with self._created(name) as fd:
            self._filesystem.write(fd, memoryview(data))

    def _created(self, name: str) -> contextlib.AbstractContextManager[int]:
        return created_file(self._filesystem, self._partial_dir / name)

    @contextlib.contextmanager
    def _failures_explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            fault = explain(error)
            raise CheckpointWriteFailed(
                f"No checkpoint could be written to {self._checkpoints_dir}: {fault.cause}.",
                f"{fault.remedy} The checkpoints before it are intact.",
            ) from error


def _spans(image: Image) -> Iterator[Span]:
    yield Span(_HEADER, 0, len(image.header))
    for place in image.placements:
        yield Span(place.spec.name, place.offset_bytes, place.end_bytes)


def _pieces(chunks: Iterable[memoryview]) -> Iterator[memoryview]:
    for chunk in chunks:
        for start_bytes in range(0, len(chunk), PIECE_BYTES):
            yield chunk[start_bytes : start_bytes + PIECE_BYTES]


def _tensor_entries(image: Image, digests: dict[str, str]) -> dict[str, TensorEntry]:
    return {
        place.spec.name: TensorEntry(
            place.spec.dtype,
            place.spec.shape,
            place.offset_bytes,
            place.size_bytes,
            digests[place.spec.name],
        )
        for place in image.placements
    }
