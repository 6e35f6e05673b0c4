"""Checksums of a tensors file in one pass: the whole and every part of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xxhash import xxh3_64


@dataclass(frozen=True)
class Span:
    """A named part of a file, from start_bytes up to but without end_bytes."""

    name: str
    start_bytes: int
    end_bytes: int


class SpanHasher:
    """Hashes a stream of bytes as a whole and span by span.

    The stream may be cut into chunks anywhere; spans must be in order and must
    not overlap.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self.position_bytes = 0
        self._whole = xxh3_64()
        self._spans = iter(spans)
        self._span = next(self._spans, None)
        self._part = xxh3_64()

    def update(self, data: memoryview) -> dict[str, str]:
        """Takes the next bytes; the checksums of the spans that end in them."""
        self._whole.update(data)
        start = self.position_bytes
        self.position_bytes += len(data)
        finished: dict[str, str] = {}
        while self._span is not None:
            self._update_part(self._span, data, start)
            if self._span.end_bytes > self.position_bytes:
                break
            finished[self._span.name] = self._part.hexdigest()
            self._span, self._part = next(self._spans, None), xxh3_64()
        return finished

    def whole(self) -> str:
        """The checksum of everything taken so far."""
        return self._whole.hexdigest()

    def _update_part(self, span: Span, data: memoryview, data_start_bytes: int) -> None:
        low = max(span.start_bytes - data_start_bytes, 0)
        high = span.end_bytes - data_start_bytes
        if low < high:
            self._part.update(data[low:high])
