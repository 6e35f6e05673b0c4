"""What a script reads back that an earlier attempt wrote while it trained."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop.engine.files import earlier_files, path_record
from pitstop.engine.files.earlier_files import EarlierFiles, ReadBack
from pitstop.engine.files.path_record import PathRecord
from pitstop.engine.files.rewritten_files import RewrittenFiles

_BEGAN_SECONDS = time.time() - 1000


@pytest.fixture
def attempt_dir(tmp_path: Path) -> Path:
    return tmp_path / "run" / "attempts" / "2"


def _written(path: Path, seconds_after: float) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    changed = _BEGAN_SECONDS + seconds_after
    os.utime(path, (changed, changed))
    return path


def _listening() -> EarlierFiles:
    files = EarlierFiles()
    files.listen()
    return files


def test_results_of_an_earlier_attempt(tmp_path: Path, attempt_dir: Path) -> None:
    done = _written(tmp_path / "done.json", 10)
    files = _listening()
    done.read_text()
    assert files.read_back(attempt_dir, _BEGAN_SECONDS) == ReadBack("", str(done))


def test_a_name_in_bytes(tmp_path: Path, attempt_dir: Path) -> None:
    state = _written(tmp_path / "state.dir", 10)
    files = _listening()
    os.close(os.open(os.fsencode(state), os.O_RDONLY))
    assert files.read_back(attempt_dir, _BEGAN_SECONDS).other == str(state)


def test_weights_stand_before_other_files(tmp_path: Path, attempt_dir: Path) -> None:
    files = _listening()
    _written(tmp_path / "done.json", 10).read_text()
    weights = _written(tmp_path / "last.weights.h5", 10)
    files.note(str(weights))
    assert files.read_back(attempt_dir, _BEGAN_SECONDS).weights == str(weights)


def test_a_database(tmp_path: Path, attempt_dir: Path) -> None:
    study = _written(tmp_path / "study.db", 10)
    files = _listening()
    sqlite3.connect(study.as_posix()).close()
    assert files.read_back(attempt_dir, _BEGAN_SECONDS).other == str(study)


def test_a_database_that_the_script_removes_and_makes_anew(tmp_path: Path) -> None:
    study = _written(tmp_path / "study.db", 10)
    files, told = _listening(), list[str]()
    study.unlink()
    with sqlite3.connect(study.as_posix()) as base:
        base.execute("create table trials (loss real)")
        files.watch(_BEGAN_SECONDS + 20, told.append, _BEGAN_SECONDS)
    base.close()
    files.leave()
    assert [each for each in told if "study.db" in each]


def test_files_that_the_script_removes_are_there_when_the_training_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    best = _written(out / "best.h5", 10)
    names = ("older.h5", "later.json", "later.h5", "study.db-wal", "empty.h5")
    for name, seconds_after in zip(names, (-10, 30, 30, 10, 10), strict=True):
        _written(out / name, seconds_after)
    best.write_bytes(b"best")
    os.utime(best, (_BEGAN_SECONDS + 10,) * 2)
    files, told = _listening(), list[str]()
    shutil.rmtree(out)
    (tmp_path / "out").mkdir()
    (out / "empty.h5").write_bytes(b"new")
    files.put_back_removed(_BEGAN_SECONDS, _BEGAN_SECONDS + 20)
    assert best.read_bytes() == b"best"
    assert best.stat().st_mtime == pytest.approx(_BEGAN_SECONDS + 10)
    assert sorted(each.name for each in out.iterdir()) == ["best.h5", "empty.h5", "later.h5"]
    files.watch(_BEGAN_SECONDS + 20, told.append, _BEGAN_SECONDS)
    best.read_bytes()
    assert not told
    (out / "later.h5").read_bytes()
    files.leave()
    assert "later.h5" in told[0]


def test_a_log_that_the_script_renames_first_is_there_when_the_training_goes_on(
    tmp_path: Path,
) -> None:
    log = _written(tmp_path / "train.log", 10)
    files = _listening()
    log.rename(tmp_path / "train.log.old")
    files.put_back_removed(_BEGAN_SECONDS)
    assert log.exists()


def test_a_link_that_the_script_removes_does_not_come_back_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(_written(tmp_path / "epoch3.h5", 10))
    files = _listening()
    (tmp_path / "latest").unlink()
    files.put_back_removed(_BEGAN_SECONDS)
    assert not (tmp_path / "latest").exists()


def test_a_file_of_the_same_name_in_a_removed_folder_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, other = _written(tmp_path / "kept.h5", 10), _written(tmp_path / "out" / "kept.h5", 10)
    files = _listening()
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(other.parent)
    kept.unlink()
    files.put_back_removed(_BEGAN_SECONDS)
    assert kept.exists()
    assert other.exists()


@pytest.mark.parametrize(
    ("name", "seconds_after"),
    [
        ("data.npz", -10),
        ("written_now.json", 5000),
        (".cache/fonts.json", 10),
        ("module.py", 10),
        ("run/journal.jsonl", 10),
    ],
)
def test_files_that_say_nothing(
    name: str, seconds_after: float, tmp_path: Path, attempt_dir: Path
) -> None:
    path = _written(tmp_path / name, seconds_after)
    files = _listening()
    path.read_text()
    assert files.read_back(attempt_dir, _BEGAN_SECONDS) == ReadBack()


def test_what_is_only_written_is_not_read_back(tmp_path: Path, attempt_dir: Path) -> None:
    log = _written(tmp_path / "log.csv", 10)
    files = _listening()
    log.open("a").close()
    log.open("w").close()
    assert files.read_back(attempt_dir, _BEGAN_SECONDS) == ReadBack()


def test_files_opened_while_it_trains_are_not_heard_of(tmp_path: Path, attempt_dir: Path) -> None:
    files = _listening()
    files.read_back(attempt_dir, _BEGAN_SECONDS)
    _written(tmp_path / "done.json", 10).read_text()
    assert files.read_back(attempt_dir, _BEGAN_SECONDS) == ReadBack()


def test_what_was_in_a_file_before_it_is_written_to_is_known(tmp_path: Path) -> None:
    emptied, longer, large = (_written(tmp_path / name, 10) for name in ("a", "b", "c"))
    for path in (emptied, longer, large):
        path.write_text("left")
        os.utime(path, (_BEGAN_SECONDS, _BEGAN_SECONDS))
    os.truncate(large, 1 << 26)
    os.utime(large, (_BEGAN_SECONDS, _BEGAN_SECONDS))
    files = _listening()
    for path, mode in ((emptied, "w"), (longer, "a"), (large, "w")):
        with path.open(mode) as file:
            file.write("new")
    assert [files.content(path) for path in (emptied, longer, large)] == [b"left", b"left", None]


def test_a_small_file_gets_its_content_unless_the_script_has_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log, ledger = _written(tmp_path / "log.json", 10), _written(tmp_path / "ledger.json", 10)
    files = _listening()
    ledger.read_text()
    ledger.write_text("[1, 2]")
    doubts: list[str] = []
    files.watch(_BEGAN_SECONDS, doubts.append)
    files.give_back({str(log): b"[1]", str(ledger): b"[1]"})
    assert (log.read_text(), ledger.read_text()) == ("[1]", "[1, 2]")
    files.leave()


@pytest.mark.parametrize(
    ("seconds_after", "is_saved", "is_restored", "told"),
    [
        (5, True, False, True),
        (5, True, True, False),
        (25, False, True, True),
        (5, False, False, False),
    ],
)
def test_a_file_that_a_repetition_makes_again_under_another_name_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds_after: float,
    is_saved: bool,
    is_restored: bool,
    told: bool,
) -> None:
    monkeypatch.setattr(earlier_files, "REWRITTEN", rewritten := RewrittenFiles())
    before = _written(tmp_path / "epoch-1795778633444755915.txt", seconds_after)
    files = _listening()
    doubts: list[str] = []
    rewritten.trains = True

    def restore() -> None:
        files.watch(_BEGAN_SECONDS + 20, doubts.append, _BEGAN_SECONDS)
        files.give_back({str(before): b""} if is_saved else {})

    if is_restored:
        restore()
    (tmp_path / "epoch-1795778655444755916.txt").touch()
    (tmp_path / "epoch-2.txt").touch()
    if not is_restored:
        restore()
    files.leave()
    assert ["epoch-1795778633444755915.txt" in each for each in doubts] == [True] * told


def _resumed(attempt_dir: Path, monkeypatch: pytest.MonkeyPatch) -> EarlierFiles:
    """A training that goes on where the earlier attempt was 20 s after its begin."""
    attempt_dir.mkdir(parents=True)
    for name in ("REMOVED", "CREATED"):
        record = PathRecord(f"{name}.jsonl")
        monkeypatch.setattr(path_record, name, record)
        record.watch(attempt_dir)
    files = _listening()
    files.watch(_BEGAN_SECONDS + 20, list[str]().append, _BEGAN_SECONDS)
    return files


def _noted(attempt_dir: Path, name: str, path: Path, seconds_after: float) -> None:
    record = attempt_dir.parent / "1" / f"{name}.jsonl"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps([str(path), _BEGAN_SECONDS + seconds_after]) + "\n")


def test_a_step_that_is_computed_again_removes_a_file_again(
    tmp_path: Path, attempt_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the oldest of the last three checkpoints."""
    path = tmp_path / "epoch3.npz"
    _noted(attempt_dir, "REMOVED", path, 30)
    files = _resumed(attempt_dir, monkeypatch)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        path.unlink()
    files.leave()


def test_a_file_that_was_removed_before_the_restored_state_stays_away(
    tmp_path: Path, attempt_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "epoch3.npz"
    _noted(attempt_dir, "REMOVED", path, 10)
    files = _resumed(attempt_dir, monkeypatch)
    with pytest.raises(FileNotFoundError):
        path.unlink()
    files.leave()


def test_a_step_that_is_computed_again_removes_a_folder_again(
    tmp_path: Path, attempt_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "epoch3"
    _noted(attempt_dir, "REMOVED", path, 30)
    files = _resumed(attempt_dir, monkeypatch)
    shutil.rmtree(path)
    files.leave()


def test_a_folder_that_is_removed_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "epoch3"
    folder.mkdir()
    changed = _BEGAN_SECONDS + 30
    os.utime(folder, (changed, changed))
    files = _listening()
    told: list[str] = []
    files.watch(_BEGAN_SECONDS + 20, told.append, _BEGAN_SECONDS)
    shutil.rmtree(folder)
    files.leave()
    assert told == []


def test_what_is_removed_and_created_is_recorded(
    tmp_path: Path, attempt_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _resumed(attempt_dir, monkeypatch)
    path = tmp_path / "epoch3.npz"
    path.open("x").close()
    path.unlink()
    files.leave()
    for name in ("REMOVED", "CREATED"):
        lines = (attempt_dir / f"{name}.jsonl").read_text().splitlines()
        assert json.loads(lines[0])[0] == str(path)


@pytest.mark.parametrize(("seconds_after", "is_made"), [(10, False), (30, True)])
def test_a_step_that_is_computed_again_makes_a_file_again(
    tmp_path: Path,
    attempt_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds_after: float,
    is_made: bool,
) -> None:
    path = _written(tmp_path / "epoch3.json", seconds_after)
    _noted(attempt_dir, "CREATED", path, seconds_after)
    files = _resumed(attempt_dir, monkeypatch)
    with contextlib.nullcontext() if is_made else pytest.raises(FileExistsError):
        path.open("x").close()
    files.leave()


def test_the_lock_of_another_process_stays(
    tmp_path: Path, attempt_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = _written(tmp_path / "results.lock", 30)
    files = _resumed(attempt_dir, monkeypatch)
    with pytest.raises(FileExistsError):
        lock.open("x")
    files.leave()


@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to])
def test_a_step_that_is_computed_again_makes_a_link_again(
    tmp_path: Path,
    attempt_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path, Path], None],
) -> None:
    target, link = _written(tmp_path / "epoch3.npz", 30), tmp_path / "newest"
    make(link, target)
    _noted(attempt_dir, "CREATED", link, 30)
    files = _resumed(attempt_dir, monkeypatch)
    make(link, target)
    with pytest.raises(FileExistsError):
        make(link, target)
    files.leave()


@pytest.mark.parametrize(
    ("anew", "size_bytes", "is_longer"),
    [
        ("a,b\n", 8, True),
        ("", 8, True),
        ("b,a\n", 8, False),
        ("a,b\n", 99, False),
        ("a,b\n1,2\n3", 8, False),
    ],
)
def test_a_file_that_the_script_begins_anew_gets_the_lines_of_the_training(
    tmp_path: Path, anew: str, size_bytes: int, *, is_longer: bool
) -> None:
    path = _written(tmp_path / "steps.csv", 10)
    path.write_text("a,b\n1,2\n3,4\n")
    os.utime(path, (_BEGAN_SECONDS, _BEGAN_SECONDS))
    files = _listening()
    path.write_text(anew)
    files.lengthen(str(path), size_bytes)
    assert path.read_text() == ("a,b\n1,2\n" if is_longer else anew)
