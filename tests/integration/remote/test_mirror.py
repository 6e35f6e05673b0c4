"""Runs whose folder is mirrored to a real S3 server, and brought back from it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

import psutil
import pytest

from pitstop import journal
from pitstop.events import CheckpointUploaded, Restored, UploadFailed, UploadGivenUp
from pitstop.store.catalog import Catalog
from pitstop.store.run_folder import open_existing
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline
from tests.integration.keras_run import OUT, SCRIPTS, E, Ended, Started
from tests.integration.remote.s3_server import S3Server
from tests.integration.supervisor import launch
from tests.integration.supervisor.launch import finish, until

URL = "s3://bucket/runs/cnn"
_ARGUMENTS = ("--input", "tfdata-shuffle", "--validation")
_PACE = ("--pace", "0.1")
_LOCAL = Path("runs/cnn")


def _start(
    folder: Path, server: S3Server, *options: str, paced: bool = False, **extra: str
) -> Started:
    folder.mkdir(exist_ok=True)
    script = (sys.executable, str(SCRIPTS / "train.py"), OUT, *_ARGUMENTS)
    command = (*script, *_PACE) if paced else script
    words = ("run", "--run-dir", URL, *options, "--", *command)
    return launch.start(folder, *words, **{**server.environment, **extra})


def _run(folder: Path, server: S3Server, *options: str, **extra: str) -> Ended:
    return finish(_start(folder, server, *options, **extra))


def _events(folder: Path, kind: type[E]) -> list[E]:
    path = folder / _LOCAL / "journal.jsonl"
    events = (entry.event for entry in journal.read(path).entries)
    return [event for event in events if isinstance(event, kind)]


def _manifests(server: S3Server) -> set[str]:
    return {key for key in server.objects() if key.endswith("/manifest.json")}


def _kill_all(folder: Path) -> None:
    """Everything that works in a folder at once, as when the machine is lost."""
    doomed = launch.processes_in(folder)
    for process in doomed:
        process.suspend()
    for process in doomed:
        process.kill()
    until(lambda: not launch.processes_in(folder))


@pytest.mark.timeout(120)
def test_a_lost_machine(tmp_path: Path, server: S3Server, baseline: Baseline) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    process = _start(here, server, "--every", "5steps", paced=True)
    until(lambda: len(_manifests(server)) >= 2)
    _kill_all(here)
    finish(process)
    uploaded = _events(here, CheckpointUploaded)[-1].step
    shutil.rmtree(here)

    completed = _run(there, server)
    assert completed.returncode == 0, completed.stderr
    assert b"fetched" in completed.stderr
    assert _events(there, Restored)[-1].step >= uploaded > 0
    assert_identical(baseline(_ARGUMENTS), there / OUT)
    assert b"is up to date" in completed.stderr
    _assert_complete(there, server)


def _assert_complete(folder: Path, server: S3Server) -> None:
    """The bucket holds the run, and no files that nothing refers to."""
    entries = Catalog(open_existing(folder / _LOCAL).checkpoints).entries()
    names = {f"runs/cnn/checkpoints/{entry.path.name}/manifest.json" for entry in entries}
    assert _manifests(server) == names
    tensors = {key for key in server.objects() if key.endswith(".safetensors")}
    inodes = {path.stat().st_ino for entry in entries for path in entry.path.glob("*.safetensors")}
    assert len(tensors) == len(inodes)


@pytest.mark.timeout(120)
def test_server_that_is_away_for_a_while(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path / "run", server, "--every", "3steps", paced=True)
    until(lambda: _manifests(server))
    server.stop()
    failed = until(lambda: _events(tmp_path / "run", UploadFailed))
    assert not failed[0].needs_user
    before = len(_manifests(server))
    server.start()
    until(lambda: len(_events(tmp_path / "run", CheckpointUploaded)) > before)
    process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert ended.returncode == 75, ended.stderr
    assert b"It is tried again; training goes on." in ended.stderr
    assert b"is up to date" in ended.stderr
    _assert_complete(tmp_path / "run", server)


@pytest.mark.timeout(120)
def test_stop_while_the_server_is_away(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path / "run", server, "--every", "3steps", "--grace", "1s", paced=True)
    until(lambda: _manifests(server))
    server.stop()
    process.send_signal(signal.SIGTERM)
    ended = finish(process)
    assert ended.returncode == 75, ended.stderr
    assert b"the mirror is not complete" in ended.stderr
    saved = _events(tmp_path / "run", UploadGivenUp)[-1].missing[0]
    assert (tmp_path / "run" / _LOCAL / "checkpoints" / saved / "manifest.json").exists()

    server.start()
    again = _run(tmp_path / "run", server, "--halt-at-step", "40")
    assert again.returncode == 75, again.stderr
    assert b"newer than" in again.stderr
    _assert_complete(tmp_path / "run", server)


@pytest.mark.timeout(120)
def test_who_may_write(tmp_path: Path, server: S3Server) -> None:
    first = _start(tmp_path / "first", server, paced=True)
    until(lambda: "runs/cnn/run.json" in server.objects())
    second = _run(tmp_path / "second", server)
    assert second.returncode == 2
    assert b"is in use by a live run" in second.stderr
    first.send_signal(signal.SIGTERM)
    assert finish(first).returncode == 75

    third = _run(tmp_path / "third", server, "--new")
    assert third.returncode == 2
    assert b"holds a run" in third.stderr
    fourth = _run(tmp_path / "first", server, "--halt-at-step", "30", AWS_SECRET_ACCESS_KEY="no")
    assert fourth.returncode == 1
    assert b"Check the credentials" in fourth.stderr


@pytest.mark.timeout(120)
def test_the_mirror_is_read_without_a_copy(tmp_path: Path, server: S3Server) -> None:
    assert _run(tmp_path / "run", server, "--halt-at-step", "7").returncode == 75
    environment = server.environment
    status = launch.call(tmp_path, "status", URL, **environment)
    assert b"stopped (exit code 75)" in status.stdout
    assert URL.encode() in launch.call(tmp_path, "ls", "s3://bucket/runs", **environment).stdout
    assert b"requested" in launch.call(tmp_path, "why", URL, **environment).stdout
    listed = launch.call(tmp_path, "checkpoints", URL, **environment)
    assert b"00000007" in listed.stdout
    assert launch.call(tmp_path, "checkpoints", URL, "verify", **environment).returncode == 2
    assert not (tmp_path / "runs").exists()


@pytest.mark.timeout(120)
def test_processes_that_are_killed(tmp_path: Path, server: S3Server) -> None:
    folder = tmp_path / "run"
    process = _start(folder, server, "--every", "3steps", paced=True)
    until(lambda: _manifests(server))
    _uploader(folder).kill()
    until(lambda: b"mirror_lost" in (folder / _LOCAL / "journal.jsonl").read_bytes())
    before = len(_events(folder, CheckpointUploaded))
    until(lambda: len(_events(folder, CheckpointUploaded)) > before)

    process.kill()
    finish(process)
    until(lambda: not launch.processes_in(folder))  # the uploader sends the last save, and ends
    _assert_complete(folder, server)


def _uploader(folder: Path) -> psutil.Process:
    return next(
        process
        for process in launch.processes_in(folder)
        if "pitstop.remote.uploader" in process.cmdline()
    )


@pytest.mark.timeout(120)
def test_newest_checkpoint_that_is_damaged_in_the_mirror(
    tmp_path: Path, server: S3Server, baseline: Baseline
) -> None:
    assert _run(tmp_path / "here", server, "--halt-at-step", "12").returncode == 75
    bucket = server.folder / "bucket"
    newest = max((bucket / "runs/cnn/checkpoints").glob("0*/state.json"), key=os.path.getmtime)
    newest.write_bytes(b"{}")
    ended = _run(tmp_path / "there", server)
    assert ended.returncode == 0, ended.stderr
    assert b"is left out: state.json" in ended.stderr
    restored = _events(tmp_path / "there", Restored)
    assert not restored or restored[-1].step < 12
    assert_identical(baseline(_ARGUMENTS), tmp_path / "there" / OUT)
    with contextlib.suppress(FileNotFoundError):
        assert newest.read_bytes() != b"{}"
