"""Two slots: the newest whole snapshot is always there, and never under a reader."""

from __future__ import annotations

import errno
import mmap
import os
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pitstop.snapshot import arena
from pitstop.snapshot.arena import HEAD_BYTES, SlotHead, choose_slot, newest_slot, plan_arena
from tests.snapshot.samples import LARGE_BYTES, Sample, fill, new_arena, sample, take
from tests.store.samples import lowered

SIZES = st.integers(0, 1 << 40)


# -- the plan --------------------------------------------------------------------


@given(SIZES, SIZES, SIZES)
def test_a_planned_arena_holds_the_snapshot(
    snapshot_bytes: int, available_bytes: int, limit_bytes: int
) -> None:
    plan = plan_arena(snapshot_bytes, available_bytes, limit_bytes)
    assert plan.slot_bytes % mmap.PAGESIZE == 0
    assert plan.slot_bytes >= arena.HEAD_BYTES + snapshot_bytes
    assert plan.size_bytes == 2 * plan.slot_bytes
    allowed_bytes = limit_bytes or available_bytes // 2
    assert (plan.backing == "memory") == (plan.size_bytes <= allowed_bytes)


def test_a_plan_leaves_room_to_grow() -> None:
    assert plan_arena(160 << 20, 1 << 40, 0).slot_bytes >= (160 + 5) << 20
    assert plan_arena(0, 1 << 40, 0).slot_bytes >= 1 << 20


@given(st.integers(1 << 30, 1 << 40))
def test_an_arena_takes_little_more_than_two_snapshots(snapshot_bytes: int) -> None:
    # The rest up to 2.1 is for the buffers of the persister, a few of 8 MiB.
    assert plan_arena(snapshot_bytes, 1 << 50, 0).size_bytes <= 2.07 * snapshot_bytes


# Two slots hold different snapshots, or nothing.
@given(st.sampled_from([[0, 0], [0, 3], [2, 3], [3, 2], [3, 0]]), st.integers(0, 4))
def test_a_chosen_slot_is_neither_the_newest_nor_read(sequences: list[int], pinned: int) -> None:
    index = choose_slot(sequences, pinned)
    if index is None:
        assert pinned == min(sequences) > 0
    elif sequences[index]:
        assert sequences[index] != pinned
        assert sequences[index] < max(sequences)


def test_a_slot_that_is_being_written_may_be_written_again() -> None:
    assert choose_slot([0, 4], pinned=0) == 0
    assert choose_slot([0, 4], pinned=4) == 0


# -- the arena -------------------------------------------------------------------


def test_snapshots_alternate_and_the_newest_is_found(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    assert newest_slot(arena.fd) is None
    places = []
    for sequence in (1, 2, 3, 4):
        take(arena, sequence, step=10 * sequence)
        found = newest_slot(arena.fd)
        assert found is not None
        offset_bytes, head = found
        assert (head.sequence, head.step) == (sequence, 10 * sequence)
        places.append(offset_bytes)
    assert places == [0, arena.plan.slot_bytes] * 2
    arena.close()


def test_a_pinned_snapshot_is_waited_for(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    take(arena, 1, 10)
    take(arena, 2, 20)
    assert arena.choose_slot(pinned=1) is None
    assert arena.choose_slot(pinned=2) == 0
    arena.close()


def test_the_older_snapshot_stays_while_the_newer_one_is_written(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    take(arena, 1, 10)
    part = sample(20)
    with pytest.raises(ValueError, match="zip"):
        fill(arena, 1, 2, 20, replace(part, tensors=part.tensors[:-1]))
    found = newest_slot(arena.fd)
    assert found is not None
    assert found[1].sequence == 1
    assert arena.choose_slot(pinned=0) == 1
    arena.close()


def test_the_older_snapshot_is_released_and_the_newest_kept(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    arena.prefault(lambda: False)
    take(arena, 1, 10)
    take(arena, 2, 20)
    arena.release_older()
    assert os.fstat(arena.fd).st_blocks * 512 == arena.plan.slot_bytes
    found = newest_slot(arena.fd)
    assert found is not None
    assert found[1].sequence == 2
    assert content(arena.fd, *found) == sample(20).file
    take(arena, 3, 30)
    assert arena.choose_slot(pinned=0) == 1
    arena.close()


class _Solid(mmap.mmap):
    """A file on a file system that cannot make holes in it."""

    def madvise(self, option: int, start: int = 0, length: int = 0, /) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def test_an_arena_that_cannot_release_the_older_one_goes_on(tmp_path: Path) -> None:
    arena = new_arena(tmp_path, backing="file")
    arena._map = _Solid(arena.fd, arena.plan.size_bytes)
    take(arena, 1, 10)
    take(arena, 2, 20)
    arena.release_older()
    take(arena, 3, 30)
    found = newest_slot(arena.fd)
    assert found is not None
    assert content(arena.fd, *found) == sample(30).file
    arena.close()


def test_fits_counts_the_header(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    most = arena.plan.slot_bytes - HEAD_BYTES
    assert arena.fits(most)
    assert not arena.fits(most + 1)
    arena.close()


@pytest.mark.parametrize("backing", ["memory", "file"])
def test_every_backing_is_nameless_and_read_through_its_descriptor(
    tmp_path: Path, backing: str
) -> None:
    arena = new_arena(tmp_path, backing=backing)
    assert os.fstat(arena.fd).st_nlink == 0
    assert list(tmp_path.iterdir()) == []
    take(arena, 1, 10)
    other = os.dup(arena.fd)
    arena.close()
    found = newest_slot(other)
    assert found is not None
    assert found[1].step == 10
    os.close(other)


def test_a_file_is_reserved_on_the_disk_of_the_run(tmp_path: Path) -> None:
    arena = new_arena(tmp_path, backing="file")
    status = os.fstat(arena.fd)
    assert status.st_dev == tmp_path.stat().st_dev
    assert status.st_blocks * 512 >= arena.plan.size_bytes
    arena.close()


def test_prefaulting_takes_the_memory_at_once(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    assert os.fstat(arena.fd).st_blocks == 0
    arena.prefault(lambda: False)
    assert os.fstat(arena.fd).st_blocks * 512 == arena.plan.size_bytes
    arena.close()


def test_prefaulting_ends_when_a_snapshot_waits(tmp_path: Path) -> None:
    arena = new_arena(tmp_path)
    arena.prefault(lambda: True)
    assert os.fstat(arena.fd).st_blocks == 0
    arena.close()


@pytest.mark.parametrize("backing", ["memory", "file"])
def test_an_arena_that_does_not_fit_leaves_nothing_open(tmp_path: Path, backing: str) -> None:
    before = open_descriptors()
    with lowered(resource.RLIMIT_FSIZE, 1 << 20), pytest.raises(OSError, match="too large"):
        new_arena(tmp_path, snapshot_bytes=1 << 20, backing=backing)
    assert open_descriptors() == before


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


# -- a writer and a reader at once -----------------------------------------------


class Recorder:
    """Takes what the writer of a slot stores, in order."""

    def __init__(self) -> None:
        self.stores: list[tuple[int, bytes]] = []

    def __setitem__(self, place: slice, data: Any) -> None:
        self.stores.append((place.start, bytes(data)))


def stores_of(sequence: int) -> list[tuple[int, bytes]]:
    recorder: Any = Recorder()
    part = sample(sequence)
    arena.write_slot(recorder, sequence, sequence, part.image, part.tensors, part.state)
    return list(recorder.stores)


class Race:
    """A trainer and a persister on one arena, advanced store by store and look by look."""

    def __init__(self) -> None:
        self.slot_bytes = plan_arena(0, 1 << 40, 0).slot_bytes
        self.fd = os.memfd_create("race")
        os.ftruncate(self.fd, 2 * self.slot_bytes)
        self.pinned = 0
        self.whole = 0
        self.reads: list[int] = []

    def trainer(self) -> Iterator[None]:
        sequences = [0, 0]
        while True:
            index = choose_slot(sequences, self.pinned)
            yield
            if index is not None:
                sequences[index] = 0
                for at, data in stores_of(self.whole + 1):
                    os.pwrite(self.fd, data, index * self.slot_bytes + at)
                    yield
                self.whole += 1
                sequences[index] = self.whole

    def persister(self) -> Iterator[None]:
        while True:
            found = newest_slot(self.fd)
            yield
            if found is not None:
                self.pinned = found[1].sequence
                yield
                if newest_slot(self.fd) == found:
                    yield from self.read(*found)
            self.pinned = 0
            yield

    def read(self, offset_bytes: int, head: arena.SlotHead) -> Iterator[None]:
        data = b""
        for start in range(0, head.image_bytes, 100):
            size = min(100, head.image_bytes - start)
            data += os.pread(self.fd, size, offset_bytes + arena.HEAD_BYTES + start)
            yield
        assert data == sample(head.sequence).file
        assert arena.read_head(self.fd, offset_bytes) == head
        self.reads.append(head.sequence)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 12)), max_size=24))
def test_a_reader_that_pinned_reads_one_whole_snapshot(turns: list[tuple[bool, int]]) -> None:
    race = Race()
    trainer, persister = race.trainer(), race.persister()
    for trains, steps in turns:
        for _ in range(steps):
            next(trainer if trains else persister)
    # The trainer is killed here; what it finished last is there.
    newest = newest_slot(race.fd)
    assert (newest[1].sequence if newest else 0) in (race.whole, race.whole + 1)
    if newest is not None:
        assert content(race.fd, *newest) == sample(newest[1].sequence).file
    assert race.reads == sorted(race.reads)
    os.close(race.fd)


def content(fd: int, offset_bytes: int, head: arena.SlotHead) -> bytes:
    return os.pread(fd, head.image_bytes, offset_bytes + arena.HEAD_BYTES)


U64 = st.integers(0, 2**64 - 1)


class Killed(BaseException):
    """The writer dies here."""


class MortalSlot:
    """Bytes of a slot whose writer dies after some of them; a memoryview to `write_slot`."""

    def __init__(self, content: bytearray, budget_bytes: int) -> None:
        self.content = content
        self.left_bytes = budget_bytes

    def __setitem__(self, place: slice, data: Any) -> None:
        part = bytes(data)[: self.left_bytes]
        self.content[place.start : place.start + len(part)] = part
        self.left_bytes -= len(data)
        if self.left_bytes < 0:
            raise Killed


def write(content: bytearray, sequence: int, part: Sample, budget_bytes: int = 1 << 30) -> int:
    """Writes a sample until the budget is used up; what is left of it."""
    target: Any = MortalSlot(content, budget_bytes)
    arena.write_slot(target, sequence, 7, part.image, part.tensors, part.state)
    return budget_bytes - int(target.left_bytes)


def part_of(content: bytearray, head: SlotHead) -> tuple[bytes, bytes]:
    """Image and state as a reader finds them."""
    state_start = HEAD_BYTES + head.image_bytes
    return (
        bytes(content[HEAD_BYTES:state_start]),
        bytes(content[state_start : state_start + head.state_bytes]),
    )


def empty() -> bytearray:
    return bytearray(HEAD_BYTES + 2 * sample(0).size_bytes)


def test_a_written_slot_is_whole() -> None:
    content, part = empty(), sample(1)
    write(content, 3, part)
    head = arena.unpack_head(bytes(content))
    assert head == SlotHead(3, part.image.size_bytes, len(part.state), 7)
    assert head.size_bytes == HEAD_BYTES + part.size_bytes
    assert part_of(content, head) == (part.file, part.state)


@pytest.mark.parametrize("before", [0, 1, 255])
def test_no_reader_takes_half_a_slot_for_a_whole_one(before: int) -> None:
    # 255 and 256, so that the sequences differ in more than one byte.
    old, new = sample(1), sample(2)
    total = write(empty(), before + 1, new)
    for cut in range(total):
        content = empty()
        if before:
            write(content, before, old)
        with pytest.raises(Killed):
            write(content, before + 1, new, cut)
        head = arena.unpack_head(bytes(content))
        if head is not None:
            assert head.sequence == before, f"killed after {cut} bytes"
            assert part_of(content, head) == (old.file, old.state)


@given(st.integers(1, 2**40), st.integers(0, 2**53))
@example(sequence=1, torn=0b1)
def test_a_header_written_in_any_order_is_whole_or_none(sequence: int, torn: int) -> None:
    # The kernel may show the bytes of the last store in any order.
    unfinished = arena.pack_unfinished_head(sequence)
    finished = arena.pack_head(SlotHead(sequence, 100, 20, 3))
    mixed = bytes(
        new if torn >> place & 1 else old
        for place, (old, new) in enumerate(zip(unfinished, finished, strict=True))
    )
    head = arena.unpack_head(mixed)
    assert head is None or mixed == finished


@given(st.builds(SlotHead, U64.filter(bool), U64, U64, U64))
def test_a_head_there_and_back(head: SlotHead) -> None:
    assert arena.unpack_head(arena.pack_head(head)) == head


@given(st.binary(max_size=80))
def test_other_bytes_are_no_head(data: bytes) -> None:
    assert arena.unpack_head(data) is None


@given(st.builds(SlotHead, U64.filter(bool), U64, U64, U64), st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_is_noticed(head: SlotHead, place: int, bit: int) -> None:
    data = bytearray(arena.pack_head(head))
    data[place % len(data)] ^= 1 << bit
    assert arena.unpack_head(bytes(data)) is None


def test_large_tensors_take_the_same_bytes() -> None:
    part = sample(1, LARGE_BYTES)
    content = bytearray(HEAD_BYTES + part.size_bytes)
    with memoryview(content) as view:
        head = arena.write_slot(view, 1, 7, part.image, part.tensors, part.state)
    assert part_of(content, head) == (part.file, part.state)


def test_tensors_that_are_not_those_of_the_image_are_refused() -> None:
    part = sample(1)
    with pytest.raises(ValueError, match="zip"):
        arena.write_slot(memoryview(empty()), 1, 7, part.image, part.tensors[:-1], part.state)


def test_reading_a_part_of_a_file() -> None:
    fd = os.memfd_create("range")
    os.write(fd, b"0123456789")
    target = bytearray(4)
    arena.read_into(fd, memoryview(target), 5)
    assert target == b"5678"
    arena.read_into(fd, memoryview(b""), 5)
    os.close(fd)


def test_a_range_beyond_the_end_is_noticed() -> None:
    fd = os.memfd_create("range")
    os.write(fd, b"0123456789")
    with pytest.raises(EOFError, match="5 bytes too short"):
        arena.read_into(fd, memoryview(bytearray(10)), 5)
    os.close(fd)
