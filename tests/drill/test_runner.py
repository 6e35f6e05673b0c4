"""The folder of a drill."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.drill.runner import RESULT_FILE, make_folder, run_options
from pitstop.errors import RunFolderInvalid, RunFolderUnwritable


def test_a_new_drill_removes_the_one_before(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "a" / "drill")
    folder.run_dir("kill-at-1").mkdir()
    folder.save("result")
    assert (folder.path / RESULT_FILE).read_text() == "result"
    again = make_folder(folder.path)
    assert [path.name for path in again.path.iterdir()] == [RESULT_FILE]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    assert make_folder(tmp_path).path == tmp_path


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(RunFolderInvalid, match="other files"):
        make_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunFolderInvalid, match="is a file"):
        make_folder(tmp_path / "file")
    with pytest.raises(RunFolderUnwritable):
        make_folder(tmp_path / "file" / "drill")


def test_every_trial_has_files_of_its_own(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    places = [folder.run_dir("a"), folder.run_dir("b"), folder.log("a")]
    assert len(set(places)) == 3


def test_options_that_are_zero_are_left_out() -> None:
    assert run_options(0, halt_at_step=0, die_at_step=0) == []


def test_every_option_is_passed_on() -> None:
    words = run_options(3, halt_at_step=9, die_at_step=7)
    assert words == ["--every", "3steps", "--halt-at-step", "9", "--die-at-step", "7"]
