"""Who may write a mirror, as the lease in it says."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pitstop.remote import lease_holder
from pitstop.remote.lease_holder import Lease, LeaseHolder, LeaseVerdict, MirrorInUse, judge_lease
from pitstop.remote.plan import LEASE_KEY
from pitstop.remote.storage import Storage

_FOREIGN = Lease("ab", "elsewhere", "boot pid:[1]", 42, 7, lease_holder.LIVE, 1e9)
_SEEN: dict[str, Any] = {
    "lease": _FOREIGN,
    "here": False,
    "holder_alive": False,
    "renewed": False,
    "unchanged_seconds": 0.0,
    "age_seconds": 5.0,
}
_FINISHING = dataclasses.replace(_FOREIGN, state=lease_holder.FINISHING)
_RELEASED = dataclasses.replace(_FOREIGN, state=lease_holder.RELEASED)


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ({"lease": _RELEASED}, LeaseVerdict.TAKE),
        ({"here": True}, LeaseVerdict.TAKE),
        ({"here": True, "holder_alive": True}, LeaseVerdict.REFUSE),
        ({}, LeaseVerdict.WAIT),
        ({"renewed": True}, LeaseVerdict.REFUSE),
        ({"unchanged_seconds": lease_holder.EXPIRY_SECONDS}, LeaseVerdict.TAKE),
        ({"age_seconds": lease_holder.ABANDONED_SECONDS}, LeaseVerdict.TAKE),
        ({"lease": _FINISHING, "renewed": True}, LeaseVerdict.WAIT),
        ({"lease": _FINISHING, "here": True, "holder_alive": True}, LeaseVerdict.WAIT),
    ],
)
def test_what_is_done_about_a_lease(seen: dict[str, Any], verdict: LeaseVerdict) -> None:
    assert judge_lease(**{**_SEEN, **seen}) is verdict


def test_a_lease_survives_json() -> None:
    assert lease_holder.decode_lease(lease_holder.encode_lease(_FOREIGN)) == _FOREIGN


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"holder": 3}', b"\xff"])
def test_anything_else_protects_nothing(data: bytes) -> None:
    assert lease_holder.decode_lease(data) is None


def test_a_renewal_is_much_earlier_than_the_expiry() -> None:
    assert 3 * lease_holder.RENEW_SECONDS < lease_holder.EXPIRY_SECONDS


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(f"file://{tmp_path}/mirror")


def _ignore(line: str) -> None:
    del line


def test_one_holder_at_a_time(storage: Storage) -> None:
    first, second = LeaseHolder(storage, "one"), LeaseHolder(storage, "two")
    first.acquire(_ignore)
    with pytest.raises(MirrorInUse, match="is in use by a live run"):
        second.acquire(_ignore)
    assert first.renew()
    first.keep(lambda: None)
    first.release(20.0)
    second.acquire(_ignore)
    assert not first.renew()
    assert second.renew()


def test_the_lease_of_a_dead_process_of_this_machine_is_taken(storage: Storage) -> None:
    holder = LeaseHolder(storage, "one")
    holder.acquire(_ignore)
    found = lease_holder.decode_lease(storage.read(LEASE_KEY) or b"")
    assert found is not None
    dead = dataclasses.replace(found, start_time_ticks=found.start_time_ticks + 1)
    storage.write(LEASE_KEY, lease_holder.encode_lease(dead))
    LeaseHolder(storage, "two").acquire(_ignore)


def test_an_abandoned_lease_of_another_machine_is_taken(storage: Storage) -> None:
    storage.write(LEASE_KEY, lease_holder.encode_lease(_FOREIGN))
    holder = LeaseHolder(storage, "two")
    holder.acquire(_ignore)
    assert holder.renew()
