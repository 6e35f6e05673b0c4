"""The record of every step, read in full and in part."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pitstop.steps import StepRecord, StepTrace, read, read_spaced


def _written(path: Path, count: int) -> list[StepRecord]:
    records = [StepRecord(step, 0, 0, 1.0 / step, 100.0 + step, 7) for step in range(1, count + 1)]
    trace = StepTrace(path)
    for record in records:
        trace.append(record)
    return records


@pytest.mark.parametrize(("count", "most"), [(1, 5), (5, 5), (7, 5), (1000, 64), (3, 1)])
def test_evenly_spaced_records(tmp_path: Path, count: int, most: int) -> None:
    path = tmp_path / "steps.bin"
    records = _written(path, count)
    found = read_spaced(path, most)
    assert len(found) == min(count, most)
    assert found[0] == records[0]
    if most > 1:
        assert found[-1] == records[-1]
    gaps = {b.step - a.step for a, b in pairwise(found)}
    assert max(gaps, default=1) - min(gaps, default=1) <= 1


def test_all_of_a_short_record(tmp_path: Path) -> None:
    path = tmp_path / "steps.bin"
    records = _written(path, 20)
    assert list(read_spaced(path, 20)) == list(read(path)) == records


def test_a_record_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "steps.bin"
    records = _written(path, 3)
    with path.open("ab") as file:
        file.write(b"\x01" * 17)
    assert list(read_spaced(path, 9)) == list(read(path)) == records


def test_no_record(tmp_path: Path) -> None:
    path = tmp_path / "steps.bin"
    assert read_spaced(path, 9) == ()
    path.write_bytes(b"something else" * 9)
    assert read_spaced(path, 9) == ()
    _written(tmp_path / "empty.bin", 0)
    assert read_spaced(tmp_path / "empty.bin", 9) == ()
