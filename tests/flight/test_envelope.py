"""Lows and highs at several scales."""

from __future__ import annotations

from pitstop.flight.forecast import BLOCK_SECONDS, MOST_BLOCKS, Block, Envelope, extended


def after(values: dict[float, float]) -> Envelope:
    envelope = Envelope()
    for time_seconds, value in values.items():
        envelope = extended(envelope, time_seconds, value)
    return envelope


def test_a_block_has_the_lowest_and_the_highest() -> None:
    envelope = after({10.0: 5.0, 11.0: 3.0, 12.0: 9.0})
    assert envelope.scales[0].blocks == (Block(10.0, 3.0, 5.0), Block(12.0, 9.0, 9.0))
    assert envelope.scales[1].blocks == (Block(8.0, 3.0, 9.0),)
    assert envelope.highest == 9.0


def test_the_newest_block_is_not_told_before_it_is_over() -> None:
    [low] = after({10.0: 5.0, 11.0: 3.0, 12.0: 9.0}).scales[0].lows()
    assert (low.time_seconds, low.value) == (10.0, 3.0)


def test_it_takes_no_more_room_for_days() -> None:
    envelope = after({float(second): 1.0 for second in range(0, 400_000, 2)})
    assert [len(scale.blocks) for scale in envelope.scales] == [MOST_BLOCKS] * len(BLOCK_SECONDS)


def test_the_highest_is_remembered_when_its_block_is_not() -> None:
    envelope = after({0.0: 100.0, **{float(second): 1.0 for second in range(1, 500)}})
    assert max(block.high for block in envelope.scales[0].blocks) == 1.0
    assert envelope.highest == 100.0
