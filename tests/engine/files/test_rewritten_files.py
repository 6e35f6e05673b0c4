"""Small files that a training writes are part of its state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.engine.files.rewritten_files import RewrittenFiles


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RewrittenFiles]:
    monkeypatch.chdir(tmp_path)
    files = RewrittenFiles()
    files.trains = True
    yield files
    files.leave()


def test_what_a_training_has_written_is_captured(files: RewrittenFiles, tmp_path: Path) -> None:
    for name, content in (("a", "[1]"), ("large", "x" * 70_000), ("gone", "")):
        files.note(name)
        if content:
            Path(name).write_text(content)
    assert files.capture() == {str(tmp_path / "a"): b"[1]"}
    # The buffer of an open file may hold more.
    with Path("a").open("a"):
        assert files.capture() == {}


def test_the_last_files_are_captured(files: RewrittenFiles, tmp_path: Path) -> None:
    for number in range(20):
        files.note(f"{number}.json")
        Path(f"{number}.json").write_text("{}")
    files.note("4.json")
    assert {Path(each).stem for each in files.capture()} == {"4", *map(str, range(5, 20))}
    files.trains = False
    files.note("outside")
    (tmp_path / "outside").touch()
    assert str(tmp_path / "outside") not in files.capture()


def test_a_file_gets_its_content_back_when_it_is_opened(
    files: RewrittenFiles, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text("[1, 2, 3]")
    assert files.keep({str(path): b"[1]"}) == set()
    assert files.capture() == {str(path): b"[1]"}
    assert files.put_back("a.json")
    assert path.read_text() == "[1]"
    path.write_text("[1, 2]")
    assert not files.put_back("a.json")
    assert files.capture() == {str(path): b"[1, 2]"}


def test_a_file_that_the_script_has_begun_is_known(files: RewrittenFiles, tmp_path: Path) -> None:
    files.note("a.json")
    path = str(tmp_path / "a.json")
    assert files.keep({path: b"[1]", str(tmp_path / "b"): b""}) == {path}
    # It is overwritten as a whole.
    files.note("a.json")
    assert not files.put_back(path)
    assert not (tmp_path / "a.json").exists()


def test_a_checkpoint_reaches_no_file_elsewhere(files: RewrittenFiles, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for path in (tmp_path.parent / "x", work / ".." / ".." / "x", work / ".x" / "y", work / "a.py"):
        files.keep({str(path): b"hostile"})
        assert not files.put_back(str(path))
        assert not path.exists()


def test_a_database_goes_back_without_its_journal(files: RewrittenFiles, tmp_path: Path) -> None:
    path, journal = tmp_path / "a.db", tmp_path / "a.db-journal"
    path.write_bytes(b"new")
    journal.touch()
    files.note(str(path))
    # A transaction is open.
    assert files.capture() == {}
    files.keep({str(path): b"old"})
    assert files.put_back(str(path))
    assert (path.read_bytes(), journal.exists()) == (b"old", False)


def test_an_open_file_is_left_alone(files: RewrittenFiles, tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.keep({str(path): b"old"})
    with path.open("w") as file:
        file.write("new")
        file.flush()
        assert not files.put_back(str(path))
    assert path.read_text() == "new"
