"""The real persister process, driven through its socket pair."""

from __future__ import annotations

import itertools
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointQuarantined,
    Event,
    Notice,
    StopRequested,
    from_record,
)
from pitstop.journal import read
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.messages import (
    ArenaOffer,
    EventReport,
    Finish,
    Load,
    Message,
    Persist,
    Persisted,
    TrainerPid,
)
from pitstop.link.wire import Connection, Received, pair
from pitstop.snapshot import persister
from pitstop.snapshot.arena import Arena
from pitstop.snapshot.persister import end_process_group
from pitstop.store.catalog import Catalog
from pitstop.store.lock import RunLock, is_locked, own_record
from pitstop.store.manifest import MANIFEST_FILE, TENSORS_FILE
from pitstop.store.names import QUARANTINE_DIR
from pitstop.store.retention import RetentionPolicy
from pitstop.store.run_folder import RunFolder, open_or_create
from tests.messages import body_of
from tests.snapshot.samples import new_arena, take
from tests.store.samples import save

SOURCE = Path(__file__).parents[2] / "src"
LONGEST_SECONDS = 30.0
ATTEMPT = 5


class Supervisor:
    """The supervisor's side of one persister."""

    def __init__(self, folder: RunFolder, pinned: int = 0) -> None:
        self.folder = folder
        self.beacon = Beacon.create()
        self.beacon.pin(pinned)
        self.lock = RunLock.acquire(folder.lock, own_record())
        self.connection, theirs = pair()
        self.process = self._start(theirs)
        theirs.close()
        self.events: list[Event] = []

    def _start(self, theirs: Connection) -> subprocess.Popen[bytes]:
        fds = (theirs.fileno(), self.beacon.fd, self.lock.fileno())
        told = {"fd": fds[0], "beacon_fd": fds[1], "run_dir": str(self.folder.path)}
        told |= {"attempt": ATTEMPT, "retention": RetentionPolicy().to_json()}
        return subprocess.Popen(
            [sys.executable, "-m", "pitstop.snapshot.persister", json.dumps(told)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            pass_fds=fds,
        )

    def use(self, arena: Arena) -> None:
        self.connection.send(ArenaOffer(size_bytes=arena.plan.size_bytes), [arena.fd])

    def ask(self, request: Message) -> Received:
        """The answer to a request; events before it are kept."""
        self.connection.send(request)
        while isinstance((received := self.connection.receive()).message, EventReport):
            self.events.append(from_record(received.message.event))
        return received

    def wait_until_started(self) -> None:
        """A persister removes unfinished checkpoints first: nobody else may write one before."""
        assert isinstance(self.ask(Persist("nothing to save yet")).message, Persisted)

    def suspend(self) -> None:
        """Stops the persister and waits until it has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def die(self) -> None:
        """What the kernel does when the supervisor is killed."""
        self.connection.close()
        self.lock.close()

    def ended(self) -> int:
        return self.process.wait(LONGEST_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.connection.close()
        os.close(self.beacon.fd)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return open_or_create(tmp_path / "run", ["python", "train.py"], tmp_path)


@pytest.fixture
def supervisor(folder: RunFolder) -> Iterator[Supervisor]:
    made = Supervisor(folder)
    yield made
    made.close()


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


def test_the_pin_of_a_persister_that_was_killed_is_taken_away(folder: RunFolder) -> None:
    supervisor = Supervisor(folder, pinned=7)
    # Loading touches no pin; the answer only says that the persister serves.
    supervisor.ask(Load("00000001"))
    assert supervisor.beacon.pinned() == 0
    supervisor.close()


def steps(folder: RunFolder) -> list[int]:
    entries = Catalog(folder.checkpoints).entries()
    return [entry.manifest.info.step for entry in entries if entry.manifest]


def journaled(folder: RunFolder) -> list[Event]:
    entries = read(folder.journal).entries
    assert {entry.attempt for entry in entries} <= {ATTEMPT}
    return [entry.event for entry in entries]


# -- saving ----------------------------------------------------------------------


def test_persisting_twice_saves_once(
    supervisor: Supervisor, arena: Arena, folder: RunFolder
) -> None:
    take(arena, 4, step=40)
    supervisor.use(arena)
    answer = supervisor.ask(Persist("cadence"))
    assert (answer.message.type, body_of(answer)["sequence"]) == ("persisted", 4)
    (committed,) = supervisor.events
    assert isinstance(committed, CheckpointCommitted)
    assert (committed.step, committed.reason) == (40, "cadence")
    again = supervisor.ask(Persist("stop"))
    assert (again.message.type, body_of(again)["sequence"]) == ("persisted", 0)
    assert supervisor.ask(Finish()).message.type == "finished"
    assert supervisor.ended() == 0
    assert steps(folder) == [40]
    assert not folder.journal.exists()  # the supervisor's to write while it lives


def test_nothing_to_persist_before_there_is_an_arena(supervisor: Supervisor) -> None:
    assert body_of(supervisor.ask(Persist("stop")))["sequence"] == 0


def test_a_full_disk_is_told_and_tried_again(
    supervisor: Supervisor, arena: Arena, folder: RunFolder
) -> None:
    take(arena, 1, step=10)
    supervisor.use(arena)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    pid = supervisor.process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, hard))
    refused = supervisor.ask(Persist("cadence"))
    assert refused.message.type == "persist_failed"
    assert "file size limit" in body_of(refused)["error"]
    (failed,) = supervisor.events
    assert isinstance(failed, CheckpointFailed)
    assert failed.remedy
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
    assert body_of(supervisor.ask(Persist("cadence")))["sequence"] == 1
    assert steps(folder) == [10]


def test_leftovers_of_a_crash_are_swept(folder: RunFolder) -> None:
    leftover = folder.checkpoints / ".partial-7"
    leftover.mkdir()
    supervisor = Supervisor(folder)
    assert supervisor.ask(Finish()).message.type == "finished"
    assert not leftover.exists()
    supervisor.close()


def test_signals_of_the_terminal_do_not_end_it(supervisor: Supervisor, arena: Arena) -> None:
    supervisor.ask(Persist("cadence"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        supervisor.process.send_signal(number)
    take(arena, 1, step=10)
    supervisor.use(arena)
    supervisor.ask(Persist("stop"))
    (committed,) = supervisor.events
    assert isinstance(committed, CheckpointCommitted)
    assert committed.step == 10


# -- loading ---------------------------------------------------------------------


def loaded_step(answer: Received) -> int:
    _, state = os.pread(answer.fds[0], 1 << 20, 0).split(b"\n", 1)
    for fd in answer.fds:
        os.close(fd)
    return int(json.loads(state)["step"])


def flip_last_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_loading_by_name_and_by_age(supervisor: Supervisor, folder: RunFolder) -> None:
    supervisor.wait_until_started()
    older, _ = save(folder.checkpoints, step=10, sequence=1)
    newer, _ = save(folder.checkpoints, step=20, sequence=2)
    named = supervisor.ask(Load(older.name))
    assert (named.message.type, body_of(named)["checkpoint"], loaded_step(named)) == (
        "image_answer",
        older.name,
        10,
    )
    newest = supervisor.ask(Load(""))
    assert (body_of(newest)["checkpoint"], loaded_step(newest)) == (newer.name, 20)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: flip_last_byte(path / TENSORS_FILE),
        lambda path: (path / TENSORS_FILE).unlink(),
        lambda path: (path / MANIFEST_FILE).write_bytes(b"{"),
    ],
    ids=["flipped bit", "missing file", "torn manifest"],
)
def test_a_damaged_newest_checkpoint_is_set_aside(
    supervisor: Supervisor, folder: RunFolder, damage: Callable[[Path], object]
) -> None:
    supervisor.wait_until_started()
    older, _ = save(folder.checkpoints, step=10, sequence=1)
    newer, _ = save(folder.checkpoints, step=20, sequence=2)
    damage(newer)
    answer = supervisor.ask(Load(""))
    assert (body_of(answer)["checkpoint"], loaded_step(answer)) == (older.name, 10)
    (event,) = supervisor.events
    assert isinstance(event, CheckpointQuarantined)
    assert Path(event.path).is_dir()
    assert not newer.exists()
    assert event.reason


def test_a_damaged_checkpoint_that_cannot_be_set_aside_is_passed_over(
    supervisor: Supervisor, folder: RunFolder
) -> None:
    supervisor.wait_until_started()
    older, _ = save(folder.checkpoints, step=10, sequence=1)
    newer, _ = save(folder.checkpoints, step=20, sequence=2)
    flip_last_byte(newer / TENSORS_FILE)
    (folder.checkpoints / QUARANTINE_DIR).write_text("in the way")
    answer = supervisor.ask(Load(""))
    assert (body_of(answer)["checkpoint"], loaded_step(answer)) == (older.name, 10)
    (event,) = supervisor.events
    assert isinstance(event, Notice)
    assert "00000020 is damaged" in event.message


def test_a_checkpoint_that_cannot_be_read_now_is_named_and_read_later(
    supervisor: Supervisor, folder: RunFolder
) -> None:
    supervisor.wait_until_started()
    save(folder.checkpoints, step=10, sequence=1)
    newer, _ = save(folder.checkpoints, step=20, sequence=2)
    pid = supervisor.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # Enough for one file, such as a manifest, and not for the files of a checkpoint.
    taken = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    first_free = next(number for number in itertools.count() if number not in taken)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (first_free + 1, hard))
    answer = supervisor.ask(Load(""))
    assert (answer.message.type, body_of(answer)["checkpoint"]) == ("no_image", newer.name)
    assert "too many open files" in body_of(answer)["reason"]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert loaded_step(supervisor.ask(Load(newer.name))) == 20


@pytest.mark.parametrize("wanted", ["", "step-00000099"])
def test_no_checkpoint_to_load(supervisor: Supervisor, wanted: str) -> None:
    answer = supervisor.ask(Load(wanted))
    assert answer.message.type == "no_image"
    assert body_of(answer)["reason"] == f"there is no undamaged checkpoint {wanted}".rstrip()


# -- without a supervisor --------------------------------------------------------

TRAINER = """
import sys
import time
from pathlib import Path
from pitstop.link.beacon import Beacon
beacon = Beacon(int(sys.argv[1]))
print("training", flush=True)
while not beacon.stop():
    pass
beacon.write_position(77, 0, 0, 0, 0.0)
"""


@pytest.fixture
def trainer(supervisor: Supervisor) -> Iterator[subprocess.Popen[bytes]]:
    """A process that trains until the beacon says stop."""
    fd = supervisor.beacon.fd
    with subprocess.Popen(
        [sys.executable, "-c", TRAINER, str(fd)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        pass_fds=[fd],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"training\n"
        yield process
        process.kill()


def test_it_stops_the_trainer_and_saves_what_is_newest(
    supervisor: Supervisor, arena: Arena, folder: RunFolder, trainer: subprocess.Popen[bytes]
) -> None:
    take(arena, 1, step=10)
    supervisor.use(arena)
    supervisor.connection.send(TrainerPid(pid=trainer.pid))
    supervisor.ask(Persist("cadence"))
    take(arena, 2, step=20)
    supervisor.die()
    assert supervisor.ended() == 0
    assert trainer.wait(LONGEST_SECONDS) == 0
    assert supervisor.beacon.stop() == Stop.GRACEFUL
    assert supervisor.beacon.progress().step == 77
    assert steps(folder) == [20, 10]
    stop, committed = journaled(folder)
    assert stop == StopRequested(source="supervisor_lost", urgency="graceful")
    assert isinstance(committed, CheckpointCommitted)
    assert (committed.step, committed.reason) == (20, "supervisor_lost")


def test_a_script_that_has_not_begun_to_train_holds_nobody_up(
    supervisor: Supervisor, folder: RunFolder
) -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as script:
        supervisor.connection.send(TrainerPid(pid=script.pid))
        began = time.monotonic()
        supervisor.die()
        assert supervisor.ended() == 0
        assert script.wait() == -signal.SIGTERM
    assert time.monotonic() - began < 15
    assert not is_locked(folder.lock)


def test_it_keeps_the_lock_until_it_has_saved(supervisor: Supervisor, folder: RunFolder) -> None:
    supervisor.ask(Persist("cadence"))
    supervisor.suspend()
    supervisor.die()
    assert is_locked(folder.lock)
    supervisor.process.send_signal(signal.SIGCONT)
    assert supervisor.ended() == 0
    assert not is_locked(folder.lock)


def test_what_it_saved_while_the_supervisor_died_is_journaled(
    supervisor: Supervisor, arena: Arena, folder: RunFolder
) -> None:
    take(arena, 1, step=10)
    supervisor.use(arena)
    supervisor.suspend()
    supervisor.connection.send(Persist(reason="cadence"))
    supervisor.die()
    supervisor.process.send_signal(signal.SIGCONT)
    assert supervisor.ended() == 0
    committed, stop = journaled(folder)
    assert isinstance(committed, CheckpointCommitted)
    assert (committed.step, committed.reason) == (10, "cadence")
    assert isinstance(stop, StopRequested)


def test_a_journal_that_cannot_be_written_does_not_cost_the_snapshot(
    supervisor: Supervisor, arena: Arena, folder: RunFolder
) -> None:
    folder.journal.mkdir()
    take(arena, 1, step=10)
    supervisor.use(arena)
    supervisor.die()
    assert supervisor.ended() == 0
    assert steps(folder) == [10]


def test_a_trainer_that_is_gone_is_not_waited_for(
    supervisor: Supervisor, arena: Arena, folder: RunFolder
) -> None:
    gone = subprocess.Popen(["true"], start_new_session=True)
    gone.wait()
    take(arena, 1, step=10)
    supervisor.use(arena)
    supervisor.connection.send(TrainerPid(pid=gone.pid))
    supervisor.die()
    assert supervisor.ended() == 0
    assert steps(folder) == [10]


def test_a_trainer_that_does_not_stop_is_ended_with_its_group() -> None:
    script = "sleep 1000 & echo $!; exec sleep 1000"
    with subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        worker = os.pidfd_open(int(process.stdout.readline()))
        end_process_group(process.pid, grace_seconds=0.0)
        assert process.wait() == -signal.SIGTERM
        assert select.select([worker], [], [], LONGEST_SECONDS)[0] == [worker]
        os.close(worker)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_group_of_another_user_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persister, "_TERMINATE_SECONDS", 0.1)
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as others:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setuid(65534)
                end_process_group(others.pid, grace_seconds=0.0)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert others.poll() is None
        others.kill()
    assert os.waitstatus_to_exitcode(status) == 0
