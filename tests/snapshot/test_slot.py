"""A slot is whole or it is none, wherever its writer dies."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pitstop.snapshot import slot
from pitstop.snapshot.slot import HEAD_BYTES, SlotHead
from tests.snapshot.samples import LARGE_BYTES, Sample, sample

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
    slot.write_slot(target, sequence, 7, part.image, part.tensors, part.state)
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
    head = slot.unpack_head(bytes(content))
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
        head = slot.unpack_head(bytes(content))
        if head is not None:
            assert head.sequence == before, f"killed after {cut} bytes"
            assert part_of(content, head) == (old.file, old.state)


@given(st.integers(1, 2**40), st.integers(0, 2**53))
@example(sequence=1, torn=0b1)
def test_a_header_written_in_any_order_is_whole_or_none(sequence: int, torn: int) -> None:
    # The kernel may show the bytes of the last store in any order.
    unfinished = slot.pack_unfinished_head(sequence)
    finished = slot.pack_head(SlotHead(sequence, 100, 20, 3))
    mixed = bytes(
        new if torn >> place & 1 else old
        for place, (old, new) in enumerate(zip(unfinished, finished, strict=True))
    )
    head = slot.unpack_head(mixed)
    assert head is None or mixed == finished


@given(st.builds(SlotHead, U64.filter(bool), U64, U64, U64))
def test_a_head_there_and_back(head: SlotHead) -> None:
    assert slot.unpack_head(slot.pack_head(head)) == head


@given(st.binary(max_size=80))
def test_other_bytes_are_no_head(data: bytes) -> None:
    assert slot.unpack_head(data) is None


@given(st.builds(SlotHead, U64.filter(bool), U64, U64, U64), st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_is_noticed(head: SlotHead, place: int, bit: int) -> None:
    data = bytearray(slot.pack_head(head))
    data[place % len(data)] ^= 1 << bit
    assert slot.unpack_head(bytes(data)) is None


def test_large_tensors_take_the_same_bytes() -> None:
    part = sample(1, LARGE_BYTES)
    content = bytearray(HEAD_BYTES + part.size_bytes)
    with memoryview(content) as view:
        head = slot.write_slot(view, 1, 7, part.image, part.tensors, part.state)
    assert part_of(content, head) == (part.file, part.state)


def test_tensors_that_are_not_those_of_the_image_are_refused() -> None:
    part = sample(1)
    with pytest.raises(ValueError, match="zip"):
        slot.write_slot(memoryview(empty()), 1, 7, part.image, part.tensors[:-1], part.state)


def test_reading_a_part_of_a_file() -> None:
    fd = os.memfd_create("range")
    os.write(fd, b"0123456789")
    target = bytearray(4)
    slot.read_into(fd, memoryview(target), 5)
    assert target == b"5678"
    slot.read_into(fd, memoryview(b""), 5)
    os.close(fd)


def test_a_range_beyond_the_end_is_noticed() -> None:
    fd = os.memfd_create("range")
    os.write(fd, b"0123456789")
    with pytest.raises(EOFError, match="5 bytes too short"):
        slot.read_into(fd, memoryview(bytearray(10)), 5)
    os.close(fd)
