"""Whether a checkpoint refers to the one before it; learned from what did not change."""

from __future__ import annotations

from pitstop.store.digest import StreamHasher
from pitstop.store.image import Image
from pitstop.store.increment import (
    PreviousCheckpoint,
    WritePlan,
    plan_increment,
    plan_whole,
    unchanged_share,
)
from pitstop.store.writer import SnapshotSource

_WORTHWHILE_SHARE = 0.1
"""To compare first, a snapshot is read twice; that must save at least so much writing."""

_PIECE_BYTES = 8 << 20


class Increments:
    """Plans checkpoint after checkpoint of one run.

    Dense training changes every byte, and then comparing costs a pass over the snapshot for
    nothing.  So a snapshot is compared before it is written only while the last one had enough in
    common with the one before; what they have in common is known for free, from the checksums.
    """

    def __init__(self) -> None:
        self.ledger: PreviousCheckpoint | None = None
        self._compare = False
        self._links = True
        self._buffer = memoryview(b"")

    def begin(self, ledger: PreviousCheckpoint) -> None:
        """The run is resumed from this checkpoint."""
        self.ledger = ledger
        self._compare = len(ledger.files) > 1

    def plan(
        self, image: Image, snapshot: SnapshotSource
    ) -> tuple[WritePlan, dict[str, bytes] | None]:
        """What to write of a snapshot, and its chunk digests if they are known already."""
        if self.ledger is None or not (self._compare and self._links):
            return plan_whole(image), None
        chunks = self._chunks(image, snapshot)
        return plan_increment(image, chunks, self.ledger), chunks

    def links_refused(self) -> None:
        """The file system has no hard links: every checkpoint is whole from now on."""
        self._links = False

    def committed(self, image: Image, ledger: PreviousCheckpoint) -> None:
        """A checkpoint was written: the next one may refer to it."""
        if self.ledger is not None:
            chunks = {name: held.chunks for name, held in ledger.tensors.items()}
            share = unchanged_share(image, chunks, self.ledger)
            self._compare = share >= _WORTHWHILE_SHARE
        self.ledger = ledger

    def _chunks(self, image: Image, snapshot: SnapshotSource) -> dict[str, bytes]:
        hasher = StreamHasher((place.spec.name, place.size_bytes) for place in image.placements)
        self._buffer = self._buffer or memoryview(bytearray(_PIECE_BYTES))
        for start in range(len(image.header), image.size_bytes, _PIECE_BYTES):
            piece = self._buffer[: image.size_bytes - start]
            snapshot.read_into(piece, start)
            hasher.update(piece)
        hasher.update(memoryview(b""))
        return hasher.chunks
