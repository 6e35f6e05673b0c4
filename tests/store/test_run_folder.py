"""The folder of a run: made, found, refused."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop import journal
from pitstop.errors import FormatTooNew, RunFolderInvalid, RunFolderUnwritable, RunNotFound
from pitstop.store.lock import is_locked, read_lock
from pitstop.store.run_folder import (
    RUN_FILE,
    RunFolder,
    archive,
    find_runs,
    open_existing,
    open_or_create,
)

COMMAND = ["python", "train.py"]


def make(path: Path) -> RunFolder:
    return open_or_create(path, COMMAND, Path("/home/me"))


def test_a_new_run_knows_its_command_and_its_places(tmp_path: Path) -> None:
    run = make(tmp_path / "runs" / "cnn")
    assert run.identity.command == ("python", "train.py")
    assert run.identity.cwd == "/home/me"
    assert (run.path / RUN_FILE).is_file()
    assert run.checkpoints.is_dir()
    assert run.journal == run.path / "journal.jsonl"
    assert run.lock == run.path / "lock"
    assert run.output_log(2) == run.path / "attempts" / "2" / "output.log"


def test_the_folders_of_a_run_are_on_the_disk_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them, a power cut takes a checkpoint that was synced."""
    synced: dict[str, set[str]] = {}
    fsync = os.fsync

    def note(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            synced[str(Path(f"/proc/self/fd/{fd}").readlink())] = set(os.listdir(fd))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    run = make(tmp_path / "a" / "b" / "run")
    run.next_attempt()
    assert {"run.json", "checkpoints", "attempts"} <= synced[str(run.path)]
    assert "1" in synced[str(run.path / "attempts")]
    for folder in (run.path, run.path.parent, run.path.parent.parent):
        assert folder.name in synced[str(folder.parent)]


def test_opening_again_keeps_the_identity(tmp_path: Path) -> None:
    first = make(tmp_path / "run")
    assert open_or_create(tmp_path / "run", ["other"], tmp_path) == first
    assert open_existing(tmp_path / "run") == first


def test_two_runs_are_told_apart(tmp_path: Path) -> None:
    assert make(tmp_path / "a").identity.run_id != make(tmp_path / "b").identity.run_id


def test_an_empty_folder_or_a_broken_beginning_becomes_a_run(tmp_path: Path) -> None:
    (tmp_path / ".run.json.4711").write_text('{"for')
    (tmp_path / "lock").write_text("")
    assert (make(tmp_path).path / RUN_FILE).is_file()


def test_attempts_are_counted_on(tmp_path: Path) -> None:
    run = make(tmp_path)
    assert [run.next_attempt() for _ in range(2)] == [1, 2]
    run.attempt_dir(9).mkdir()
    (tmp_path / "attempts" / "notes").mkdir()
    assert run.next_attempt() == 10
    assert run.attempt_dir(10).is_dir()


def _a_file(path: Path) -> None:
    path.write_text("")


def _a_tensorflow_checkpoint(path: Path) -> None:
    path.mkdir()
    (path / "model.ckpt-1.index").write_text("")


def _somebody_s_files(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("")


def _a_foreign_run_json(path: Path) -> None:
    path.mkdir()
    (path / "run.json").write_text("{}")


def _a_torn_run_json(path: Path) -> None:
    path.mkdir()
    (path / "run.json").write_text('{"format"')


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (_a_file, "is a file"),
        (_a_tensorflow_checkpoint, "of TensorFlow"),
        (_somebody_s_files, "thesis.tex"),
        (_a_foreign_run_json, "its format is not"),
        (_a_torn_run_json, "is not valid"),
    ],
)
def test_what_is_no_run_is_refused_and_not_touched(
    tmp_path: Path, prepare: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / "run"
    prepare(path)
    with pytest.raises(RunFolderInvalid, match=reason) as caught:
        make(path)
    assert "--run-dir" in caught.value.remedy


def test_a_newer_run_is_told_apart(tmp_path: Path) -> None:
    run = make(tmp_path)
    record = json.loads((run.path / RUN_FILE).read_bytes())
    (run.path / RUN_FILE).write_text(json.dumps({**record, "version": 2}))
    with pytest.raises(FormatTooNew):
        make(tmp_path)


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderUnwritable, match="is a file"):
        make(tmp_path / "file" / "run")
    with pytest.raises(RunNotFound):
        open_existing(tmp_path / "file" / "run")


def test_no_run_is_said_with_how_to_find_one(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="pitstop ls"):
        open_existing(tmp_path)


def test_an_unreadable_run_json_is_explained(tmp_path: Path) -> None:
    (tmp_path / "run.json").mkdir()
    with pytest.raises(RunFolderInvalid, match="cannot be read"):
        open_existing(tmp_path)


_AS_NOBODY = """
import os, sys
from pathlib import Path
from pitstop.store.run_folder import open_or_create
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setuid(65534)
open_or_create(Path(sys.argv[2]), [], Path("."))
"""


@pytest.mark.parametrize("name", ["old", "new"])
def test_a_folder_without_permission_is_refused_at_once(tmp_path: Path, name: str) -> None:
    make(tmp_path / "old")
    folders = [tmp_path, *(path for path in tmp_path.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(tmp_path), name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    for folder in folders:
        folder.chmod(0o755)
    assert "RunFolderUnwritable" in done.stderr
    assert "no permission" in done.stderr


def test_archives_are_numbered_and_whole(tmp_path: Path) -> None:
    places = []
    for _ in range(2):
        run = make(tmp_path / "run")
        run.next_attempt()
        places.append(archive(run.path))
    assert [place.name for place in places] == ["run.1", "run.2"]
    assert all(open_existing(place).attempt_dir(1).is_dir() for place in places)
    assert not (tmp_path / "run").exists()


def test_a_run_named_by_a_dot_is_archived_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    assert archive(Path()) == tmp_path / "run.1"


def test_runs_are_found_below_a_folder_but_not_in_runs(tmp_path: Path) -> None:
    wanted = [make(tmp_path / name).path for name in ("a", "deep/b", "deep/er/c")]
    make(tmp_path / "a" / "nested")
    make(tmp_path / "too" / "deep" / "down" / "d")
    make(tmp_path / ".hidden" / "e")
    (tmp_path / "link").symlink_to(tmp_path / "deep")
    assert find_runs(tmp_path) == wanted
    assert find_runs(tmp_path / "a") == [tmp_path / "a"]
    assert find_runs(tmp_path / "nowhere") == []


def test_a_run_that_may_not_be_read_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [make(tmp_path / name).path for name in ("a", "b", "c")]
    is_file = Path.is_file

    def unless_closed(path: Path) -> bool:
        if path.parent.name in ("a", "b"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", unless_closed)
    assert find_runs(tmp_path) == runs[2:]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("name", ["run.json", "journal.jsonl", "lock"])
def test_a_fifo_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    folder = open_or_create(tmp_path / "run", ["true"], tmp_path)
    (folder.path / name).unlink(missing_ok=True)
    os.mkfifo(folder.path / name)
    if name == "lock":
        assert read_lock(folder.lock) is None
        assert not is_locked(folder.lock)
        return
    with pytest.raises(RunFolderInvalid, match="not a regular file"):
        journal.read(open_existing(folder.path).journal)


def test_json_that_is_nested_too_deeply_is_no_run(tmp_path: Path) -> None:
    folder = open_or_create(tmp_path / "run", ["true"], tmp_path)
    (folder.path / RUN_FILE).write_text("[" * 100_000)
    with pytest.raises(RunFolderInvalid, match="nested too deeply"):
        open_existing(folder.path)


def test_a_run_behind_a_link_is_put_aside_and_begun_anew_behind_it(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "run"
    link.symlink_to(tmp_path / "disk")
    first = open_or_create(link, ["true"], tmp_path)
    assert archive(first.path) == tmp_path / "disk.1"
    second = open_or_create(link, ["true"], tmp_path)
    assert second.identity.run_id != first.identity.run_id
    assert (tmp_path / "disk" / "run.json").exists()
