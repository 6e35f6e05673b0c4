"""The lock of a run, among real processes."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pitstop.errors import RunFolderUnwritable, RunInUse
from pitstop.store.lock import LockRecord, RunLock, is_locked, is_running, own_record, read_lock

RECORD = LockRecord(4711, "node7", 123456, "/run/pitstop.sock")


def test_a_held_lock_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock.acquire(path, RECORD)
    assert is_locked(path)
    assert read_lock(path) == RECORD
    with pytest.raises(RunInUse, match="process 4711 on node7") as caught:
        RunLock.acquire(path, own_record())
    assert (caught.value.pid, caught.value.host) == (4711, "node7")
    assert read_lock(path) == RECORD
    lock.close()


def test_a_closed_lock_is_free_and_remembers(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    RunLock.acquire(path, RECORD).close()
    assert not is_locked(path)
    assert read_lock(path) == RECORD
    RunLock.acquire(path, own_record()).close()


def test_looking_does_not_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists()
    path.touch()
    assert not is_locked(path)
    RunLock.acquire(path, RECORD).close()


def test_somebody_who_looks_at_the_same_moment_is_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    path.touch()
    looking = os.open(path, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    # While `acquire` waits a moment, the other one is done looking.
    monkeypatch.setattr(time, "sleep", lambda _seconds: os.close(looking))
    RunLock.acquire(path, RECORD).close()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b"\xff"])
def test_a_torn_record_is_no_record_but_still_a_lock(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    lock = RunLock.acquire(path, RECORD)
    path.write_bytes(content)
    assert read_lock(path) is None
    with pytest.raises(RunInUse, match="a process on this host"):
        RunLock.acquire(path, RECORD)
    lock.close()


def test_no_file_is_no_record(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "lock") is None


def test_a_child_that_inherited_it_holds_it_on(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock.acquire(path, RECORD)
    os.set_inheritable(lock.fileno(), True)
    # `cat` ends when its input does.
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        lock.close()
        assert is_locked(path)
        with pytest.raises(RunInUse):
            RunLock.acquire(path, RECORD)
        child.communicate()
    assert not is_locked(path)


def test_an_heir_writes_its_own_record(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock.acquire(path, RECORD)
    heir = RunLock(os.dup(lock.fileno()))
    lock.close()
    heir.write_record(LockRecord(1, "n", 2, ""))
    assert read_lock(path) == LockRecord(1, "n", 2, "")
    assert is_locked(path)
    heir.close()
    assert not is_locked(path)


def test_children_do_not_inherit_it_by_default(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock.acquire(path, RECORD)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        lock.close()
        assert not is_locked(path)
        child.communicate()


_HOLD = """
import sys
from pathlib import Path
from pitstop.store.lock import RunLock, own_record
lock = RunLock.acquire(Path(sys.argv[1]), own_record("s"))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_locked(path)
        with pytest.raises(RunInUse) as caught:
            RunLock.acquire(path, own_record())
        assert caught.value.pid == holder.pid
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert not is_locked(path)
    RunLock.acquire(path, own_record()).close()


def test_this_process_names_itself_for_good() -> None:
    record = own_record("s")
    boot_fields = Path(f"/proc/{record.pid}/stat").read_text().rpartition(")")[2].split()
    assert record.pid == os.getpid()
    # starttime is field 22 of proc(5); the state behind the name is field 3.
    assert record.start_time_ticks == int(boot_fields[22 - 3])
    assert record == own_record("s")


def test_a_missing_folder_is_explained(tmp_path: Path) -> None:
    with pytest.raises(RunFolderUnwritable, match="folder is gone"):
        RunLock.acquire(tmp_path / "gone" / "lock", RECORD)


def test_a_process_is_known_by_its_number_and_its_start() -> None:
    assert is_running(own_record())
    reused = dataclasses.replace(own_record(), start_time_ticks=own_record().start_time_ticks - 1)
    assert not is_running(reused)


def test_a_process_that_is_gone_or_only_waits_to_be_collected_is_not_running() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        stat = Path(f"/proc/{child.pid}/stat").read_text()
        ticks = int(stat.rpartition(")")[2].split()[22 - 3])
        record = dataclasses.replace(own_record(), pid=child.pid, start_time_ticks=ticks)
        assert is_running(record)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_running(record)
    assert not is_running(record)


def test_nothing_is_known_of_a_process_on_another_host() -> None:
    assert is_running(RECORD)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_fd: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / "lock").touch()
    with pytest.raises(RunFolderUnwritable, match="has no locks") as caught:
        RunLock.acquire(tmp_path / "lock", RECORD)
    assert "nolock" in caught.value.remedy
    assert not is_locked(tmp_path / "lock")
