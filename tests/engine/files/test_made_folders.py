"""Folders that an earlier attempt has made may be made again, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ATTEMPT = """
import os, sys
from pathlib import Path
from pitstop.engine.files.made_folders import MADE
os.makedirs(sys.argv[1], exist_ok=True)
MADE.watch(Path(sys.argv[1]))
{}
"""


def attempt(tmp_path: Path, number: int, code: str) -> str:
    """Runs code as attempt NUMBER in a folder; the last line of what it says."""
    script = tmp_path / f"script{number}.py"
    script.write_text(ATTEMPT.format(code))
    folder = tmp_path / "run" / "attempts" / str(number)
    ended = subprocess.run(
        [sys.executable, str(script), str(folder)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    return (ended.stderr.strip().splitlines() or ["made"])[-1]


@pytest.mark.parametrize(
    "code", ["os.mkdir('out')", "os.makedirs('out/a/b')", "Path('out').mkdir()", "os.mkdir(b'out')"]
)
def test_a_folder_of_an_earlier_attempt_is_made_again(tmp_path: Path, code: str) -> None:
    expected = "FileExistsError" if "(b'" in code else "made"
    assert attempt(tmp_path, 1, code) == "made"
    (tmp_path / "out" / "kept.txt").write_text("x")
    assert expected in attempt(tmp_path, 2, code)
    assert expected in attempt(tmp_path, 3, code)
    assert (tmp_path / "out" / "kept.txt").exists()


def test_one_that_a_later_attempt_has_made_first_is_made_again_as_well(tmp_path: Path) -> None:
    assert attempt(tmp_path, 1, "os.mkdir('out')") == "made"
    for number in (2, 3):
        assert attempt(tmp_path, number, "os.mkdir('out'); os.mkdir('out/more')") == "made"


def test_the_same_attempt_cannot_make_it_twice(tmp_path: Path) -> None:
    assert attempt(tmp_path, 1, "os.mkdir('out')") == "made"
    assert "FileExistsError" in attempt(tmp_path, 2, "os.mkdir('out'); os.mkdir('out')")


def test_a_folder_that_was_there_before_the_run_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert "FileExistsError" in attempt(tmp_path, 1, "os.mkdir('out')")
    assert "FileExistsError" in attempt(tmp_path, 2, "os.mkdir('out')")


def test_a_file_in_its_place_is_no_folder(tmp_path: Path) -> None:
    assert attempt(tmp_path, 1, "os.mkdir('out')") == "made"
    (tmp_path / "out").rmdir()
    (tmp_path / "out").write_text("x")
    assert "FileExistsError" in attempt(tmp_path, 2, "os.mkdir('out')")


def test_one_that_is_gone_is_made(tmp_path: Path) -> None:
    assert attempt(tmp_path, 1, "os.mkdir('out')") == "made"
    (tmp_path / "out").rmdir()
    assert attempt(tmp_path, 2, "os.mkdir('out')") == "made"
    assert (tmp_path / "out").is_dir()
