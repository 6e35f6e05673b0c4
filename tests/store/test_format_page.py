"""The page that specifies the format says what the code does."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pitstop import events, journal
from pitstop.store import catalog, identity, manifest, names, run_folder
from pitstop.store.identity import RunIdentity
from pitstop.store.image import DATA_ALIGNMENT_BYTES, DTYPE_WIDTH_BYTES
from pitstop.store.lock import LockRecord
from pitstop.store.manifest import CheckpointInfo, FileEntry, TensorEntry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text()
GOLDEN = ROOT / "tests" / "goldens" / "format-1"

MEMBERS = [
    *(
        field.name
        for cls in (RunIdentity, FileEntry, TensorEntry, LockRecord)
        for field in fields(cls)
    ),
    *(f"info.{field.name}" for field in fields(CheckpointInfo)),
    *("format", "version", "sequence", "files", "tensors", "crc32", "kind"),
]
NAMES = [
    *(run_folder.RUN_FILE, run_folder.JOURNAL_FILE, run_folder.LOCK_FILE),
    *(f"{run_folder.CHECKPOINTS_DIR}/", f"{run_folder.ATTEMPTS_DIR}/N", run_folder.OUTPUT_FILE),
    *(manifest.MANIFEST_FILE, manifest.TENSORS_FILE, manifest.STATE_FILE),
    *(names.QUARANTINE_DIR, catalog.REASON_FILE),
    *(next(names.checkpoint_names(1234)), names.partial_name(0)[:-1], names.expired_name("NAME")),
    *(manifest.FORMAT_KIND, identity.FORMAT_KIND),
]


@pytest.mark.parametrize("member", sorted(set(MEMBERS)))
def test_every_member_is_specified(member: str) -> None:
    assert f"`{member}`" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_specified(name: str) -> None:
    assert name in PAGE


@pytest.mark.parametrize("dtype", DTYPE_WIDTH_BYTES)
def test_every_dtype_is_specified(dtype: str) -> None:
    assert re.search(rf"\b{dtype}\b", PAGE.partition("- dtypes are")[2].partition("\n\n")[0])


def test_the_alignment_is_specified() -> None:
    assert f"multiple of {DATA_ALIGNMENT_BYTES}" in PAGE


def test_the_manifest_shown_is_a_real_one() -> None:
    [shown] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    [path] = GOLDEN.glob("checkpoints/*/manifest.json")
    assert shown == path.read_text()


def test_the_journal_line_shown_is_a_real_one() -> None:
    [shown] = re.findall(r'^\{"time".*\}$', PAGE, re.MULTILINE)
    assert journal.decode(f"{shown}\n".encode()) is not None
    assert shown in (GOLDEN / "journal.jsonl").read_text()


def test_every_reason_of_a_commit_is_specified() -> None:
    promised = re.findall(r'"(\w+)"', str(events.CheckpointCommitted.__doc__))
    [row] = [line for line in PAGE.splitlines() if line.startswith("| `info.reason`")]
    assert re.findall(r"`(\w+)`", row.partition(":")[2]) == promised
