"""Files that a training renames, links and dates, and that a resume finds as they were."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop.engine.files import renamed_files
from pitstop.engine.files.renamed_files import RenamedFiles
from pitstop.engine.files.rewritten_files import RewrittenFiles

_OLD_SECONDS = 1000.0


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RewrittenFiles:
    monkeypatch.chdir(tmp_path)
    rewritten = RewrittenFiles()
    monkeypatch.setattr(renamed_files, "REWRITTEN", rewritten)
    return rewritten


def _attempt(folder: Path, number: int) -> RenamedFiles:
    attempt_dir = folder / "run" / str(number)
    attempt_dir.mkdir(parents=True)
    files = RenamedFiles()
    files.watch(attempt_dir)
    return files


def _old(name: str, content: str = "") -> Path:
    path = Path(name)
    path.write_text(content)
    os.utime(path, (_OLD_SECONDS, _OLD_SECONDS))
    return path


def _renamed_twice() -> None:
    _old("w0").rename("w1").rename("w2")


def _moved_away() -> None:
    Path("done").mkdir()
    _old("w0").replace("done/w0")


def _rotated() -> None:
    _old("last", "2").replace(_old("prev", "1"))
    Path("last").write_text("3")


def _written_beside() -> None:
    Path("new").write_text("2")
    Path("new").replace(_old("best", "1"))


@pytest.mark.usefixtures("rewritten")
@pytest.mark.parametrize(
    ("act", "found", "lost"),
    [
        (_renamed_twice, ["w0"], []),
        (_moved_away, ["w0"], []),
        (_rotated, ["last", "prev"], ["prev"]),
        (_written_beside, ["best"], ["best"]),
    ],
)
def test_what_an_earlier_attempt_has_renamed_has_its_old_name(
    act: Callable[[], None], found: list[str], lost: list[str], tmp_path: Path
) -> None:
    _attempt(tmp_path, 1)
    since_seconds = time.time()
    act()
    files = _attempt(tmp_path, 2)
    files.take_back(since_seconds)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == found
    assert [name for name in found if files.is_lost(name)] == lost
    for name in lost:
        files.writes(name)
    assert not any(map(files.is_lost, found))


@pytest.mark.usefixtures("rewritten")
def test_what_was_renamed_before_the_restored_state_stays(tmp_path: Path) -> None:
    _attempt(tmp_path, 1)
    _renamed_twice()
    _attempt(tmp_path, 2).take_back(time.time())
    assert Path("w2").exists()


def _relinked() -> None:
    Path("latest").unlink()
    Path("latest").symlink_to("b")


def _link_replaced() -> None:
    Path("new").symlink_to("b")
    Path("new").replace("latest")


@pytest.mark.parametrize("act", [_relinked, _link_replaced])
@pytest.mark.parametrize("is_made_anew", [False, True])
@pytest.mark.parametrize("is_saved_after", [False, True])
def test_a_link_leads_where_it_led(
    act: Callable[[], None],
    is_made_anew: bool,
    is_saved_after: bool,
    rewritten: RewrittenFiles,
    tmp_path: Path,
) -> None:
    Path("latest").symlink_to("a")
    _attempt(tmp_path, 1)
    since_seconds = time.time()
    rewritten.trains = True
    act()
    rewritten.trains = False
    since_seconds = time.time() if is_saved_after else since_seconds
    files = _attempt(tmp_path, 2)
    if is_made_anew:
        Path("latest").unlink()
        Path("latest").symlink_to("z")
    files.take_back(since_seconds)
    assert str(Path("latest").readlink()) == ("b" if is_saved_after else "a")
    _attempt(tmp_path, 3).take_back(time.time())
    assert str(Path("latest").readlink()) == ("b" if is_saved_after else "a")
    assert not os.path.lexists("new")


@pytest.mark.usefixtures("rewritten")
def test_a_link_that_was_not_there_is_removed(tmp_path: Path) -> None:
    _attempt(tmp_path, 1)
    since_seconds = time.time()
    _link_replaced()
    _attempt(tmp_path, 2).take_back(since_seconds)
    assert not os.path.lexists("latest")


def test_a_date_that_was_set_is_lost(rewritten: RewrittenFiles, tmp_path: Path) -> None:
    rewritten.trains = True
    stamp = _old("stamp")
    for is_set_anew in (False, True):
        since_seconds = time.time()
        files = _attempt(tmp_path, 1 + is_set_anew)
        if is_set_anew:
            os.utime(stamp, (5, 5))
        files.take_back(since_seconds)
        assert files.is_lost("stamp") == is_set_anew
        os.utime(stamp, (7, 7))
        assert not files.is_lost("stamp")
    files = _attempt(tmp_path, 3)
    files.take_back(since_seconds)
    assert files.is_lost("stamp")


def test_after_a_finished_training_only_what_was_done_between_trainings(
    rewritten: RewrittenFiles, tmp_path: Path
) -> None:
    _attempt(tmp_path, 1)
    since_seconds = time.time()
    _old("best").rename("best-1")
    rewritten.trains = True
    _old("w0").rename("w1")
    files = _attempt(tmp_path, 2)
    files.take_back(since_seconds, of_training=False)
    assert (Path("best").exists(), Path("w1").exists()) == (True, True)


@pytest.mark.usefixtures("rewritten")
@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_folder_that_was_renamed_after_each_training(is_made_again: bool, tmp_path: Path) -> None:
    _attempt(tmp_path, 1)
    since_seconds = time.time()
    for number in "12":
        Path("out").mkdir()
        Path("out", number).touch()
        Path("out").rename(f"out-{number}")
    if is_made_again:
        Path("out").mkdir()
        Path("out", "new").touch()
    _attempt(tmp_path, 2).take_back(since_seconds, of_training=False)
    assert (Path("out/1").exists(), Path("out-2/2").exists()) == (True, True)
    assert Path("out/new").exists() == is_made_again
    assert not Path("out-1").exists()


@pytest.mark.usefixtures("rewritten")
def test_what_callbacks_do_that_are_called_once_more_is_taken_back(tmp_path: Path) -> None:
    files = _attempt(tmp_path, 1)
    _old("before").rename("stays")
    files.take_back(time.time())
    _old("w0").rename("w1")
    files.take_back_own()
    assert (Path("stays").exists(), Path("w0").exists()) == (True, True)


@pytest.mark.usefixtures("rewritten")
def test_a_file_elsewhere_is_moved_only_when_the_script_moves_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "work").mkdir()
    _attempt(tmp_path, 1)
    since_seconds = time.time()
    path = _old(str(there / "w0"))
    path.rename(there / "w1")
    monkeypatch.chdir(tmp_path / "work")
    files = _attempt(tmp_path, 2)
    files.take_back(since_seconds)
    assert not path.exists()
    assert files.is_lost(str(there / "w1"))
    path.rename(there / "w1")
    assert (there / "w1").exists()
