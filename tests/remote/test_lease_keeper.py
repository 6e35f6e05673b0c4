"""The thread that renews a lease, and gives it back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pitstop.remote import lease_holder
from pitstop.remote.lease_holder import LeaseHolder
from pitstop.remote.plan import LEASE_KEY
from pitstop.remote.storage import Storage

_LONGEST_SECONDS = 20.0


class _SlowStorage(Storage):
    """Answers when it is told to."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked = threading.Event()
        self.answers = threading.Event()
        self.answers.set()

    def read(self, key: str) -> bytes | None:
        self.asked.set()
        assert self.answers.wait(_LONGEST_SECONDS)
        return super().read(key)

    @property
    def state(self) -> str:
        found = lease_holder.decode_lease(self.read(LEASE_KEY) or b"")
        return found.state if found else ""


@pytest.fixture
def storage(tmp_path: Path) -> _SlowStorage:
    return _SlowStorage(f"file://{tmp_path}/mirror")


def _keep(storage: Storage) -> LeaseHolder:
    holder = LeaseHolder(storage, "one")
    holder.acquire(lambda _: None)
    holder.keep(lambda: pytest.fail("nobody has taken it"))
    return holder


def test_a_lease_is_given_back(storage: _SlowStorage) -> None:
    keeper = _keep(storage)
    assert storage.state == lease_holder.LIVE
    keeper.release(_LONGEST_SECONDS)
    assert storage.state == lease_holder.RELEASED


def test_a_lease_is_given_back_behind_a_renewal_under_way(storage: _SlowStorage) -> None:
    keeper = _keep(storage)
    storage.asked.clear()
    storage.answers.clear()
    keeper.finishing()
    assert storage.asked.wait(_LONGEST_SECONDS)
    keeper.release(timeout_seconds=0.0)
    storage.answers.set()
    keeper.release(_LONGEST_SECONDS)
    assert storage.state == lease_holder.RELEASED


def test_who_finishes_says_so_with_the_next_renewal(storage: _SlowStorage) -> None:
    holder = LeaseHolder(storage, "one")
    holder.acquire(lambda _: None)
    holder.finishing()
    assert holder.renew()
    assert storage.state == lease_holder.FINISHING
