"""The page that specifies the format says what the code does."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import fields
from pathlib import Path

import pytest

from pitstop import events, journal, steps
from pitstop.engine.snapshots.state_capture import Position
from pitstop.store import catalog, format, gang_folder, manifest, names, run_folder
from pitstop.store.digest import CHUNK_BYTES
from pitstop.store.gang_folder import Shape
from pitstop.store.image import DATA_ALIGNMENT_BYTES, DTYPE_WIDTH_BYTES
from pitstop.store.lock import LockRecord
from pitstop.store.manifest import CheckpointInfo, FileEntry, TensorEntry
from pitstop.store.run_folder import RunIdentity
from pitstop.supervisor.supervise import PERSISTER_LOG
from pitstop.supervisor.terminal import output
from tests.source_tree import SOURCE, Module, members_built, string_constants

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text()
GOLDEN = ROOT / "tests" / "goldens" / "format-2"

MEMBERS = [
    *(
        field.name
        for cls in (RunIdentity, FileEntry, TensorEntry, LockRecord, Shape)
        for field in fields(cls)
    ),
    *(f"info.{field.name}" for field in fields(CheckpointInfo)),
    *("format", "version", "sequence", "files", "tensors", "crc32", "kind", "gang_id", "shape"),
]
NAMES = [
    *(run_folder.RUN_FILE, run_folder.JOURNAL_FILE, run_folder.LOCK_FILE, run_folder.STOP_FILE),
    *(f"{run_folder.CHECKPOINTS_DIR}/", f"{run_folder.ATTEMPTS_DIR}/N", run_folder.OUTPUT_FILE),
    *(manifest.MANIFEST_FILE, manifest.TENSORS_FILE, manifest.STATE_FILE),
    *(names.QUARANTINE_DIR, catalog.REASON_FILE),
    names.lasting_name(0).replace("0", "N"),
    *(next(names.checkpoint_names(1234)), names.PARTIAL_PREFIX, (names.EXPIRED_PREFIX + "NAME")),
    *(format.CHECKPOINT_KIND, format.RUN_KIND, format.GANG_KIND),
    *(run_folder.GANG_FILE, gang_folder.MEMBERS_DIR),
    *(steps.FILE_NAME, steps.MAGIC.decode(), PERSISTER_LOG),
]
STATE_PARTS = {
    "engine/snapshots/state_capture": "",
    "engine/snapshots/saved_state": "",
    "keras/fits/fit_capture": "",
    "keras/fits/fit_state": "fit.",
    "keras/inputs/fit_objects": "objects.",
    "keras/models/structure": "structure.",
    "engine/script_state/state": "",
    "keras/callbacks/callback_nodes": "callbacks.",
    "tensorflow/event_files": "events.",
    "keras/callbacks/open_files": "files.",
    "keras/fits/data_spec": "data.",
    "keras/inputs/input_state": "input.",
    "keras/inputs/validation_input": "validation.",
    "loop/loop_state": "",
    "replay/live_loop": "",
    "replay/record": "replay.",
    "tensorflow/randomness": "",
    "tensorflow/script_loop": "",
    "tensorflow/variables/variables": "",
}
"""The modules that make the members of state.json, and what stands before them on the page."""

TOLD = {"adapter", "allocators"}
"""What the same modules tell the run, and do not save."""

IN_WORDS = {"structure.layers", "structure.variables"}
"""Members of members, which the page names in the row of `structure.flags`."""


@pytest.mark.parametrize("member", sorted(set(MEMBERS)))
def test_every_member_is_specified(member: str) -> None:
    assert f"`{member}`" in PAGE


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_specified(name: str) -> None:
    assert name in PAGE


@pytest.mark.parametrize("dtype", DTYPE_WIDTH_BYTES)
def test_every_dtype_is_specified(dtype: str) -> None:
    assert re.search(rf"\b{dtype}\b", PAGE.partition("- dtypes are")[2].partition("\n\n")[0])


def test_the_chunks_of_a_checksum_are_specified() -> None:
    assert f"chunks of {CHUNK_BYTES}" in PAGE


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


def _module(path: str) -> Module:
    return Module(SOURCE / "pitstop" / f"{path}.py")


def _section(heading: str) -> str:
    return re.split(r"^#+ ", PAGE.partition(f"\n{heading}\n")[2], flags=re.MULTILINE)[0]


def test_the_members_of_the_state_are_specified_and_no_others() -> None:
    # Read from the source: the adapters themselves would load TensorFlow.
    built = {
        f"{prefix}{member}"
        for path, prefix in STATE_PARTS.items()
        for member in members_built(_module(path))
    }
    parts = {"position": Position, "level": events.LevelKnown}
    built |= {f"{part}.{field.name}" for part, cls in parts.items() for field in fields(cls)}
    rows = re.findall(r"^\| (`.+?`) \|", _section("### state.json"), re.MULTILINE)
    specified = {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}
    of_event_alone = {"level.has_deviated"}
    assert specified == built - {"position"} - IN_WORDS - TOLD - of_event_alone


def test_every_mark_of_a_coded_value_is_specified() -> None:
    paths = (
        "engine/values/python_state",
        "engine/script_state/frozen",
        "engine/script_state/holder",
        "engine/script_state/refill",
    )
    texts = {text for path in paths for text in string_constants(_module(path))}
    marks = {text for text in texts if re.fullmatch(r"\$\w+", text)}
    shown = set(re.findall(r'\{"(\$\w+)":', PAGE))
    assert shown == marks


def test_a_step_is_recorded_as_specified(tmp_path: Path) -> None:
    record = steps.StepRecord(70_000_000_000, 3, 5, 0.25, 1764000000.5, 0xDEADBEEF)
    steps.StepTrace(tmp_path / steps.FILE_NAME).append(record)
    written = (tmp_path / steps.FILE_NAME).read_bytes()
    rows = re.findall(r"^\| (\d+) \| (u64|u32|f64) \| (?:`(\w+)`)?", PAGE, re.MULTILINE)
    codes = {"u64": "<Q", "u32": "<I", "f64": "<d"}
    values = [struct.unpack_from(codes[kind], written, 8 + int(at))[0] for at, kind, _ in rows]
    assert written[:8] == steps.MAGIC
    assert len(written) == 8 + 40
    assert values == [*record, 0]
    assert [name for _, _, name in rows] == [*record._fields, ""]


def test_the_digest_of_a_step_is_specified() -> None:
    values = {"loss": 0.25, "précision": 0.5}
    data = b"".join(name.encode() + struct.pack("<d", value) for name, value in values.items())
    assert steps.digest(values) == zlib.crc32(data)


def test_what_the_output_log_keeps_is_specified() -> None:
    head, tail = output.HEAD_BYTES >> 20, output.TAIL_BYTES >> 20
    words = _section("### output.log")
    assert f"Beyond {head + 2 * tail} MiB ({head} and twice {tail})" in words
    assert f"its first {head} MiB" in words
    assert f"its last {tail} MiB" in words
