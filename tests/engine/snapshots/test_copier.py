"""Cuts reach the arena in order, one at a time, and failures do not stop training."""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.engine.snapshots import copier
from pitstop.engine.snapshots.copier import Copier, pitstop_failed, snapshot_failed
from pitstop.engine.snapshots.state_capture import HeldTensor, Position
from pitstop.link.beacon import Beacon
from pitstop.link.messages import SnapshotReport
from pitstop.snapshot import arena
from pitstop.snapshot.arena import Arena, newest_slot, plan_arena
from pitstop.store.image import TensorSpec, parse_image
from tests.engine.samples import cut, value
from tests.store.samples import lowered

PLENTY_BYTES = 1 << 40
SIZE_BYTES = 32 << 20


class Trainer:
    """What a copier tells, and what it has written."""

    def __init__(
        self, folder: Path, available_bytes: Callable[[], int] = lambda: PLENTY_BYTES
    ) -> None:
        self.beacon = Beacon.create()
        self.arenas: list[Arena] = []
        self.fds: list[int] = []
        self.copied: list[SnapshotReport] = []
        self.failed: list[Exception] = []
        self.copier = Copier(
            self.beacon,
            lambda size_bytes: Arena(plan_arena(size_bytes, available_bytes(), 0), folder),
            self.take_arena,
            self.copied.append,
            self.failed.append,
        )

    def take_arena(self, arena: Arena) -> None:
        self.arenas.append(arena)
        self.fds.append(os.dup(arena.fd))

    def newest(self) -> arena.SlotHead:
        found = newest_slot(self.fds[-1])
        assert found is not None
        return found[1]


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[Trainer]:
    made = Trainer(tmp_path)
    yield made
    made.copier.wait()
    for fd in made.fds:
        os.close(fd)


def steps(copied: list[SnapshotReport]) -> list[int]:
    return [each.step for each in copied]


def numbers(copied: list[SnapshotReport]) -> list[int]:
    """Sequence numbers, counted from that of the first snapshot."""
    return [each.sequence - copied[0].sequence for each in copied]


def test_cuts_are_copied_in_order(trainer: Trainer) -> None:
    for step in (1, 2, 3):
        trainer.copier.wait()
        trainer.copier.submit(cut(step), "cadence", durable=False)
    trainer.copier.copy_now(cut(4), "stop", durable=True)
    assert steps(trainer.copied) == [1, 2, 3, 4]
    assert numbers(trainer.copied) == [0, 1, 2, 3]
    assert [each.reason for each in trainer.copied] == ["cadence"] * 3 + ["stop"]
    assert [each.durable for each in trainer.copied] == [False] * 3 + [True]
    assert trainer.newest().step == 4
    assert trainer.beacon.progress().snapshot_step == 4


def test_a_training_that_stands_still_pays_for_one_slot_only(tmp_path: Path) -> None:
    def once_awaited() -> int:
        while not late.copier.awaited:
            time.sleep(0.001)
        return PLENTY_BYTES

    late = Trainer(tmp_path, once_awaited)
    late.copier.makes_room(SIZE_BYTES)
    late.copier.copy_now(cut(1), "stop", durable=True)
    (fd,) = late.fds
    assert steps(late.copied) == [1]
    assert os.fstat(fd).st_blocks * 512 < SIZE_BYTES
    assert not late.copier.awaited
    os.close(fd)


def test_what_is_written_can_be_opened(trainer: Trainer) -> None:
    trainer.copier.copy_now(cut(7), "stop", durable=True)
    head = trainer.newest()
    content = memoryview(os.pread(trainer.fds[-1], head.size_bytes, 0))[arena.HEAD_BYTES :]
    image, state = content[: head.image_bytes], content[head.image_bytes :]
    assert Position(**json.loads(bytes(state))["position"]) == cut(7).position
    tensors = {
        place.spec.name: bytes(image[place.offset_bytes : place.end_bytes])
        for place in parse_image(image).placements
    }
    assert tensors == {"kernel": value(7), "count": (7).to_bytes(8, "little")}


class _Value:
    """Something that a step can update without a copy once nobody holds it."""

    def __init__(self, log: list[str], name: str) -> None:
        self._log, self._name = log, name

    def read(self) -> memoryview:
        self._log.append(f"read {self._name}")
        return memoryview(value(1))

    def __del__(self) -> None:
        self._log.append(f"gone {self._name}")


def test_each_value_is_let_go_before_the_next_is_copied(trainer: Trainer) -> None:
    log: list[str] = []
    values = [_Value(log, name) for name in ("a", "b")]
    tensors = tuple(
        HeldTensor(TensorSpec(name, "U8", (len(value(1)),)), held.read)
        for name, held in zip(("a", "b"), values, strict=True)
    )
    del values
    trainer.copier.submit(replace(cut(1), tensors=tensors), "cadence", durable=False)
    del tensors
    trainer.copier.wait()
    assert log == ["read a", "gone a", "read b", "gone b"]


def test_it_is_not_ready_while_it_copies(trainer: Trainer) -> None:
    gate = threading.Event()

    def read() -> memoryview:
        gate.wait()
        return memoryview(value(1))

    assert trainer.copier.ready
    trainer.copier.submit(cut(1, read=read), "cadence", durable=False)
    assert not trainer.copier.ready
    assert trainer.copied == []
    gate.set()
    trainer.copier.wait()
    assert trainer.copier.ready
    assert steps(trainer.copied) == [1]


def test_a_copy_at_once_comes_after_the_one_under_way(trainer: Trainer) -> None:
    gate = threading.Event()

    def read() -> memoryview:
        gate.wait()
        return memoryview(value(1))

    trainer.copier.submit(cut(1, read=read), "cadence", durable=False)
    threading.Timer(0.01, gate.set).start()
    assert trainer.copier.copy_now(cut(2), "stop", durable=True) == trainer.copied[1].sequence
    assert steps(trainer.copied) == [1, 2]


def test_held_values_are_let_go_after_the_copy(trainer: Trainer) -> None:
    class Held:
        def read(self) -> memoryview:
            return memoryview(value(1))

    held = Held()
    gone = weakref.ref(held)
    trainer.copier.submit(cut(1, read=held.read), "cadence", durable=False)
    del held
    trainer.copier.wait()
    trainer.copied.clear()
    gc.collect()
    assert gone() is None


def test_the_arena_grows_with_the_model(trainer: Trainer) -> None:
    trainer.copier.copy_now(cut(1), "cadence", durable=True)
    trainer.copier.copy_now(cut(2, size_bytes=4 << 20), "cadence", durable=True)
    trainer.copier.copy_now(cut(3, size_bytes=4 << 20), "cadence", durable=True)
    assert len(trainer.arenas) == 2
    assert trainer.newest().step == 3
    assert numbers(trainer.copied) == [0, 1, 2]
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(trainer.arenas[0].fd)


def test_room_can_be_made_before_it_is_needed(trainer: Trainer) -> None:
    assert trainer.copier.makes_room(4 << 20)
    trainer.copier.wait()
    assert not trainer.copier.makes_room(4 << 20)
    trainer.copier.copy_now(cut(1, size_bytes=4 << 20), "cadence", durable=True)
    assert len(trainer.arenas) == 1


def test_room_that_is_refused_is_told(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path, available_bytes=lambda: 1 << 20)
    with lowered(resource.RLIMIT_FSIZE, 1 << 12):
        trainer.copier.makes_room(4 << 20)
        trainer.copier.wait()
    assert trainer.copier.room_refused
    assert len(trainer.failed) == 1
    assert not trainer.copier.makes_room(4 << 20)
    trainer.copier.copy_now(cut(1, size_bytes=4 << 20), "stop", durable=True)
    assert not trainer.copier.room_refused


def test_without_memory_it_takes_a_file(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path, available_bytes=lambda: 1 << 20)
    trainer.copier.copy_now(cut(1), "cadence", durable=True)
    assert trainer.arenas[0].plan.backing == "file"
    assert os.fstat(trainer.fds[0]).st_dev == tmp_path.stat().st_dev


def test_an_arena_that_cannot_be_made_is_told_and_tried_again(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path, available_bytes=lambda: 0)
    with lowered(resource.RLIMIT_FSIZE, 1 << 12):
        assert trainer.copier.copy_now(cut(1), "cadence", durable=True) == 0
        trainer.copier.submit(cut(2), "cadence", durable=False)
        trainer.copier.wait()
    assert [getattr(error, "strerror", "") for error in trainer.failed] == ["File too large"] * 2
    assert trainer.beacon.progress().snapshot_step == -1
    trainer.copier.submit(cut(3), "cadence", durable=False)
    trainer.copier.wait()
    assert steps(trainer.copied) == [3]


@pytest.mark.parametrize(
    ("code", "words"), [(errno.ENOSPC, "disk space"), (errno.EFBIG, "ulimit -f")]
)
def test_what_to_do_follows_the_error(code: int, words: str) -> None:
    assert words in snapshot_failed(7, OSError(code, os.strerror(code))).remedy


@pytest.mark.parametrize("at_once", [False, True])
def test_an_error_of_our_own_is_told_and_does_not_end_the_training(
    trainer: Trainer, *, at_once: bool
) -> None:
    def read() -> memoryview:
        raise RuntimeError("no value")

    if at_once:
        assert trainer.copier.copy_now(cut(1, read=read), "cadence", durable=True) == 0
    else:
        trainer.copier.submit(cut(1, read=read), "cadence", durable=False)
        trainer.copier.wait()
    assert [str(error) for error in trainer.failed] == ["no value"]
    assert trainer.beacon.progress().snapshot_step == -1
    trainer.copier.submit(cut(2), "cadence", durable=False)
    trainer.copier.wait()
    assert steps(trainer.copied) == [2]


def test_a_disk_that_does_not_answer_is_waited_for_once(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.copier.copy_now(cut(1), "cadence", durable=True)
    trainer.beacon.pin(trainer.copied[0].sequence)
    trainer.copier.copy_now(cut(2), "cadence", durable=True)
    monkeypatch.setattr(trainer.copier, "_patience_seconds", 0.05)
    assert trainer.copier.copy_now(cut(3), "cadence", durable=True) == 0
    # It had its chance: nobody waits again before a slot was free.
    monkeypatch.setattr(copier, "_PATIENCE_SECONDS", 1e9)
    assert trainer.copier.copy_now(cut(4), "cadence", durable=True) == 0
    assert [type(error) for error in trainer.failed] == [TimeoutError] * 2
    trainer.beacon.pin(0)
    trainer.copier.copy_now(cut(5), "cadence", durable=True)
    assert trainer.newest().step == 5
    assert trainer.copier._patience_seconds == 1e9


def test_a_snapshot_that_is_read_is_not_overwritten(trainer: Trainer) -> None:
    trainer.copier.copy_now(cut(1), "cadence", durable=True)
    trainer.beacon.pin(trainer.copied[0].sequence)
    trainer.copier.copy_now(cut(2), "cadence", durable=True)
    assert not trainer.copier.ready
    trainer.copier.submit(cut(3), "cadence", durable=False)
    assert trainer.newest().step == 2
    trainer.beacon.pin(0)
    trainer.copier.wait()
    assert trainer.newest().step == 3


def test_a_later_process_of_the_attempt_has_larger_numbers(
    trainer: Trainer, tmp_path: Path
) -> None:
    for step in range(3):
        trainer.copier.copy_now(cut(step), "cadence", durable=True)
    later = Trainer(tmp_path)
    later.copier.copy_now(cut(1), "cadence", durable=True)
    assert later.copied[0].sequence > trainer.copied[-1].sequence


@pytest.mark.parametrize(
    "error", [RuntimeError("can't start new thread"), MemoryError()], ids=["thread", "memory"]
)
def test_an_exhausted_process_is_no_bug_of_ours(error: Exception) -> None:
    told = pitstop_failed(error)
    assert "training continues" in told.reason
    assert "ulimit" in told.remedy
    assert "bug" not in told.remedy
