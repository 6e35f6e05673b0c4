"""The command lines of a drill's runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.drill.invocation import (
    ENV_DRILL,
    environment_of_runs,
    files_to_copy,
    run_options,
    with_absolute_script,
)


def test_options_that_are_zero_are_left_out() -> None:
    assert run_options(0, halt_at_step=0, die_at_step=0) == []


def test_every_option_is_passed_on() -> None:
    words = run_options(3, halt_at_step=9, die_at_step=7)
    assert words == ["--every", "3steps", "--halt-at-step", "9", "--die-at-step", "7"]


def test_the_script_is_told_that_it_is_a_drill() -> None:
    assert environment_of_runs({"A": "1"}, None, "ab12") == {
        "A": "1",
        ENV_DRILL: "1",
        "PITSTOP_ENTROPY": "ab12",
    }


def test_modules_are_found_from_another_folder() -> None:
    here = Path("/here")
    assert environment_of_runs({}, here, "ab12")["PYTHONPATH"] == "/here"
    found = environment_of_runs({"PYTHONPATH": "/lib"}, here, "ab12")["PYTHONPATH"]
    assert found == os.pathsep.join(["/here", "/lib"])


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for name in ("python", "train.py", "out.npz", "data/x.csv"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("command", "script", "copied"),
    [
        ("python train.py out.npz data", 1, ("out.npz",)),
        ("python -u train.py data/x.csv absent.npz", 2, ("data/x.csv",)),
        ("./train.py out.npz", 0, ("out.npz",)),
        ("python train.py ../x.csv /etc/hostname", 1, ()),
    ],
)
def test_a_script_in_another_working_folder(
    here: Path, command: str, script: int, copied: tuple[str, ...]
) -> None:
    words = command.split()
    absolute = [*words[:script], str(here / words[script]), *words[script + 1 :]]
    assert with_absolute_script(words, here) == tuple(absolute)
    assert files_to_copy(words, here) == copied


@pytest.mark.parametrize("command", ["python -m package out.npz", "python"])
def test_a_command_without_a_script_stays_as_it_is(here: Path, command: str) -> None:
    words = command.split()
    assert with_absolute_script(words, here) == tuple(words)
    assert files_to_copy(words, here) == tuple(words[3:])


def test_a_word_that_is_no_path_names_no_file(here: Path) -> None:
    command = ("python", "train.py", "long " * 1000, "out.npz")
    assert with_absolute_script(command, here)[1] == str(here / "train.py")
    assert files_to_copy(command, here) == ("out.npz",)
