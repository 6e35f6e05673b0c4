"""Runs as the comparison sees them, and small real ones on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitstop.comparison.record import RunRecord, Saved, merge
from pitstop.engine.snapshots.state_capture import Position
from pitstop.events import AttemptEnded, AttemptStarted, Event
from pitstop.journal import Journal
from pitstop.steps import FILE_NAME, StepRecord, StepTrace
from pitstop.store.image import TensorSpec, plan_image
from pitstop.store.manifest import CheckpointInfo, Manifest, TensorEntry
from pitstop.store.run_folder import RunFolder, open_or_create
from pitstop.store.writer import CheckpointWriter
from tests.store.samples import Bytes

STEPS_PER_EPOCH = 5


def record(step: int, loss: float = 0.5, metrics: int = 1) -> StepRecord:
    return StepRecord(step, 0, (step - 1) // STEPS_PER_EPOCH, loss, 0.0, metrics)


def records(
    last_step: int, first_step: int = 1, losses: Mapping[int, float] = MappingProxyType({})
) -> list[StepRecord]:
    """Steps in a row, each with the loss 0.5 or the one given."""
    return [record(step, losses.get(step, 0.5)) for step in range(first_step, last_step + 1)]


def saved(
    step: int,
    kernel: str = "k",
    *,
    shape: tuple[int, ...] = (2,),
    read_ahead: bool = False,
    facts: Mapping[str, str] = MappingProxyType({}),
) -> Saved:
    """A checkpoint with one variable; `kernel` stands for its checksum."""
    place = Position(step, 0, 0, step)
    entry = TensorEntry("F32", shape, 8, kernel, ())
    tensors = {"variables/0/kernel": entry}
    info = CheckpointInfo(step, 0, step, 0, "", 1, "requested", "exact", 1.7e9, {})
    manifest = Manifest(step, info, {}, tensors)
    return Saved(place, Path(str(step)), manifest, tensors, facts, read_ahead)


def run(
    name: str, *attempts: Sequence[StepRecord], checkpoints: Sequence[Saved] = (), **fields: Any
) -> RunRecord:
    by_place = {each.place: each for each in checkpoints}
    defaults: dict[str, Any] = {"completed": True, "saved": by_place}
    return RunRecord(name, trace=merge(attempts), **{**defaults, **fields})


def make_run(
    path: Path,
    *attempts: Sequence[StepRecord],
    events: Sequence[Event] = (),
    environment: dict[str, Any] | None = None,
) -> RunFolder:
    """A real run folder that was trained to the end, without checkpoints."""
    folder = open_or_create(path, ["python", "train.py"], path.parent)
    for steps in attempts:
        attempt = folder.next_attempt()
        with Journal(folder.journal, attempt) as journal:
            journal.append(AttemptStarted(attempt, [], 1, 2, "host", environment or {}))
        trace = StepTrace(folder.attempt_dir(attempt) / FILE_NAME)
        for each in steps:
            trace.append(each)
    with Journal(folder.journal, len(attempts)) as journal:
        for event in (*events, AttemptEnded(len(attempts), "completed", 0, 0, None)):
            journal.append(event)
    return folder


def save_arrays(
    folder: RunFolder,
    step: int,
    arrays: dict[str, NDArray[Any]],
    state: dict[str, Any] | None = None,
) -> Path:
    """A real checkpoint of float32 arrays."""
    image = plan_image([TensorSpec(name, "F32", array.shape) for name, array in arrays.items()])
    data = b"".join(arrays[place.spec.name].tobytes() for place in image.placements)
    info = CheckpointInfo(step, 0, step, 0, "", 1, "requested", "exact", 1.7e9, {})
    with CheckpointWriter(folder.checkpoints, step) as writer:
        writer.write_tensors(image, Bytes(image.header + data))
        path, _ = writer.commit(json.dumps(state or {}).encode(), info)
    return path


def float32(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)
