"""Files that a finished training has written are given back, and none is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.engine.files.output_files import ASIDE, OutputFiles

_BEST = "best.weights.h5"
_ENDED_SECONDS = 1_700_000_000.0


@pytest.fixture
def best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / _BEST
    path.write_text("of the interrupted training")
    return path


def _give(files: OutputFiles, content: str, path: Path) -> list[Path]:
    return files.give_back({str(path): content.encode()}, _ENDED_SECONDS, [])


def test_what_a_training_writes_and_what_callbacks_name_is_captured(best: Path) -> None:
    files = OutputFiles()
    other = best.with_name("scores.json")
    other.write_text("{}")
    best.with_name("notes.txt").write_text("")
    for name in ("scores.json", "gone.h5"):
        files.note(name)
    found = files.capture([_BEST, "notes.txt", "val_loss"])
    assert found == {str(best): best.read_bytes(), str(other): b"{}"}
    with other.open("a"):
        assert files.capture([]) == {}


def test_a_file_is_that_of_the_training_until_the_interrupted_one_goes_on(best: Path) -> None:
    files = OutputFiles()
    for content in ("of the first", "of the second"):
        assert _give(files, content, best) == [best]
        assert best.read_text() == content
        assert best.stat().st_mtime == _ENDED_SECONDS
    assert files.begin([], continues=True) == [best]
    assert best.read_text() == "of the interrupted training"
    assert not Path(f"{best}{ASIDE}").exists()


def test_what_is_put_aside_outlives_its_folder(best: Path) -> None:
    folder = best.parent / "out"
    folder.mkdir()
    of_fold = best.rename(folder / _BEST)
    files = OutputFiles()
    _give(files, "of the first", of_fold)
    folder.rename(folder.with_name("first"))
    assert files.begin([], continues=True) == [of_fold]
    assert of_fold.read_text() == "of the interrupted training"


def test_a_second_kill_in_between_loses_nothing(best: Path) -> None:
    _give(OutputFiles(), "of the first", best)
    again = OutputFiles()
    _give(again, "of the first", best)
    _give(again, "of the second", best)
    assert again.begin([], continues=True) == [best]
    assert best.read_text() == "of the interrupted training"


def test_one_that_callbacks_name_comes_back_without_having_been_given(best: Path) -> None:
    _give(OutputFiles(), "of the first", best)
    assert OutputFiles().begin([_BEST], continues=True) == [best]
    assert best.read_text() == "of the interrupted training"


def test_a_training_that_begins_writes_anew(best: Path) -> None:
    files = OutputFiles()
    _give(files, "of the first", best)
    assert files.begin([], continues=False) == [best]
    assert best.read_text() == "of the first"
    assert not Path(f"{best}{ASIDE}").exists()


def test_what_is_there_already_stays(best: Path) -> None:
    files = OutputFiles()
    before = best.stat()
    assert _give(files, best.read_text(), best) == []
    assert best.stat() == before
    _give(files, "of the first", best)
    # The last training that ended was the one that had written it.
    assert _give(files, "of the interrupted training", best) == [best]
    assert [each.name for each in best.parent.iterdir()] == [_BEST]


def test_only_files_of_the_project_or_of_callbacks_are_written(
    best: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / _BEST
    files = OutputFiles()
    for path in (elsewhere, best.parent / "x" / ".." / "y.h5", best.parent / "train.py"):
        assert _give(files, "x", path) == []
        assert not path.exists()
    given = files.give_back({str(elsewhere): b"x"}, _ENDED_SECONDS, [str(elsewhere)])
    assert given == [elsewhere]
    open_file = best.open("a")
    assert _give(files, "x", best) == []
    open_file.close()


def test_a_name_in_a_working_directory_that_was_removed_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert OutputFiles().capture([_BEST]) == {}
