"""What is kept of many samples, and what a crash leaves of them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pitstop.flight import files
from pitstop.flight.files import FlightFiles, read_spaced
from tests.flight.samples import ALL, SAMPLE, at


def write(folder: Path, numbers: range) -> None:
    with_files = FlightFiles(folder)
    for number in numbers:
        with_files.append(at(number))
    with_files.close()


def test_a_short_run_is_kept_in_full(tmp_path: Path) -> None:
    write(tmp_path, range(1000))
    assert [sample.number for sample in read_spaced(tmp_path, ALL)] == list(range(1000))


def test_the_last_minutes_are_in_full_and_the_rest_is_thinned(tmp_path: Path) -> None:
    write(tmp_path, range(20_000))
    numbers = [sample.number for sample in read_spaced(tmp_path, ALL)]
    assert numbers == sorted(set(numbers))
    assert numbers[0] == 0
    assert numbers[-600:] == list(range(19_400, 20_000))
    assert [number for number in numbers if number < 8_000] == list(range(0, 8_000, 100))
    assert [number for number in numbers if 14_000 <= number < 18_000] == list(
        range(14_000, 18_000, 10)
    )


def test_the_disk_it_takes_has_a_bound(tmp_path: Path) -> None:
    write(tmp_path, range(5_000))
    sizes = {path.name: path.read_bytes().count(b"\n") for path in tmp_path.iterdir()}
    assert max(sizes.values()) <= files.SAMPLES_PER_FILE
    assert len(sizes) <= 2 * files.LEVELS


def test_large_samples_take_no_more(tmp_path: Path) -> None:
    """As many as a run with hundreds of data workers has."""
    large = at(0, processes=SAMPLE.processes * 100)
    writer = FlightFiles(tmp_path)
    for number in range(200):
        writer.append(replace(large, number=number))
    writer.close()
    assert all(path.stat().st_size <= files.BYTES_PER_FILE for path in tmp_path.glob("flight.*"))
    assert read_spaced(tmp_path, ALL)[-1].number == 199


def test_half_a_line_costs_one_sample(tmp_path: Path) -> None:
    write(tmp_path, range(3))
    path = tmp_path / files.file_name(0)
    os.truncate(path, path.stat().st_size - 20)
    assert [sample.number for sample in read_spaced(tmp_path, ALL)] == [0, 1]


def test_nothing_recorded_is_no_samples(tmp_path: Path) -> None:
    assert read_spaced(tmp_path / "nowhere", ALL) == ()
