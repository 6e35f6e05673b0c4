"""Files that an earlier attempt wrote behind the restored state."""

# Each way to look at them.
# ruff: noqa: PLW0108, PTH110, PTH113, PTH202, PTH207, PTH208

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.earlier_files import EarlierFiles, ReadBack

_NOW_SECONDS = time.time()


@pytest.fixture
def doubts() -> Iterator[list[str]]:
    found: list[str] = []
    files = EarlierFiles()
    files.watch(_NOW_SECONDS - 100, found.append)
    yield found
    files.leave()


def _append(path: Path) -> None:
    path.open("a").close()


def _replace(path: Path) -> None:
    path.open("w").close()


def _read(path: Path) -> None:
    path.read_bytes()


@pytest.mark.parametrize(
    ("age_seconds", "act", "is_told"),
    [
        (50, _append, True),
        (50, _read, True),
        (50, _replace, False),
        (200, _append, False),
        (-5000, _read, False),
    ],
)
def test_what_is_told(
    doubts: list[str],
    tmp_path: Path,
    age_seconds: float,
    act: Callable[[Path], None],
    is_told: bool,
) -> None:
    path = tmp_path / "log.txt"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    act(path)
    assert [str(path) in each for each in doubts] == [True] * is_told


@pytest.mark.parametrize(("age_seconds", "is_told"), [(50, True), (200, False)])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_database_is_told_wherever_it_was_opened(
    tmp_path: Path,
    age_seconds: float,
    is_told: bool,
    is_open: bool,
) -> None:
    """A script opens it once, before it trains."""
    path = tmp_path / "study.db"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    if is_open:
        sqlite3.connect(str(path)).close()
    files.watch(_NOW_SECONDS - 100, found.append)
    if not is_open:
        sqlite3.connect(str(path)).close()
    files.leave()
    assert [str(path) in each for each in found] == [True] * is_told


def test_what_is_not_only_read_is_told_in_a_restored_training_alone(tmp_path: Path) -> None:
    path = tmp_path / "results.h5"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - 50))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    files.note(str(path), is_only_read=False)
    assert files.read_back(tmp_path / "run/attempts/2", 0.0) == ReadBack()
    files.watch(_NOW_SECONDS - 100, found.append)
    files.note(str(path), is_only_read=False)
    files.leave()
    assert len(found) == 1


@pytest.mark.parametrize(
    "look",
    [
        lambda path: path.exists(),
        lambda path: os.path.exists(path),
        lambda path: os.path.getsize(path),
        lambda path: os.path.isfile(str(path)),
        lambda path: os.listdir(path.parent),
        lambda path: [*os.walk(path.parent)],
        lambda path: glob.glob(f"{path.parent}/*.txt"),
        lambda path: glob.glob("*", root_dir=path.parent),
        lambda path: [*path.parent.iterdir()],
        lambda path: [*path.parent.glob("l*")],
        lambda path: subprocess.run(f"wc -l <{path}", shell=True, check=True),
        lambda path: subprocess.run(["cat", path], check=True),
        lambda path: os.system(f"cat '{path}'"),
    ],
)
@pytest.mark.parametrize(("age_seconds", "is_told"), [(50, True), (200, False)])
def test_a_look_at_a_file_is_told(
    doubts: list[str],
    tmp_path: Path,
    age_seconds: float,
    look: Callable[[Path], object],
    is_told: bool,
) -> None:
    path = tmp_path / "log.txt"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    look(path)
    assert [str(path) in each for each in doubts] == [True] * is_told


@pytest.mark.parametrize(
    ("look", "is_told"),
    [
        (lambda path: os.path.exists(path), False),
        (lambda path: path.is_file(), False),
        (lambda path: os.path.getsize(path), True),
        (lambda path: path.stat(), True),
    ],
)
def test_a_table_to_which_the_script_appends_again_may_be_there(
    doubts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    look: Callable[[Path], object],
    is_told: bool,
) -> None:
    """What it appends tells whether the header of a new one is all that depends on it."""
    path = tmp_path / "results.csv"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - 50))
    monkeypatch.setattr(APPENDED, "_begun", {str(path): 0})
    look(path)
    assert bool(doubts) == is_told


def test_looks_that_say_nothing(doubts: list[str], tmp_path: Path) -> None:
    """A folder is there, other files are listed, a child works on nothing of the training's."""
    folder, path = tmp_path / "plots", tmp_path / "log.txt"
    folder.mkdir()
    path.touch()
    for each in (folder, path):
        os.utime(each, (0, _NOW_SECONDS - 50))
    assert folder.exists()
    assert os.listdir(folder) == []
    assert glob.glob(f"{tmp_path}/*.csv") == []
    assert not (tmp_path / "missing").exists()
    subprocess.run(["true", "log"], cwd=tmp_path, check=True)
    shutil.copy(os.__file__, tmp_path / "copy.py")
    assert doubts == []


def test_what_stands_for_os_stat_is_as_good(doubts: list[str], tmp_path: Path) -> None:
    """The standard library asks which arguments it takes."""
    for each in ("supports_follow_symlinks", "supports_fd", "supports_dir_fd"):
        assert os.stat in getattr(os, each)
    link = tmp_path / "link"
    link.symlink_to(os.__file__)
    shutil.copy2(link, tmp_path / "copy", follow_symlinks=False)
    assert doubts == []


@pytest.mark.parametrize("look", [lambda path: path.stat(), lambda path: path.read_text()])
@pytest.mark.parametrize(("age_seconds", "is_told"), [(50, True), (200, False)])
def test_what_was_written_on_before_the_training_is_not_of_this_process(
    tmp_path: Path, age_seconds: float, look: Callable[[Path], object], is_told: bool
) -> None:
    path = tmp_path / "steps.log"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    with path.open("a") as log:
        log.write("x")
    files.watch(_NOW_SECONDS - 100, found.append)
    look(path)
    files.leave()
    assert [str(path) in each for each in found] == [True] * is_told


def test_a_file_that_this_process_has_begun_is_its_own(doubts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "steps.log"
    with path.open("a") as log:
        log.write("x")
    path.read_text()
    path.stat()
    assert doubts == []


def _rename_onto(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_text("0")
    other.replace(path)


def _empty_folder(path: Path) -> None:
    shutil.rmtree(path.parent)
    path.parent.mkdir()


def _remove(path: Path) -> None:
    path.unlink()
    path.write_text("0")


@pytest.mark.parametrize("lose", [lambda path: path.write_text("0"), _rename_onto, _remove])
@pytest.mark.parametrize("use", [_read, _append])
@pytest.mark.parametrize(
    ("age_seconds", "content", "is_told"),
    [(150, "32", True), (500, "32", False), (150, "0", False)],
)
def test_a_file_that_the_script_has_begun_anew(
    tmp_path: Path,
    lose: Callable[[Path], object],
    use: Callable[[Path], None],
    age_seconds: float,
    content: str,
    is_told: bool,
) -> None:
    """As `on_train_begin` empties it: not what was there before the run, nor the same again."""
    path = tmp_path / "count.txt"
    path.write_text(content)
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    lose(path)
    files.watch(_NOW_SECONDS - 100, found.append, _NOW_SECONDS - 300)
    use(path)
    files.leave()
    assert [str(path) in each and "overwritten" in each for each in found] == [True] * is_told


@pytest.mark.parametrize("is_only_read", [True, False])
def test_a_file_that_a_library_has_begun_anew(tmp_path: Path, *, is_only_read: bool) -> None:
    """Python does not know that HDF5 opens a file."""
    path = tmp_path / "epochs.h5"
    path.write_text("32")
    os.utime(path, (0, _NOW_SECONDS - 150))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    files.note_begun_anew(str(path))
    os.truncate(path, 0)
    files.watch(_NOW_SECONDS - 100, found.append, _NOW_SECONDS - 300)
    files.note(str(path), is_only_read=is_only_read)
    files.leave()
    assert ["overwritten" in each for each in found] == [True]


@pytest.mark.parametrize("lose", [Path.unlink, _empty_folder])
@pytest.mark.parametrize("look", [Path.exists, os.path.exists])
@pytest.mark.parametrize(("age_seconds", "is_told"), [(150, True), (500, False)])
def test_a_file_that_the_script_has_removed_is_looked_for(
    tmp_path: Path,
    lose: Callable[[Path], object],
    look: Callable[[Path], object],
    age_seconds: float,
    is_told: bool,
) -> None:
    path = tmp_path / "work/state.pkl"
    path.parent.mkdir()
    path.write_text("32")
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    lose(path)
    files.watch(_NOW_SECONDS - 100, found.append, _NOW_SECONDS - 300)
    look(path)
    look(path.with_name("other"))
    files.leave()
    assert [str(path) in each for each in found] == [True] * is_told


@pytest.mark.parametrize(
    "look",
    [
        lambda path: os.listdir(path.parent),
        lambda path: [*path.parent.iterdir()],
        lambda path: glob.glob(f"{path.parent}/*.pkl"),
        lambda path: [*path.parent.glob("*.pkl")],
        lambda path: [*path.parent.parent.rglob("*.pkl")],
    ],
)
@pytest.mark.parametrize(("age_seconds", "is_told"), [(150, True), (500, False)])
def test_a_file_that_the_script_has_removed_is_missed_in_its_folder(
    tmp_path: Path, look: Callable[[Path], object], age_seconds: float, is_told: bool
) -> None:
    path = tmp_path / "work/state.pkl"
    path.parent.mkdir()
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    path.unlink()
    files.watch(_NOW_SECONDS - 100, found.append, _NOW_SECONDS - 300)
    glob.glob(f"{path.parent}/*.csv")
    os.listdir(tmp_path)
    assert found == []
    look(path)
    files.leave()
    assert [str(path) in each for each in found] == [True] * is_told


@pytest.mark.parametrize(
    ("age_seconds", "statement", "is_told"),
    [(150, "delete from t", True), (150, "select * from t", False), (500, "delete from t", False)],
)
def test_a_database_that_the_script_has_begun_anew(
    tmp_path: Path, age_seconds: float, statement: str, is_told: bool
) -> None:
    path = tmp_path / "study.db"
    _execute(path, "create table t(n)", "insert into t values(1)")
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    _execute(path, statement)
    files.watch(_NOW_SECONDS - 100, found.append, _NOW_SECONDS - 300)
    files.leave()
    assert ["overwritten" in each for each in found] == [True] * is_told


def _execute(path: Path, *statements: str) -> None:
    database = sqlite3.connect(path)
    for each in statements:
        database.execute(each)
    database.commit()
    database.close()


@pytest.mark.parametrize("by_training", [True, False])
def test_a_file_that_the_training_writes_whole_or_that_is_put_back_is_right(
    tmp_path: Path, by_training: bool
) -> None:
    path = tmp_path / "count.txt"
    path.write_text("32")
    os.utime(path, (0, _NOW_SECONDS - 150))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    path.write_text("0")
    files.watch(_NOW_SECONDS - 100, found.append, _NOW_SECONDS - 300)
    path.write_text("33") if by_training else files.put_back(path)
    _read(path)
    files.leave()
    assert found == []


def test_it_is_told_once(doubts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - 50))
    _read(path)
    _read(path)
    assert len(doubts) == 1
