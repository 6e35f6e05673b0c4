"""A power cut anywhere in a commit leaves the old checkpoint or the new one, whole."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pitstop.errors import CheckpointCorrupt
from pitstop.store import increment as increment_module
from pitstop.store.catalog import Catalog
from pitstop.store.reader import read_state
from tests.store.crash_disk import (
    SURVIVALS,
    CrashDisk,
    Operation,
    RecordingFilesystem,
    Survival,
    cuts,
)
from tests.store.samples import save, save_increment

OLD_STEP, NEW_STEP = 10, 20


TORTURES = 10_000
# A disk takes ten times longer to remove the folders.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
CHANCES = 150


@dataclass(frozen=True)
class Commit:
    """A folder with an old checkpoint, and the operations that added a new one."""

    root: Path
    operations: tuple[Operation, ...]

    def at_random(self, seed: int) -> int:
        """The step one would resume from after some cut, with anything torn.

        Raises:
            CheckpointCorrupt: something that looks like a checkpoint is not one.
        """
        chance = random.Random(seed)
        done = chance.choice(list(cuts(self.operations)))
        disk = CrashDisk(self.root)
        disk.replay(done)
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            disk.restore_torn(chance, Path(folder))
            return _newest_step(Path(folder))

    def after(self, done: Sequence[Operation], survival: Survival) -> int:
        """The step one would resume from after a cut.

        Raises:
            CheckpointCorrupt: something that looks like a checkpoint is not one.
        """
        disk = CrashDisk(self.root)
        disk.replay(done)
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            disk.restore(survival, Path(folder))
            return _newest_step(Path(folder))


def _newest_step(checkpoints_dir: Path) -> int:
    catalog = Catalog(checkpoints_dir)
    catalog.remove_partials()
    manifests = [catalog.verify(entry) for entry in catalog.entries()]
    assert all(path.name.isdecimal() for path in checkpoints_dir.iterdir())
    newest = manifests[0]
    assert read_state(checkpoints_dir / f"{newest.info.step:08d}", newest)
    return newest.info.step


@pytest.fixture(scope="module")
def commit(tmp_path_factory: pytest.TempPathFactory) -> Commit:
    """The old checkpoint alone, and how a whole new one was written elsewhere."""
    return _recorded(tmp_path_factory, save)


@pytest.fixture(scope="module")
def increment(tmp_path_factory: pytest.TempPathFactory) -> Commit:
    """The same for a new checkpoint that refers to the old one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(increment_module, "LEAST_KEPT_BYTES", 1)
        patch.setattr(increment_module, "LEAST_LIVE_SHARE", 0.0)
        recorded = _recorded(tmp_path_factory, save_increment)
    assert "link" in [operation.kind for operation in recorded.operations]
    return recorded


def _recorded(tmp_path_factory: pytest.TempPathFactory, save_new: Callable[..., object]) -> Commit:
    before, after = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    save(before, OLD_STEP, 1)
    save(after, OLD_STEP, 1)
    recording = RecordingFilesystem()
    save_new(after, NEW_STEP, 2, filesystem=recording)
    moved = [_moved(operation, after, before) for operation in recording.operations]
    return Commit(before, tuple(moved))


def _moved(operation: Operation, source: Path, target: Path) -> Operation:
    def move(path: Path) -> Path:
        return target / path.relative_to(source) if path.is_relative_to(source) else path

    return Operation(
        operation.kind,
        move(operation.path),
        operation.data,
        move(operation.target),
        operation.size_bytes,
    )


@pytest.mark.parametrize("survival", SURVIVALS, ids=str)
def test_after_every_cut_the_newest_is_old_or_new_and_whole(
    commit: Commit, survival: Survival
) -> None:
    steps = {commit.after(done, survival) for done in cuts(commit.operations)}
    assert steps <= {OLD_STEP, NEW_STEP}
    assert OLD_STEP in steps


@pytest.mark.parametrize("survival", SURVIVALS, ids=str)
def test_after_the_commit_the_newest_is_new(commit: Commit, survival: Survival) -> None:
    assert commit.after(commit.operations, survival) == NEW_STEP


@pytest.mark.parametrize("survival", SURVIVALS, ids=str)
def test_a_checkpoint_that_refers_to_another_is_as_safe(
    increment: Commit, survival: Survival
) -> None:
    steps = {increment.after(done, survival) for done in cuts(increment.operations)}
    assert steps <= {OLD_STEP, NEW_STEP}
    assert increment.after(increment.operations, survival) == NEW_STEP


@pytest.mark.parametrize("kind", ["commit", "increment"])
def test_whatever_of_the_unsynced_survives(kind: str, request: pytest.FixtureRequest) -> None:
    recorded: Commit = request.getfixturevalue(kind)
    steps = {recorded.at_random(seed) for seed in range(CHANCES)}
    assert steps == {OLD_STEP, NEW_STEP}


@pytest.mark.torture
@pytest.mark.parametrize("kind", ["commit", "increment"])
def test_ten_thousand_power_cuts(
    kind: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded: Commit = request.getfixturevalue(kind)
    steps = Counter(recorded.at_random(seed) for seed in range(TORTURES))
    assert steps.keys() == {OLD_STEP, NEW_STEP}
    with capsys.disabled():
        sys.stdout.write(f"\n{kind}: {steps.total()} power cuts, all whole: {dict(steps)}\n")


def test_the_work_was_recorded_whole(commit: Commit) -> None:
    kinds = [operation.kind for operation in commit.operations]
    assert kinds.count("sync_file") == 3
    assert kinds[-3:] == ["sync_dir", "rename", "sync_dir"]


@pytest.mark.parametrize("missing", range(5))
def test_no_sync_is_there_for_nothing(commit: Commit, missing: int) -> None:
    syncs = [
        index
        for index, operation in enumerate(commit.operations)
        if operation.kind.startswith("sync")
    ]
    assert len(syncs) == 5
    careless = [
        operation for index, operation in enumerate(commit.operations) if index != syncs[missing]
    ]
    assert not _always_safe(commit, careless)


def test_a_rename_before_the_syncs_would_be_noticed(commit: Commit) -> None:
    *work, sync_dir, rename, last = commit.operations
    syncs = [operation for operation in work if operation.kind == "sync_file"]
    rest = [operation for operation in work if operation.kind != "sync_file"]
    assert syncs
    assert not _always_safe(commit, [*rest, sync_dir, rename, last])


def _always_safe(commit: Commit, operations: Sequence[Operation]) -> bool:
    try:
        for survival in SURVIVALS:
            for done in cuts(operations):
                commit.after(done, survival)
            if commit.after(operations, survival) != NEW_STEP:
                return False
        for seed in range(CHANCES):
            replace(commit, operations=tuple(operations)).at_random(seed)
    except CheckpointCorrupt:
        return False
    return True
