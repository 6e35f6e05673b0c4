"""A file is read as it grows."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop import steps
from pitstop.steps import FILE_NAME
from pitstop.watch.growing_file import GrowingFile, StepCurve
from tests.watch.made_run import write_steps


def test_only_whole_lines_come_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = GrowingFile(path)
    assert file.lines() == []
    path.write_bytes(b"one\ntw")
    assert file.lines() == [b"one\n"]
    assert file.lines() == []
    with path.open("ab") as more:
        more.write(b"o\nthree\n")
    assert file.lines() == [b"two\n", b"three\n"]


def test_another_file_of_the_name_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\nrest")
    file = GrowingFile(path)
    file.lines()
    (tmp_path / "new").write_bytes(b"two\nthree\n")
    (tmp_path / "new").rename(path)
    assert file.lines() == [b"two\n", b"three\n"]
    path.write_bytes(b"x\n")
    assert file.lines() == [b"x\n"]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert GrowingFile(tmp_path / "pipe").lines() == []
    assert GrowingFile(tmp_path).lines() == []


_MOST = 4 * 256 + 5


def test_few_steps_are_all_kept_as_they_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    write_steps(path, np.linspace(1.0, 0.1, 100))
    curve = StepCurve(path)
    curve.refresh()
    assert curve.records() == list(steps.read(path))


def test_a_spike_of_one_step_in_a_million_is_kept(tmp_path: Path) -> None:
    losses = np.full(1_000_000, 0.5)
    losses[123_456], losses[654_321], losses[777_777] = 99.0, -3.0, math.nan
    path = tmp_path / FILE_NAME
    write_steps(path, losses)
    curve = StepCurve(path)
    curve.refresh()
    records = curve.records()
    assert len(records) <= _MOST
    kept = {each.step: each.loss for each in records}
    assert kept[123_457] == 99.0
    assert kept[654_322] == -3.0
    assert math.isnan(kept[777_778])
    assert [records[0].step, records[-1].step] == [1, 1_000_000]
    assert [each.step for each in records] == sorted(each.step for each in records)


@settings(deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=12))
def test_what_grows_is_as_good_as_what_was_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int]
) -> None:
    path = tmp_path_factory.mktemp("steps") / FILE_NAME
    curve = StepCurve(path)
    curve.refresh()
    losses = np.random.default_rng(len(pieces)).normal(size=sum(pieces))
    done = 0
    for count in pieces:
        write_steps(path, losses[done : done + count], first=done + 1)
        done += count
        curve.refresh()
    records = curve.records()
    values = [each.loss for each in records]
    assert len(records) <= _MOST
    assert (min(values), max(values)) == (losses.min(), losses.max())
    assert (records[0].step, records[-1].step) == (1, done)


def test_half_a_record_waits_for_its_other_half(tmp_path: Path) -> None:
    path, whole = tmp_path / FILE_NAME, tmp_path / "whole"
    write_steps(whole, np.array([0.5, 0.25]))
    data = whole.read_bytes()
    curve = StepCurve(path)
    seen = []
    for end in (3, 8, 30, 60, len(data)):
        path.write_bytes(data[:end])
        curve.refresh()
        seen.append(len(curve.records()))
    assert seen == [0, 0, 0, 1, 2]


def test_where_nothing_is_there_is_no_curve(tmp_path: Path) -> None:
    curve = StepCurve(tmp_path / FILE_NAME)
    curve.refresh()
    assert curve.records() == []
