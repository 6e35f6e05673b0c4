"""What of a snapshot must be written, and what the last checkpoint holds already.  Pure.

Frozen layers and cold rows of an embedding do not change.  The new checkpoint gets the files that
hold them as hard links: each folder is complete, and the kernel counts who still needs a file.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from pitstop.record import Frozen
from pitstop.store.digest import CHUNK_BYTES, DIGEST_BYTES
from pitstop.store.image import Image, Placement, TensorSpec, plan_image
from pitstop.store.manifest import TENSORS_FILE, FileEntry, Manifest, Part, TensorEntry
from pitstop.store.names import lasting_name

LEAST_KEPT_BYTES = 1 << 20
"""Smaller pieces of earlier files, or smaller parts of one file in all, are written again."""

LEAST_LIVE_SHARE = 0.5
"""A file is referred to while this much of it is current: disk use stays below twice the state."""

MOST_FILES = 8  # files that one checkpoint refers to, at most


class PreviousTensor(Frozen):
    """A tensor of the last checkpoint: its entry, and the digests of its chunks."""

    entry: TensorEntry
    chunks: bytes


class PreviousCheckpoint(Frozen):
    """What the last checkpoint holds, for the next one to refer to, by lasting names of files."""

    folder: Path
    sequence: int
    files: Mapping[str, FileEntry]
    tensors: Mapping[str, PreviousTensor]

    def path_of(self, name: str) -> Path:
        own = name == lasting_name(self.sequence)
        return self.folder / (TENSORS_FILE if own else name)


class Extent(Frozen):
    """Bytes of the snapshot's image, from its start."""

    offset_bytes: int
    size_bytes: int


class WritePlan(Frozen):
    """How a snapshot becomes a checkpoint."""

    image: Image  # the new file
    extents: tuple[Extent, ...]  # what it takes from the snapshot, in its own order
    parts: Mapping[str, tuple[Part, ...]]  # by tensor, where its bytes will be
    links: Mapping[str, FileEntry]  # files of earlier checkpoints, by lasting name


class _Segment(Frozen):
    """Some bytes of a tensor: kept in `part`, or to be written."""

    start_bytes: int
    end_bytes: int
    part: Part | None

    @property
    def size_bytes(self) -> int:
        return self.end_bytes - self.start_bytes


def ledger_of(folder: Path, manifest: Manifest, chunks: Mapping[str, bytes]) -> PreviousCheckpoint:
    def last(name: str) -> str:
        return lasting_name(manifest.sequence) if name == TENSORS_FILE else name

    def held(entry: TensorEntry, digests: bytes) -> PreviousTensor:
        parts = tuple(replace(part, file=last(part.file)) for part in entry.parts)
        return PreviousTensor(replace(entry, parts=parts), digests)

    used = {part.file for entry in manifest.tensors.values() for part in entry.parts}
    files = {last(name): manifest.files[name] for name in sorted(used)}
    tensors = {name: held(entry, chunks[name]) for name, entry in manifest.tensors.items()}
    return PreviousCheckpoint(folder, manifest.sequence, files, tensors)


def unchanged_share(image: Image, chunks: Mapping[str, bytes], ledger: PreviousCheckpoint) -> float:
    kept_bytes = sum(
        segment.size_bytes
        for place in image.placements
        for segment in _segments(place, chunks, ledger)
        if segment.part
    )
    return kept_bytes / max(sum(place.size_bytes for place in image.placements), 1)


def plan_whole(image: Image) -> WritePlan:
    data_bytes = image.size_bytes - len(image.header)
    parts = {place.spec.name: _own_parts(place) for place in image.placements}
    return WritePlan(image, (Extent(len(image.header), data_bytes),), parts, {})


def plan_increment(
    image: Image, chunks: Mapping[str, bytes], ledger: PreviousCheckpoint
) -> WritePlan:
    found = {place.spec.name: tuple(_segments(place, chunks, ledger)) for place in image.placements}
    worthy = _worthy_files(found.values(), ledger.files)
    segments = {name: _tidied(each, worthy) for name, each in found.items()}
    pieces = {
        place.spec.name: tuple(_pieces(place, segments[place.spec.name]))
        for place in image.placements
    }
    specs = [spec for each in pieces.values() for spec, _ in each]
    if len({spec.name for spec in specs}) < len(specs):
        return plan_whole(image)  # A name that looks like one of our pieces.
    own = plan_image(specs)
    places = {place.spec.name: place for place in own.placements}
    parts = {
        name: tuple(_parts(each, [places[spec.name] for spec, _ in pieces[name]]))
        for name, each in segments.items()
    }
    extents = {spec.name: extent for each in pieces.values() for spec, extent in each}
    linked = {part.file for each in parts.values() for part in each} - {TENSORS_FILE}
    return WritePlan(
        own,
        tuple(joined(extents[place.spec.name] for place in own.placements)),
        parts,
        {name: ledger.files[name] for name in sorted(linked)},
    )


def _segments(
    place: Placement, chunks: Mapping[str, bytes], ledger: PreviousCheckpoint
) -> Iterator[_Segment]:
    """The tensor cut into parts that are unchanged and parts that are not."""
    spec, held = place.spec, ledger.tensors.get(place.spec.name)
    if held is None or (held.entry.dtype, held.entry.shape) != (spec.dtype, spec.shape):
        yield _Segment(0, place.size_bytes, None)
        return
    for start, end, same in _runs(chunks[spec.name], held.chunks, place.size_bytes):
        if same:
            yield from _kept(held.entry.parts, start, end)
        else:
            yield _Segment(start, end, None)


def _runs(new: bytes, old: bytes, size_bytes: int) -> Iterator[tuple[int, int, bool]]:
    """Runs of chunks that are all equal or all different: start, end, whether equal."""
    places = range(0, len(new), DIGEST_BYTES)
    start = 0
    for same, run in groupby(
        places, lambda at: new[at : at + DIGEST_BYTES] == old[at : at + DIGEST_BYTES]
    ):
        *_, last = run
        end = min((last // DIGEST_BYTES + 1) * CHUNK_BYTES, size_bytes)
        yield start, end, same
        start = end


def _kept(parts: Iterable[Part], start: int, end: int) -> Iterator[_Segment]:
    at = 0
    for part in parts:
        low, high = max(start, at), min(end, at + part.size_bytes)
        if low < high:
            yield _Segment(low, high, Part(part.file, part.offset_bytes + low - at, high - low))
        at += part.size_bytes


def _worthy_files(
    found: Iterable[tuple[_Segment, ...]], files: Mapping[str, FileEntry]
) -> frozenset[str]:
    live_bytes: Counter[str] = Counter()
    for segments in found:
        for segment in segments:
            if segment.part:
                live_bytes[segment.part.file] += segment.size_bytes
    return frozenset(
        name
        for name, size_bytes in live_bytes.most_common(MOST_FILES)
        if size_bytes >= max(LEAST_KEPT_BYTES, LEAST_LIVE_SHARE * files[name].size_bytes)
    )


def _tidied(segments: tuple[_Segment, ...], worthy: frozenset[str]) -> tuple[_Segment, ...]:
    found: list[_Segment] = []
    for segment in segments:
        small = segment.size_bytes < LEAST_KEPT_BYTES and len(segments) > 1
        worth_it = segment.part and not small and segment.part.file in worthy
        if worth_it or not found or found[-1].part:
            found.append(segment if worth_it else replace(segment, part=None))
        else:
            found[-1] = replace(found[-1], end_bytes=segment.end_bytes)
    return tuple(each for each in found if each.size_bytes)


def _pieces(
    place: Placement, segments: tuple[_Segment, ...]
) -> Iterator[tuple[TensorSpec, Extent]]:
    for segment in segments:
        if segment.part is None:
            whole = segment.size_bytes == place.size_bytes
            name = f"{place.spec.name}@{segment.start_bytes}"
            spec = place.spec if whole else TensorSpec(name, "U8", (segment.size_bytes,))
            yield spec, Extent(place.offset_bytes + segment.start_bytes, segment.size_bytes)


def _parts(segments: Iterable[_Segment], written: Iterable[Placement]) -> Iterator[Part]:
    places = iter(written)
    for segment in segments:
        yield segment.part or _own_parts(next(places))[0]


def _own_parts(place: Placement) -> tuple[Part, ...]:
    empty = not place.size_bytes
    return () if empty else (Part(TENSORS_FILE, place.offset_bytes, place.size_bytes),)


_Range = TypeVar("_Range", Extent, Part)


def joined(ranges: Iterable[_Range]) -> list[_Range]:
    """The same bytes in fewer ranges: a range that begins where the last one ends extends it."""
    found: list[_Range] = []
    for each in ranges:
        last = found[-1] if found else each
        end_bytes = last.offset_bytes + last.size_bytes
        if found and each == replace(last, offset_bytes=end_bytes, size_bytes=each.size_bytes):
            found[-1] = replace(last, size_bytes=last.size_bytes + each.size_bytes)
        else:
            found.append(each)
    return found
