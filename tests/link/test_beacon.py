"""The shared page: every field by itself, one writer and any number of readers."""

from __future__ import annotations

import math
import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.beacon import (
    MOST_NAME_BYTES,
    SIZE_BYTES,
    Beacon,
    Phase,
    Progress,
    Stop,
)

COUNTS = st.integers(0, 2**64 - 1)
TIMES = st.integers(0, 2**63 - 1)
PROGRESS = st.builds(
    Progress,
    step=COUNTS,
    epoch=COUNTS,
    step_in_epoch=COUNTS,
    boundary_ns=TIMES,
    loss=st.floats(allow_nan=False),
    phase=st.sampled_from(Phase),
    fit=COUNTS,
    epochs=COUNTS,
    steps_per_epoch=COUNTS,
    step_seconds=st.floats(0, 1e6),
    snapshot_step=st.integers(-1, 2**63 - 1),
    replay_step=COUNTS,
    replayed_batches=COUNTS,
    batches_to_replay=COUNTS,
)


def write(beacon: Beacon, p: Progress) -> None:
    beacon.write_position(p.step, p.epoch, p.step_in_epoch, p.boundary_ns, p.loss)
    beacon.write_plan(p.fit, p.epochs, p.steps_per_epoch)
    beacon.write_step_seconds(p.step_seconds)
    beacon.write_replay(p.replay_step, p.replayed_batches, p.batches_to_replay)
    beacon.write_phase(p.phase)
    beacon.write_snapshot_step(p.snapshot_step)


def test_a_new_page_knows_nothing() -> None:
    progress = Beacon.create().progress()
    assert math.isnan(progress.loss)
    assert progress.snapshot_step == -1
    assert progress.phase is Phase.STARTING
    assert (progress.step, progress.boundary_ns, progress.step_seconds) == (0, 0, 0.0)


@given(PROGRESS, st.integers(1, 2**64 - 1), st.integers(1, 2**64 - 1))
def test_another_mapping_reads_what_was_written(
    progress: Progress, pinned: int, settled: int
) -> None:
    writer = Beacon.create()
    reader = Beacon(os.dup(writer.fd))
    write(writer, progress)
    reader.pin(pinned)
    reader.settle(settled)
    reader.request_stop(Stop.GRACEFUL)
    reader.request_checkpoint()
    assert reader.progress() == progress
    assert (writer.pinned(), writer.settled()) == (pinned, settled)
    assert (writer.stop(), writer.checkpoint_requests()) == (1, 1)
    for beacon in (writer, reader):
        os.close(beacon.fd)


def test_a_position_that_cannot_be_written_leaves_the_last_one_whole() -> None:
    beacon = Beacon.create()
    beacon.write_position(41, 2, 3, 4, 0.5)
    with pytest.raises(struct.error):
        beacon.write_position(42, 2, 4, 5, "no number")  # type: ignore[arg-type]
    progress = beacon.progress()
    assert (progress.step, progress.epoch, progress.step_in_epoch) == (41, 2, 3)
    assert (progress.boundary_ns, progress.loss) == (4, 0.5)
    beacon.close()


def test_a_page_whose_descriptor_was_closed_stays_mapped() -> None:
    mine = Beacon.create()
    other = Beacon(os.dup(mine.fd))
    mine.close()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(mine.fd)
    mine.pin(5)
    assert other.pinned() == 5
    other.close()


def test_a_stop_request_is_never_lowered() -> None:
    beacon = Beacon.create()
    seen = []
    for stop in (Stop.NONE, Stop.GRACEFUL, Stop.NOW, Stop.GRACEFUL, Stop.NONE):
        beacon.request_stop(stop)
        seen.append(beacon.stop())
    assert seen == [Stop.NONE, Stop.GRACEFUL, Stop.NOW, Stop.NOW, Stop.NOW]


def test_checkpoint_requests_are_counted() -> None:
    beacon = Beacon.create()
    for _ in range(3):
        beacon.request_checkpoint()
    assert beacon.checkpoint_requests() == 3


def test_an_unpinned_page() -> None:
    beacon = Beacon.create()
    beacon.pin(5)
    beacon.pin(0)
    assert beacon.pinned() == 0


def test_the_page_outlives_the_mapping_that_wrote_it() -> None:
    writer = Beacon.create()
    fd = os.dup(writer.fd)
    writer.write_position(41, 2, 3, 4, 0.5)
    os.close(writer.fd)
    del writer
    assert Beacon(fd).progress().step == 41


@pytest.mark.parametrize("name", ["mine", "é" * (MOST_NAME_BYTES // 2), "x" * MOST_NAME_BYTES])
def test_a_name_is_taken_once_and_outlasts_requests_without_one(name: str) -> None:
    beacon = Beacon.create()
    assert beacon.take_checkpoint_name() == ""
    beacon.request_checkpoint(name)
    beacon.request_checkpoint()
    assert beacon.checkpoint_requests() == 2
    assert beacon.take_checkpoint_name() == name
    assert beacon.take_checkpoint_name() == ""
    beacon.request_checkpoint("b")
    assert beacon.take_checkpoint_name() == "b"
    os.close(beacon.fd)


@pytest.mark.parametrize("content", [b"", b"\0" * SIZE_BYTES, b"another" * 600])
def test_a_foreign_page_is_refused(content: bytes) -> None:
    fd = os.memfd_create("foreign")
    os.write(fd, content)
    with pytest.raises(ValueError, match=r"beacon|mmap"):
        Beacon(fd)
    os.close(fd)


def test_a_page_of_another_version_is_refused() -> None:
    fd = Beacon.create().fd
    os.pwrite(fd, b"\xff", 8)  # the version follows the magic number
    with pytest.raises(ValueError, match="not a beacon of this version"):
        Beacon(fd)


def test_trainings_are_counted_over_all_processes() -> None:
    beacon = Beacon.create()
    later = Beacon(os.dup(beacon.fd))
    assert [beacon.take_training(), beacon.take_training(), later.take_training()] == [0, 1, 2]
    later.close()
    beacon.close()
