"""Which of two copies a run goes on from, and that no line of its history is lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.events import AttemptStarted, CheckpointCommitted
from pitstop.journal import Entry, encode
from pitstop.remote.opening import (
    MirrorChoice,
    MirrorSide,
    choose_side,
    has_saved_apart,
    have_diverged,
)


@dataclass(frozen=True)
class _Line:
    """One line of a run's history: all that it ever did, of which a copy may show a part."""

    side: MirrorSide = field(default_factory=lambda: MirrorSide(b""))

    def begins(self, seconds: float) -> _Line:
        attempt = self.side.attempt + 1
        event = AttemptStarted(attempt, ["train"], 1, 2, "host")
        line = encode(Entry(seconds, attempt, event))
        return _Line(replace(self.side, attempt=attempt, journal=self.side.journal + line))

    def saves(self, seconds: float, steps: int) -> _Line:
        number, step = self.side.newest[0] + 1, self.side.step + steps
        event = CheckpointCommitted(step, 0, f"{step:08d}", 1, 1.0, "cadence")
        line = encode(Entry(seconds, self.side.attempt, event))
        saved = self.side.saved | {(number, seconds)}
        return _Line(replace(self.side, saved=saved, step=step, journal=self.side.journal + line))


@st.composite
def _goes_on(draw: st.DrawFn, line: _Line, seconds: float) -> _Line:
    """An attempt more, with some saved states; times of two machines are never the same."""
    line = line.begins(seconds)
    for number, steps in enumerate(draw(st.lists(st.integers(1, 50), max_size=4))):
        line = line.saves(seconds + number + 1, steps)
    return line


@st.composite
def _two(draw: st.DrawFn) -> tuple[_Line, _Line, _Line]:
    """A common beginning, and what two machines have made of it."""
    begin = draw(_goes_on(_Line(), 100.0))
    one = draw(st.just(begin) | _goes_on(begin, 200.0))
    other = draw(st.just(begin) | _goes_on(begin, 300.5))
    return begin, one, other


@given(_two())
def test_no_line_is_lost_and_of_one_line_the_further_copy_is_used(
    lines: tuple[_Line, _Line, _Line],
) -> None:
    begin, one, other = lines
    local, remote = one.side, other.side
    choice = choose_side(local, remote)
    assert have_diverged(local, remote) == (begin not in (one, other))
    if not have_diverged(local, remote):
        newer = remote if len(remote.journal) > len(local.journal) else local
        assert (choice is MirrorChoice.REPLACE) == (newer is not local)
    elif choice is MirrorChoice.REPLACE:
        # The local line is put aside, as a whole.
        assert remote.step >= local.step
    else:
        # The mirror follows the local one: what it alone has is fetched before.
        assert local.step >= remote.step
        assert choice is MirrorChoice.BESIDE or remote.saved <= local.saved
    apart = local.saved - begin.side.saved
    assert has_saved_apart(local, remote) == bool(apart and other != begin)


@given(_two(), st.integers(0, 400))
def test_what_a_crash_left_of_a_line_parts_nothing(
    lines: tuple[_Line, _Line, _Line], cut: int
) -> None:
    _, line, _ = lines
    torn = replace(line.side, journal=line.side.journal[: len(line.side.journal) - cut])
    assert not have_diverged(torn, line.side)
    assert not have_diverged(line.side, torn)


def test_more_checkpoints_are_not_a_longer_line() -> None:
    begin = _Line().begins(1.0).saves(2.0, 10)
    often = begin.begins(3.0).saves(4.0, 1).saves(5.0, 1).saves(6.0, 1)
    long = begin.begins(7.0).saves(8.0, 500)
    assert choose_side(often.side, long.side) is MirrorChoice.REPLACE
    assert choose_side(long.side, often.side) is MirrorChoice.BESIDE


def test_a_side_without_a_run() -> None:
    side = _Line().begins(1.0).side
    assert choose_side(None, None) is MirrorChoice.BEGIN
    assert choose_side(side, None) is MirrorChoice.LOCAL
    assert choose_side(None, side) is MirrorChoice.FETCH


@pytest.mark.parametrize("lost", [frozenset(), frozenset({(1, 2.0)})])
def test_a_folder_that_has_lost_checkpoints_is_replaced(lost: frozenset[tuple[int, float]]) -> None:
    side = _Line().begins(1.0).saves(2.0, 10).saves(3.0, 10).side
    assert choose_side(replace(side, saved=lost), side) is MirrorChoice.REPLACE
