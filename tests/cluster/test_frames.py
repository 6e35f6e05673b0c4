"""Frames that were changed, repeated, left out or sent back are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.cluster import conversation
from pitstop.cluster.conversation import HEAD, LEADER, MEMBER, PROOF_BYTES, SealBroken, Sealer
from pitstop.cluster.messages import Beat, StopProposal
from pitstop.link.messages import Message

KEY = conversation.handshake_key(b"secret of the cluster", b"a" * 32, b"b" * 32)
BEAT = Beat("running", "train", 7)


def split(frame: bytes) -> tuple[bytes, bytes]:
    length = conversation.length_of(frame[: HEAD.size])
    text, seal = frame[HEAD.size : HEAD.size + length], frame[HEAD.size + length :]
    assert len(seal) == PROOF_BYTES
    return text, seal


def opened(side: bytes, *written: bytes) -> list[Message]:
    opener = Sealer(KEY, side)
    return [opener.open(*split(frame)) for frame in written]


def test_what_was_sealed_is_opened_in_order() -> None:
    sealer = Sealer(KEY, MEMBER)
    messages = [BEAT, StopProposal("Ctrl-C"), Beat("stopping", "train")]
    assert opened(MEMBER, *map(sealer.frame, messages)) == messages


@pytest.mark.parametrize("order", [(0, 0), (1, 0), (1,), (0, 2)])
def test_a_frame_out_of_order_is_refused(order: tuple[int, ...]) -> None:
    sealer = Sealer(KEY, MEMBER)
    written = [sealer.frame(BEAT) for _ in range(3)]
    with pytest.raises(SealBroken):
        opened(MEMBER, *(written[number] for number in order))


def test_a_frame_that_comes_back_is_refused() -> None:
    with pytest.raises(SealBroken):
        opened(LEADER, Sealer(KEY, MEMBER).frame(BEAT))


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_refused(place: int, change: int) -> None:
    frame = bytearray(Sealer(KEY, MEMBER).frame(BEAT))
    frame[HEAD.size + place % (len(frame) - HEAD.size)] ^= change
    with pytest.raises(SealBroken):
        opened(MEMBER, bytes(frame))


@given(st.binary(max_size=200))
def test_what_a_member_writes_is_checked_as_well(text: bytes) -> None:
    """A member of another version may seal anything."""
    seal = conversation._mac(KEY, b"frame", MEMBER, bytes(8), text)
    try:
        message = Sealer(KEY, MEMBER).open(text, seal)
    except SealBroken:
        return
    assert isinstance(message, Message)


def test_a_frame_of_any_size_is_not_waited_for() -> None:
    with pytest.raises(SealBroken):
        conversation.length_of(HEAD.pack(conversation.MOST_BYTES + 1))
    with pytest.raises(ValueError, match="bytes"):
        Sealer(KEY, MEMBER).frame(StopProposal("x" * conversation.MOST_BYTES))


def test_proofs_differ_by_side_secret_and_numbers() -> None:
    words = [(b"s", LEADER, b"1", b"2"), (b"s", MEMBER, b"1", b"2"), (b"t", LEADER, b"1", b"2")]
    words += [(b"s", LEADER, b"12", b""), (b"s", LEADER, b"2", b"1")]
    assert len({conversation.proof(*each) for each in words}) == len(words)
