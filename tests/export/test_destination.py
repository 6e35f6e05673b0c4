"""Where an export goes: whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.errors import EnvironmentFault, UserError
from pitstop.export import exporting


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_place_that_is_taken_is_refused_without_force(tmp_path: Path) -> None:
    taken = tmp_path / "model.keras"
    taken.touch()
    with pytest.raises(UserError, match="--force"):
        exporting.check(taken, force=False)
    exporting.check(taken, force=True)


def test_its_folder_is_made(tmp_path: Path) -> None:
    exporting.check(tmp_path / "a" / "b" / "model.keras", force=False)
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        exporting.check(tmp_path / "file" / "model.keras", force=False)


def test_what_was_written_takes_its_name_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "model.keras"
    with exporting.written(out) as partial:
        assert partial.name.endswith("model.keras")
        partial.write_text("whole")
        assert not out.exists()
    assert out.read_text() == "whole"
    assert names_in(tmp_path) == ["model.keras"]


def test_a_folder_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "saved"
    out.mkdir()
    (out / "old").touch()
    with exporting.written(out) as partial:
        partial.mkdir()
        (partial / "new").touch()
    assert names_in(out) == ["new"]
    assert names_in(tmp_path) == ["saved"]


def write_half(out: Path) -> None:
    with exporting.written(out) as partial:
        partial.write_text("half")
        raise ZeroDivisionError


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "model.keras"
    out.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write_half(out)
    assert out.read_text() == "old"
    assert names_in(tmp_path) == ["model.keras"]


def test_nothing_written_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault), exporting.written(tmp_path / "model.keras"):
        pass
    assert names_in(tmp_path) == []
