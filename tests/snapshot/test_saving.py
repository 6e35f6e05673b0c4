"""Slots become checkpoints: each once, the newest first, never a half one."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.errors import CheckpointWriteFailed
from pitstop.link.beacon import Beacon
from pitstop.snapshot.arena import Arena
from pitstop.snapshot.saving import Saver
from pitstop.store.catalog import Catalog
from pitstop.store.manifest import STATE_FILE, TENSORS_FILE
from pitstop.store.retention import RetentionPolicy
from tests.snapshot.samples import fill, new_arena, sample, take
from tests.store.samples import lowered


class ScriptedBeacon(Beacon):
    """Runs what the trainer does at the moment the persister pins."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.script: list[tuple[Arena, int]] = []
        self.pins: list[float] = []

    def pin(self, sequence: float) -> None:
        if sequence and self.script:
            # Before the pin is seen: the trainer has chosen its slot already.
            arena, step = self.script.pop(0)
            take(arena, step, step, self.pinned())
        super().pin(sequence)
        self.pins.append(sequence)


@pytest.fixture
def beacon() -> Iterator[ScriptedBeacon]:
    made = ScriptedBeacon(Beacon.create().fd)
    yield made
    os.close(made.fd)


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = new_arena(tmp_path)
    yield made
    made.close()


@pytest.fixture
def saver(tmp_path: Path, beacon: ScriptedBeacon, arena: Arena) -> Saver:
    (tmp_path / "checkpoints").mkdir()
    made = Saver(tmp_path / "checkpoints", beacon, attempt=3)
    made.use_arena(os.dup(arena.fd))
    return made


def saved_steps(folder: Path) -> list[int]:
    catalog = Catalog(folder / "checkpoints")
    return [catalog.verify(entry).info.step for entry in catalog.entries()]


def test_an_empty_arena_has_nothing_to_save(saver: Saver, beacon: ScriptedBeacon) -> None:
    assert saver.save_newest("cadence") is None
    assert beacon.pinned() == 0


def test_a_checkpoint_holds_the_bytes_of_the_slot(
    saver: Saver, arena: Arena, tmp_path: Path
) -> None:
    take(arena, 1, step=10)
    committed = saver.save_newest("requested")
    assert committed is not None
    folder = tmp_path / "checkpoints" / committed.path
    assert (folder / TENSORS_FILE).read_bytes() == sample(10).file
    assert (folder / STATE_FILE).read_bytes() == sample(10).state
    assert (committed.step, committed.epoch, committed.reason) == (10, 1, "requested")
    assert committed.size_bytes == sample(10).size_bytes


def test_the_manifest_tells_position_and_attempt(
    saver: Saver, arena: Arena, tmp_path: Path
) -> None:
    take(arena, 1, step=10)
    saver.save_newest("cadence")
    (entry,) = Catalog(tmp_path / "checkpoints").entries()
    assert entry.manifest is not None
    info = entry.manifest.info
    assert (info.step, info.epoch, info.step_in_epoch, info.fit) == (10, 1, 2, 0)
    assert (info.attempt, info.reason, info.level) == (3, "cadence", "exact")
    assert info.versions == {"keras": "3.15.0"}


def test_a_snapshot_is_saved_once(saver: Saver, arena: Arena, tmp_path: Path) -> None:
    take(arena, 1, step=10)
    assert saver.save_newest("cadence") is not None
    assert saver.save_newest("cadence") is None
    take(arena, 2, step=20)
    assert saver.save_newest("cadence") is not None
    assert saver.saved_sequence == 2
    assert saved_steps(tmp_path) == [20, 10]


def test_only_the_newest_is_saved(saver: Saver, arena: Arena, tmp_path: Path) -> None:
    take(arena, 1, step=10)
    take(arena, 2, step=20)
    saver.save_newest("cadence")
    assert saved_steps(tmp_path) == [20]


def test_the_slot_is_pinned_while_it_is_read_and_let_go(
    saver: Saver, arena: Arena, beacon: ScriptedBeacon
) -> None:
    take(arena, 7, step=10)
    saver.save_newest("cadence")
    assert beacon.pins == [7, 0]
    assert beacon.settled() == 7


def test_a_newer_snapshot_at_the_moment_of_the_pin_is_taken_instead(
    saver: Saver, arena: Arena, beacon: ScriptedBeacon, tmp_path: Path
) -> None:
    take(arena, 1, step=1)
    take(arena, 2, step=2)
    beacon.script = [(arena, 3)]
    committed = saver.save_newest("cadence")
    assert committed is not None
    assert committed.step == 3
    assert beacon.pins == [2, 3, 0]
    assert saved_steps(tmp_path) == [3]


def overwrite_at_read(
    number: int, arena: Arena, sequence: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trainer that ignores the pin, just before the reader's n-th read."""
    real_pread, left = os.pread, [number]

    def pread(fd: int, size: int, offset: int) -> bytes:
        left[0] -= 1
        if left[0] == 0:
            part = sample(20, large_bytes=300)
            fill(arena, 0, sequence, 20, part)
        return real_pread(fd, size, offset)

    monkeypatch.setattr(os, "pread", pread)


@pytest.mark.parametrize("number", range(1, 16))
def test_a_slot_overwritten_while_it_is_read_is_never_saved(
    saver: Saver, arena: Arena, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    take(arena, 1, step=10)
    with monkeypatch.context() as patch:
        overwrite_at_read(number, arena, 2, patch)
        committed = saver.save_newest("cadence")
    assert committed is not None
    saved = sample(20, large_bytes=300) if committed.step == 20 else sample(10)
    folder = tmp_path / "checkpoints" / committed.path
    assert (folder / TENSORS_FILE).read_bytes() == saved.file
    assert (folder / STATE_FILE).read_bytes() == saved.state
    assert saved_steps(tmp_path) == [committed.step]


def test_a_larger_arena_takes_over_when_it_holds_something(
    saver: Saver, arena: Arena, tmp_path: Path
) -> None:
    take(arena, 1, step=10)
    larger = new_arena(tmp_path, 1 << 21)
    saver.use_arena(os.dup(larger.fd))
    assert saver.save_newest("cadence") is not None
    take(arena, 2, step=20)
    take(larger, 3, step=30)
    assert saver.save_newest("cadence") is not None
    assert saver.save_newest("cadence") is None
    assert saved_steps(tmp_path) == [30, 10]
    larger.close()


def test_an_arena_that_was_taken_over_is_closed(saver: Saver, tmp_path: Path) -> None:
    larger = new_arena(tmp_path, 1 << 21)
    take(larger, 1, step=10)
    fd = os.dup(larger.fd)
    before = len(list(Path("/proc/self/fd").iterdir()))
    saver.use_arena(fd)
    saver.save_newest("cadence")
    assert len(list(Path("/proc/self/fd").iterdir())) == before - 1
    larger.close()


def test_old_checkpoints_are_pruned(beacon: ScriptedBeacon, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    saver = Saver(tmp_path / "checkpoints", beacon, 1, RetentionPolicy(keep_last=2))
    saver.use_arena(os.dup(arena.fd))
    for sequence in range(1, 5):
        take(arena, sequence, step=10 * sequence)
        saver.save_newest("cadence")
    assert saved_steps(tmp_path) == [40, 30]


def test_a_full_disk_leaves_the_snapshot_for_a_later_try(
    saver: Saver, arena: Arena, beacon: ScriptedBeacon, tmp_path: Path
) -> None:
    take(arena, 1, step=10)
    with lowered(resource.RLIMIT_FSIZE, 100), pytest.raises(CheckpointWriteFailed):
        saver.save_newest("cadence")
    assert (beacon.pinned(), beacon.settled()) == (0, 1)
    assert list((tmp_path / "checkpoints").iterdir()) == []
    assert saver.save_newest("cadence") is not None
    assert saved_steps(tmp_path) == [10]
