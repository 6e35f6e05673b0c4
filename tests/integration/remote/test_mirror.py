"""Runs whose folder is mirrored to a real S3 server, and brought back from it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import psutil
import pytest

from pitstop import journal
from pitstop.events import (
    AttemptEnded,
    CheckpointUploaded,
    RestartPlanned,
    Restored,
    UploadFailed,
    UploadGivenUp,
)
from pitstop.store.catalog import Catalog
from pitstop.store.run_folder import open_existing
from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, SCRIPTS, E, Ended, Started
from tests.integration.remote.s3_server import S3Server
from tests.integration.supervisor import launch
from tests.integration.supervisor.launch import finish, until

URL = "s3://bucket/runs/cnn"
_ARGUMENTS = ("--input", "tfdata-shuffle", "--validation")
_PACE = "0.1"
_LOCAL = Path("runs/cnn")
# Each is saved at once, and kept.
_ENDS = ("--fit-ends-at", *map(str, range(20, 2000, 20)))


def _start(folder: Path, server: S3Server, *options: str, **extra: str) -> Started:
    """Starts a trainer that does nothing but save, in half a second's steps of its own."""
    command = (sys.executable, str(launch.TRAINER), "--step-seconds", "0.02", *_ENDS)
    return _start_command(folder, server, options, command, **extra)


def _start_keras(
    folder: Path,
    server: S3Server,
    interpreter: Interpreter,
    *options: str,
    paced: bool = False,
) -> Started:
    script = (*interpreter, str(SCRIPTS / "train.py"), OUT, *_ARGUMENTS)
    return _start_command(folder, server, options, script, SAMPLE_PACE=_PACE if paced else "0")


def _start_command(
    folder: Path, server: S3Server, options: Sequence[str], command: Sequence[str], **extra: str
) -> Started:
    folder.mkdir(exist_ok=True)
    words = ("run", "--run-dir", URL, *options, "--", *command)
    return launch.start(folder, *words, **{**server.environment, **extra})


def _run(folder: Path, server: S3Server, *options: str, **extra: str) -> Ended:
    return finish(_start(folder, server, *options, **extra))


def _stop(process: Started) -> Ended:
    process.send_signal(signal.SIGTERM)
    return finish(process)


def _events(folder: Path, kind: type[E]) -> list[E]:
    path = folder / _LOCAL / "journal.jsonl"
    events = (entry.event for entry in journal.read(path).entries)
    return [event for event in events if isinstance(event, kind)]


def _manifests(server: S3Server) -> set[str]:
    return {key for key in server.objects() if key.endswith("/manifest.json")}


def _holds(server: S3Server, key: str) -> bool:
    return key in server.objects()


def _has_more(server: S3Server, before: int) -> bool:
    return len(_manifests(server)) > before


def _kill_all(folder: Path) -> None:
    """Everything that works in a folder at once, as when the machine is lost."""
    doomed = launch.processes_in(folder)
    for process in doomed:
        process.suspend()
    for process in doomed:
        process.kill()
    until(lambda: not launch.processes_in(folder))


@pytest.mark.fast
@pytest.mark.timeout(180)
def test_a_lost_machine(
    tmp_path: Path, server: S3Server, baseline: Baseline, forked: Interpreter
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    process = _start_keras(here, server, forked, "--every", "5steps", paced=True)
    until(lambda: len(_manifests(server)) >= 2)
    _kill_all(here)
    finish(process)
    uploaded = _events(here, CheckpointUploaded)[-1].step
    shutil.rmtree(here)

    completed = finish(_start_keras(there, server, forked))
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
    files = {path.stat().st_ino for entry in entries for path in entry.path.glob("*.safetensors")}
    assert len(tensors) == len(files)


def test_server_that_is_away_for_a_while(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path, server)
    until(lambda: _manifests(server))
    server.stop()
    failed = until(lambda: _events(tmp_path, UploadFailed))
    assert not failed[0].needs_user
    before = len(_manifests(server))
    server.start()
    until(lambda: len(_manifests(server)) > before + 1)
    ended = _stop(process)
    assert ended.returncode == 75, ended.stderr
    assert b"Pitstop retries it; training continues." in ended.stderr
    assert b"is up to date" in ended.stderr
    _assert_complete(tmp_path, server)


def test_restarts_while_the_server_is_away(tmp_path: Path, server: S3Server) -> None:
    dies = (sys.executable, str(launch.TRAINER), "--step-seconds", "0.02", "--die-at", "50", *_ENDS)
    process = _start_command(tmp_path, server, ("--restarts", "2"), dies)
    until(lambda: _manifests(server))
    server.stop()
    assert until(lambda: _events(tmp_path, Restored))[0].step == 50
    before = len(_manifests(server))
    server.start()
    until(lambda: len(_manifests(server)) > before + 1)
    ended = _stop(process)
    assert ended.returncode == 75, ended.stderr
    assert [each.cause for each in _events(tmp_path, RestartPlanned)] == ["killed_from_outside"]
    assert [each.state for each in _events(tmp_path, AttemptEnded)] == ["failed", "stopped"]
    assert b"is up to date" in ended.stderr
    _assert_complete(tmp_path, server)


def test_stop_while_the_server_is_away(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path, server, "--grace", "1s")
    until(lambda: _manifests(server))
    server.stop()
    ended = _stop(process)
    assert ended.returncode == 75, ended.stderr
    assert b"the mirror is incomplete" in ended.stderr
    missing = _events(tmp_path, UploadGivenUp)[-1].missing[0]
    assert (tmp_path / _LOCAL / "checkpoints" / missing / "manifest.json").exists()

    server.start()
    again = _start(tmp_path, server)
    until(lambda: any(missing in key for key in _manifests(server)))
    ended = _stop(again)
    assert b"newer than" in ended.stderr
    _assert_complete(tmp_path, server)


def test_who_may_write(tmp_path: Path, server: S3Server) -> None:
    first = _start(tmp_path / "first", server)
    until(lambda: _manifests(server))
    second = _run(tmp_path / "second", server)
    assert second.returncode == 2
    assert b"is in use by a live run" in second.stderr
    assert _stop(first).returncode == 75

    new = _run(tmp_path / "first", server, "--new")
    assert new.returncode == 2
    assert b"contains a run" in new.stderr
    stranger = _run(tmp_path / "first", server, AWS_SECRET_ACCESS_KEY="not-it")
    assert stranger.returncode == 1
    assert b"Check the credentials" in stranger.stderr


def test_credentials_that_end_do_not_end_the_training(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path, server)
    until(lambda: _manifests(server))
    server.stop()
    server.start(secret="another")
    failed = until(lambda: [each for each in _events(tmp_path, UploadFailed) if each.needs_user])
    assert "is denied" in failed[0].error
    assert process.poll() is None
    ended = _stop(process)
    assert ended.returncode == 75
    assert b"Check the credentials" in ended.stderr


def test_a_second_signal_does_not_wait_for_the_mirror(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path, server, "--grace", "1000s")
    until(lambda: _manifests(server))
    server.stop()
    process.send_signal(signal.SIGINT)
    until(lambda: _events(tmp_path, AttemptEnded))
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.returncode == 75, ended.stderr
    assert b"a second stop ended the wait" in ended.stderr


def test_two_different_runs(tmp_path: Path, server: S3Server) -> None:
    for folder in ("first", "second"):
        url = f"s3://bucket/{folder}/cnn"
        process = _start(tmp_path / folder, server, "--run-dir", url)
        until(partial(_holds, server, f"{folder}/cnn/run.json"))
        _stop(process)
    mixed = _run(tmp_path / "first", server, "--run-dir", "s3://bucket/second/cnn")
    assert mixed.returncode == 2
    assert b"are two different runs" in mixed.stderr


def test_the_further_copy_wins_and_the_other_is_kept(tmp_path: Path, server: S3Server) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        before = len(_manifests(server))
        process = _start(folder, server)
        until(partial(_has_more, server, before))
        assert _stop(process).returncode == 75
    process = _start(here, server)
    until(lambda: (here / "runs/cnn.1").exists() and _events(here, Restored))
    until(lambda: _newest_step(here) > _newest_step(there))
    ended = _stop(process)
    assert b"is newer than runs/cnn, which was renamed to" in ended.stderr
    assert b"have diverged" not in ended.stderr
    # The other one has lost the network, and goes on alone for longer.
    elsewhere = _newest_step(here)
    process = _start(there, server, "--run-dir", str(_LOCAL))
    until(lambda: _newest_step(there) > elsewhere)
    assert _stop(process).returncode == 75
    further = _newest_step(there)
    process = _start(there, server)
    until(lambda: _events(there, Restored)[-1].step == further)
    assert b"have diverged" in _stop(process).stderr
    assert _newest_step(there, "runs/cnn.1") == elsewhere
    assert _newest_step(there) >= further
    _assert_complete(there, server)


def _newest_step(folder: Path, run: str = "runs/cnn") -> int:
    newest = Catalog(folder / run / "checkpoints").entries()[0].manifest
    return newest.info.step if newest else 0


def test_the_mirror_is_read_without_a_copy(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path / "run", server)
    until(lambda: _manifests(server))
    _stop(process)
    environment = server.environment
    status = launch.call(tmp_path, "status", URL, **environment)
    assert b"stopped (exit code 75)" in status.stdout
    assert URL.encode() in launch.call(tmp_path, "ls", "s3://bucket/runs", **environment).stdout
    assert URL.encode() in launch.call(tmp_path, "why", URL, **environment).stdout
    assert b"00000020" in launch.call(tmp_path, "checkpoints", URL, **environment).stdout
    assert launch.call(tmp_path, "checkpoints", URL, "verify", **environment).returncode == 2
    assert not (tmp_path / "runs").exists()


def test_processes_that_are_killed(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path, server)
    until(lambda: _manifests(server))
    _uploader(tmp_path).kill()
    until(lambda: b"mirror_lost" in (tmp_path / _LOCAL / "journal.jsonl").read_bytes())
    before = len(_events(tmp_path, CheckpointUploaded))
    until(lambda: len(_events(tmp_path, CheckpointUploaded)) > before)

    process.kill()
    finish(process)
    until(lambda: not launch.processes_in(tmp_path))  # the last save is sent, too
    _assert_complete(tmp_path, server)


def _uploader(folder: Path) -> psutil.Process:
    return next(
        process
        for process in launch.processes_in(folder)
        if "pitstop.remote.uploader" in process.cmdline()
    )


def test_newest_checkpoint_that_is_damaged_in_the_mirror(tmp_path: Path, server: S3Server) -> None:
    process = _start(tmp_path / "here", server)
    until(lambda: len(_manifests(server)) >= 2)
    _stop(process)
    checkpoints = server.folder / "bucket/runs/cnn/checkpoints"
    newest = max(checkpoints.glob("0*/state.json"), key=os.path.getmtime)
    newest.write_bytes(b"{}")
    again = _start(tmp_path / "there", server)
    restored = until(lambda: _events(tmp_path / "there", Restored))
    assert restored[-1].step < int(newest.parent.name.partition(".")[0])
    assert f"{newest.parent.name} in {URL}: state.json" in _stop(again).stderr.decode()
