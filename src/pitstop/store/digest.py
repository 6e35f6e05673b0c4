"""Checksums of tensors by chunks (docs/format.md), which also show what has not changed."""

from collections.abc import Iterable

from xxhash import xxh3_64, xxh3_64_digest, xxh3_64_hexdigest

CHUNK_BYTES = 256 * 1024  # bytes that one digest covers; the last chunk of a tensor may be shorter

DIGEST_BYTES = 8


def checksum(chunks: bytes) -> str:
    """The checksum of a tensor, 16 hex digits, from the digests of its chunks."""
    return xxh3_64_hexdigest(chunks)


class ChunkHasher:
    """Digests of the chunks of one tensor, whose bytes come in pieces of any size."""

    def __init__(self) -> None:
        self._digests = bytearray()
        self._open = xxh3_64()
        self._open_bytes = 0

    def update(self, data: memoryview) -> None:
        if self._open_bytes:
            first = data[: CHUNK_BYTES - self._open_bytes]
            self._add(first)
            data = data[len(first) :]
        whole_bytes = len(data) - len(data) % CHUNK_BYTES
        for start in range(0, whole_bytes, CHUNK_BYTES):
            self._digests += xxh3_64_digest(data[start : start + CHUNK_BYTES])
        if whole_bytes < len(data):
            self._add(data[whole_bytes:])

    def finish(self) -> bytes:
        if self._open_bytes:
            self._close_chunk()
        return bytes(self._digests)

    def _add(self, data: memoryview) -> None:
        self._open.update(data)
        self._open_bytes += len(data)
        if self._open_bytes == CHUNK_BYTES:
            self._close_chunk()

    def _close_chunk(self) -> None:
        self._digests += self._open.digest()
        self._open.reset()
        self._open_bytes = 0


class StreamHasher:
    """Chunk digests of tensors whose bytes follow one another without holes."""

    def __init__(self, sizes_bytes: Iterable[tuple[str, int]]) -> None:
        self._sizes = iter(sizes_bytes)
        self._hasher = ChunkHasher()
        self._present = next(self._sizes, None)
        self.chunks: dict[str, bytes] = {}

    def update(self, data: memoryview) -> list[str]:
        """Takes the next bytes; the tensors that are complete now, whose digests `chunks` holds.

        Tensors without bytes need one more call after the last byte.  `ValueError` for too many
        bytes.
        """
        complete = []
        while self._present is not None and (data or not self._present[1]):
            name, left_bytes = self._present
            part, data = data[:left_bytes], data[left_bytes:]
            self._hasher.update(part)
            self._present = (name, left_bytes - len(part))
            if len(part) == left_bytes:
                self.chunks[name] = self._hasher.finish()
                self._hasher = ChunkHasher()
                self._present = next(self._sizes, None)
                complete.append(name)
        if data:
            raise ValueError(f"{len(data)} bytes belong to no tensor")
        return complete
