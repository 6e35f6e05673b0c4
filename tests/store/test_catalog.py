"""The checkpoints of a run: listed, set aside, given up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import CheckpointCorrupt, EnvironmentFault, FormatTooNew, RunFolderUnwritable
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.filesystem import Filesystem
from pitstop.store.manifest import MANIFEST_FILE, TENSORS_FILE, encode
from pitstop.store.names import is_checkpoint, is_leftover
from pitstop.store.retention import RetentionPolicy
from tests.store.samples import save
from tests.store.test_manifest import sample_record, sealed


def names(entries: tuple[CheckpointEntry, ...]) -> list[str]:
    return [entry.path.name for entry in entries]


def test_the_newest_is_first_whatever_its_step(tmp_path: Path) -> None:
    for sequence, step in enumerate((30, 100_000_000, 20), start=1):
        save(tmp_path, step, sequence)
    assert names(Catalog(tmp_path).entries()) == ["00000020", "100000000", "00000030"]


def test_an_unreadable_manifest_is_an_entry_and_leads(tmp_path: Path) -> None:
    save(tmp_path, 1, 1)
    path, _ = save(tmp_path, 2, 2)
    save(tmp_path, 3, 3)
    (path / MANIFEST_FILE).write_bytes(b"\0" * 100)
    first, *others = Catalog(tmp_path).entries()
    assert (first.path, first.manifest) == (path, None)
    assert MANIFEST_FILE in first.problem
    assert "checksum" in first.problem
    assert names(tuple(others)) == ["00000003", "00000001"]
    with pytest.raises(CheckpointCorrupt, match="checksum"):
        Catalog(tmp_path).verify(first)


def test_there_are_none_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path / "none")
    assert catalog.entries() == ()
    assert catalog.next_sequence() == 1
    assert catalog.remove_partials() == []


def test_a_file_in_the_folder_s_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="cannot be read"):
        Catalog(tmp_path / "file").entries()


def test_what_is_not_a_checkpoint_is_left_alone(tmp_path: Path) -> None:
    save(tmp_path, 1, 1)
    for name in ("mine", "123", "00000002.bak", "tmp.partial-1"):
        (tmp_path / name).mkdir()
    (tmp_path / "00000009").write_text("a file")
    catalog = Catalog(tmp_path)
    assert names(catalog.entries()) == ["00000001"]
    assert catalog.remove_partials() == []
    assert catalog.prune(RetentionPolicy(1)) == []
    assert len(list(tmp_path.iterdir())) == 6


def test_the_sequence_goes_on_behind_the_newest(tmp_path: Path) -> None:
    save(tmp_path, 5, 41)
    save(tmp_path, 9, 7)
    assert Catalog(tmp_path).next_sequence() == 42


def test_a_newer_format_is_neither_damage_nor_ignored(tmp_path: Path) -> None:
    path, _ = save(tmp_path, 1, 1)
    (path / MANIFEST_FILE).write_bytes(sealed({**sample_record(), "version": 3}))
    with pytest.raises(FormatTooNew):
        Catalog(tmp_path).entries()


def test_quarantine_keeps_everything_and_says_why(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for round_number in (1, 2):
        save(tmp_path, 4, round_number)
        [entry] = catalog.entries()
        place = catalog.quarantine(entry, "tensor 'kernel' does not match its checksum")
        assert place.parent == tmp_path / "quarantine"
        assert "kernel" in (place / "reason.txt").read_text()
        assert (place / TENSORS_FILE).exists()
        assert catalog.entries() == ()
    assert [path.name for path in sorted(place.parent.iterdir())] == ["00000004", "00000004.2"]


def test_a_refused_quarantine_is_explained(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, 4, 1)
    shutil.rmtree(path)
    with pytest.raises(RunFolderUnwritable, match="cannot be changed"):
        Catalog(tmp_path).quarantine(CheckpointEntry(path, manifest), "gone")


def test_pruning_keeps_the_newest_and_the_milestones(tmp_path: Path) -> None:
    for step in range(1, 7):
        save(tmp_path, step, step, milestone="fit_end" if step == 2 else "")
    catalog = Catalog(tmp_path)
    gone = catalog.prune(RetentionPolicy(keep_last=2))
    assert [path.name for path in gone] == ["00000004", "00000003", "00000001"]
    assert names(catalog.entries()) == ["00000006", "00000005", "00000002"]
    assert len(list(tmp_path.iterdir())) == 3
    for entry in catalog.entries():
        catalog.verify(entry)


def test_pruning_does_not_count_the_unreadable(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step, step)
    (tmp_path / "00000002" / MANIFEST_FILE).unlink()
    assert Catalog(tmp_path).prune(RetentionPolicy(keep_last=1)) == []


class _PowerCut(BaseException):
    """Ends a removal in the middle."""


class _FailingFilesystem(Filesystem):
    def remove_tree(self, path: Path) -> None:
        if path.exists():
            (path / TENSORS_FILE).unlink()
            raise _PowerCut


def test_a_power_cut_while_pruning_leaves_no_half_checkpoint(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        save(tmp_path, step, step)
    with pytest.raises(_PowerCut):
        Catalog(tmp_path, _FailingFilesystem()).prune(RetentionPolicy(keep_last=1))
    catalog = Catalog(tmp_path)
    assert [catalog.verify(entry).info.step for entry in catalog.entries()] == [3, 2]
    catalog.remove_partials()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000002", "00000003"]


def test_leftovers_of_crashes_are_swept(tmp_path: Path) -> None:
    save(tmp_path, 1, 1)
    for name in (".partial-2", ".expired-00000000"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").write_text("x")
    swept = Catalog(tmp_path).remove_partials()
    assert sorted(path.name for path in swept) == [".expired-00000000", ".partial-2"]
    assert [path.name for path in tmp_path.iterdir()] == ["00000001"]


def test_verify_gives_the_manifest_of_a_good_checkpoint(tmp_path: Path) -> None:
    _, manifest = save(tmp_path, 1, 1)
    catalog = Catalog(tmp_path)
    assert encode(catalog.verify(catalog.entries()[0])) == encode(manifest)


@given(st.text(max_size=12))
def test_a_name_is_a_checkpoint_or_a_leftover_never_both(name: str) -> None:
    assert not (is_checkpoint(name) and is_leftover(name))
