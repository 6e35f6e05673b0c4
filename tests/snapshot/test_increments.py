"""Comparing first is done where it has paid, and not elsewhere."""

from __future__ import annotations

from pathlib import Path

from pitstop.snapshot.saving import Increments
from pitstop.store.image import TensorSpec, plan_image
from pitstop.store.increment import ledger_of, plan_whole
from pitstop.store.writer import CheckpointWriter
from tests.store.samples import Bytes, info

HALF_BYTES = 4 << 20
IMAGE = plan_image(
    [TensorSpec("frozen", "U8", (HALF_BYTES,)), TensorSpec("trained", "U8", (HALF_BYTES - 65536,))]
)


def content(frozen: int, trained: int) -> bytes:
    rest = IMAGE.size_bytes - len(IMAGE.header) - HALF_BYTES
    return IMAGE.header + bytes([frozen]) * HALF_BYTES + bytes([trained]) * rest


def save(increments: Increments, folder: Path, sequence: int, data: bytes) -> int:
    """Saves as the persister does; the bytes that were written."""
    plan, chunks = increments.plan(IMAGE, Bytes(data))
    with CheckpointWriter(folder, sequence) as writer:
        if increments.ledger and not writer.link(increments.ledger, plan):
            increments.links = False
            plan = plan_whole(IMAGE)
        writer.write_tensors(IMAGE, Bytes(data), plan, chunks)
        path, manifest = writer.commit(b"{}", info(sequence))
    increments.committed(IMAGE, ledger_of(path, manifest, writer.chunks))
    return (path / "tensors.safetensors").stat().st_size


def test_the_third_checkpoint_leaves_out_what_the_first_two_had_in_common(tmp_path: Path) -> None:
    increments = Increments()
    sizes = [save(increments, tmp_path, number, content(1, number)) for number in range(1, 5)]
    assert sizes[:2] == [IMAGE.size_bytes] * 2
    assert max(sizes[2:]) < HALF_BYTES


def test_training_that_changes_everything_is_never_compared(tmp_path: Path) -> None:
    increments = Increments()
    for number in range(1, 4):
        save(increments, tmp_path, number, content(number, number))
        plan, chunks = increments.plan(IMAGE, Bytes(content(0, 0)))
        assert chunks is None
        assert plan == plan_whole(IMAGE)


def test_comparing_ends_when_it_does_not_pay_any_more(tmp_path: Path) -> None:
    increments = Increments()
    for number in range(1, 4):
        save(increments, tmp_path, number, content(1, number))
    assert save(increments, tmp_path, 4, content(4, 4)) == IMAGE.size_bytes
    assert increments.plan(IMAGE, Bytes(content(5, 5)))[1] is None


def test_a_resumed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    increments = Increments()
    for number in range(1, 4):
        save(increments, tmp_path, number, content(1, number))
    resumed = Increments()
    assert increments.ledger is not None
    resumed.begin(increments.ledger)
    assert save(resumed, tmp_path, 4, content(1, 4)) < HALF_BYTES


def test_a_file_system_without_links_gets_whole_checkpoints(tmp_path: Path) -> None:
    increments = Increments()
    for number in range(1, 4):
        save(increments, tmp_path, number, content(1, number))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "00000003").rename(tmp_path / "gone")
    assert save(increments, elsewhere, 4, content(1, 4)) == IMAGE.size_bytes
    assert increments.plan(IMAGE, Bytes(content(1, 5)))[1] is None
