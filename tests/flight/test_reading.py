"""Reading samples back, all of them or some."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.flight.files import FlightFiles, read_spaced
from tests.flight.samples import ALL, at


def _recorded(folder: Path, count: int) -> None:
    files = FlightFiles(folder)
    for second in range(count):
        files.append(at(second))
    files.close()


def test_half_of_some_are_the_last_and_the_others_are_spread(tmp_path: Path) -> None:
    _recorded(tmp_path, 100)
    numbers = [each.number for each in read_spaced(tmp_path, 20)]
    assert numbers == [*range(0, 90, 9), *range(90, 100)]


@pytest.mark.parametrize("count", [1, 7, 20])
def test_all_of_a_few(tmp_path: Path, count: int) -> None:
    _recorded(tmp_path, count)
    assert read_spaced(tmp_path, 40) == read_spaced(tmp_path, ALL)
    assert len(read_spaced(tmp_path, ALL)) == count


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    _recorded(tmp_path, 5)
    file = tmp_path / "flight.0.a.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    assert [each.number for each in read_spaced(tmp_path, 40)] == [0, 1, 2, 3]


def test_nothing_was_recorded(tmp_path: Path) -> None:
    assert read_spaced(tmp_path, 40) == ()
