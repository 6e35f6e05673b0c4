"""The thread that sends: again when it failed, and to the end when it is told to finish."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pitstop.events import CheckpointUploaded, Event, UploadFailed, UploadGivenUp
from pitstop.remote.lease_holder import LeaseHolder
from pitstop.remote.mirror import Mirror
from pitstop.remote.plan import LEASE_KEY
from pitstop.remote.storage import Storage
from pitstop.remote.uploader import Sender
from pitstop.store.manifest import STATE_FILE
from pitstop.store.run_folder import RunFolder, open_or_create
from tests.store.samples import save

_LONGEST_SECONDS = 20.0


class _Sending:
    """A sender of a run with one checkpoint, and what it told."""

    def __init__(self, folder: Path) -> None:
        self.run: RunFolder = open_or_create(folder / "run", ["train"], folder)
        save(self.run.checkpoints, 10, sequence=1)
        self.storage = Storage(f"file://{folder}/mirror")
        self.events: list[Event] = []
        self.told = threading.Event()
        self.ended = threading.Event()
        mirror = Mirror(self.storage, self.run.path, self._tell)
        self.sender = Sender(mirror, self._tell, self.ended.set)

    def _tell(self, event: Event) -> None:
        self.events.append(event)
        self.told.set()


@pytest.fixture
def sending(tmp_path: Path) -> _Sending:
    return _Sending(tmp_path)


def test_it_sends_what_is_there_and_ends_when_told(sending: _Sending) -> None:
    sending.sender.thread.start()
    assert sending.told.wait(_LONGEST_SECONDS)
    save(sending.run.checkpoints, 20, sequence=2)
    sending.sender.finish()
    assert sending.ended.wait(_LONGEST_SECONDS)
    assert [type(each) for each in sending.events] == [CheckpointUploaded, CheckpointUploaded]


def test_it_tries_again_what_failed(sending: _Sending, tmp_path: Path) -> None:
    (tmp_path / "mirror").write_text("in the way of the folder")
    sending.sender.thread.start()
    assert sending.told.wait(_LONGEST_SECONDS)
    [failed] = sending.events
    assert isinstance(failed, UploadFailed)
    assert not failed.needs_user
    (tmp_path / "mirror").unlink()
    sending.sender.finish()
    assert sending.ended.wait(_LONGEST_SECONDS)
    assert isinstance(sending.events[-1], CheckpointUploaded)


def test_one_that_is_stopped_says_what_is_missing(sending: _Sending) -> None:
    sending.sender.stop("another run has taken the mirror")
    sending.sender.thread.start()
    assert sending.ended.wait(_LONGEST_SECONDS)
    assert sending.events == [UploadGivenUp(["00000010"], "another run has taken the mirror")]


def _break(file: Path) -> None:
    """Puts something in its place that cannot be read, whoever tries."""
    file.unlink()
    file.symlink_to(file)


def test_a_folder_that_cannot_be_read_for_a_while_is_sent_later(sending: _Sending) -> None:
    state = sending.run.checkpoints / "00000010" / STATE_FILE
    content = state.read_bytes()
    _break(state)
    sending.sender.thread.start()
    assert sending.told.wait(_LONGEST_SECONDS)
    [failed] = sending.events
    assert isinstance(failed, UploadFailed)
    assert "cannot be read" in failed.error
    state.unlink()
    state.write_bytes(content)
    sending.sender.finish()
    assert sending.ended.wait(_LONGEST_SECONDS)
    assert isinstance(sending.events[-1], CheckpointUploaded)


def test_one_that_is_stopped_says_so_although_nobody_knows_what_is_missing(
    sending: _Sending,
) -> None:
    _break(sending.run.checkpoints / "00000010" / STATE_FILE)
    sending.sender.stop("the run has ended")
    sending.sender.thread.start()
    assert sending.ended.wait(_LONGEST_SECONDS)
    assert sending.events == [UploadGivenUp([], "the run has ended")]


def test_a_mirror_that_another_run_has_taken_meanwhile_is_left_alone(tmp_path: Path) -> None:
    sending = _Sending(tmp_path)
    keeper = LeaseHolder(sending.storage, "one")
    keeper.keep(lambda: sending.sender.stop("taken"))
    mirror = Mirror(sending.storage, sending.run.path, sending.events.append)
    sending.sender = Sender(mirror, sending.events.append, sending.ended.set, keeper.is_held)
    other = LeaseHolder(sending.storage, "other")
    other.acquire(lambda _: None)
    other.keep(lambda: None)
    other.release(_LONGEST_SECONDS)
    # As behind a network that was away: nobody has looked at the lease since.
    sending.sender.thread.start()
    assert sending.ended.wait(_LONGEST_SECONDS)
    assert sending.events == [UploadGivenUp(["00000010"], "taken")]
    assert set(sending.storage.sizes()) == {LEASE_KEY}
