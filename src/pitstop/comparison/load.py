"""The record of a run, read from its folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from pitstop import journal, steps
from pitstop.comparison.facts import read_facts
from pitstop.comparison.record import Place, Resume, RunRecord, Saved, Trace, merge
from pitstop.errors import CheckpointCorrupt, UserError
from pitstop.events import EnvironmentChanged, Restored
from pitstop.journal import Entry
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.manifest import Manifest
from pitstop.store.reader import read_state
from pitstop.store.run_folder import ATTEMPTS_DIR, RunFolder, open_existing
from pitstop.supervisor.records.history import History
from pitstop.supervisor.status.stored_status import is_completed

_VARIABLES = "variables/"


def load_run(path: Path) -> RunRecord:
    """What the run at `path` left behind.

    Raises `RunNotFound`, `FormatTooNew`, or a `UserError` where it holds no record of steps.
    """
    folder = open_existing(path)
    entries = journal.read(folder.journal).entries
    trace = load_trace(folder)
    if not trace.records:
        raise UserError(
            f"{path} holds no record of training steps.",
            "Steps are recorded when Keras trains under `pitstop run`.",
        )
    history = History.from_entries(entries)
    saved, unreadable = _load_checkpoints(folder)
    return RunRecord(
        name=str(path),
        completed=is_completed(entries),
        trace=trace,
        saved=saved,
        resumes=tuple(_resumes(entries)),
        environment={**history.environment, **history.versions},
        environment_changes=tuple(
            each.event for each in entries if isinstance(each.event, EnvironmentChanged)
        ),
        unreadable=unreadable,
    )


def load_trace(folder: RunFolder) -> Trace:
    """The steps of all attempts, merged."""
    attempts = [path for path in (folder.path / ATTEMPTS_DIR).iterdir() if path.name.isdecimal()]
    attempts.sort(key=lambda path: int(path.name))
    return merge(steps.read(path / steps.FILE_NAME) for path in attempts)


def _resumes(entries: Sequence[Entry]) -> Iterator[Resume]:
    for event in (entry.event for entry in entries):
        if isinstance(event, Restored):
            yield Resume(event.step, event.lost_steps, event.level, event.reason)


def _load_checkpoints(folder: RunFolder) -> tuple[dict[Place, Saved], tuple[str, ...]]:
    saved: dict[Place, Saved] = {}
    unreadable = []
    # The newest of two checkpoints of one place is the one that counts.
    for entry in reversed(Catalog(folder.checkpoints).entries()):
        try:
            found = _load_checkpoint(entry)
        except CheckpointCorrupt as damage:
            unreadable.append(f"{entry.path}: {damage.reason}")
        else:
            saved[found.place] = found
    return saved, tuple(unreadable)


def _load_checkpoint(entry: CheckpointEntry) -> Saved:
    if entry.manifest is None:
        raise CheckpointCorrupt(entry.path, entry.problem)
    state = json.loads(read_state(entry.path, entry.manifest))
    tensors = entry.manifest.tensors
    digests = {name: tensor.xxh3_64 for name, tensor in tensors.items()}
    return Saved(
        place=_place(entry.manifest, state.get("position", {}).get("stage", "")),
        path=entry.path,
        manifest=entry.manifest,
        tensors={name: each for name, each in tensors.items() if name.startswith(_VARIABLES)},
        facts=read_facts(state, digests),
        read_ahead=bool(state.get("fit", {}).get("input", {}).get("replay")),
    )


def _place(manifest: Manifest, stage: str) -> Place:
    info = manifest.info
    return Place(info.step, info.fit, info.epoch, info.step_in_epoch, stage, info.milestone)
