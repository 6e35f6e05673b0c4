"""Runs that are written to disk without a training, as a supervisor and a trainer write them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    EpochEnded,
    Event,
    FitStarted,
    TrainerConnected,
    TrainerExited,
)
from pitstop.flight.files import FlightFiles
from pitstop.journal import Journal
from pitstop.steps import FILE_NAME, MAGIC
from pitstop.store.lock import RunLock, own_record
from pitstop.store.run_folder import RunFolder, open_or_create
from tests.flight.samples import at

START = 1_764_000_000.0

ENDED = (
    TrainerExited(1, "", 100, 1, 50, "train", None),
    AttemptEnded(1, "failed", 1, 100, None),
)


def make_run(
    path: Path, *, steps: int = 100, events: tuple[Event, ...] = ENDED, start: float = START
) -> RunFolder:
    """A run of one attempt that trained so many steps, one a second."""
    folder = open_or_create(path, ["python", "train.py"], path.parent)
    attempt = folder.next_attempt()
    begun: tuple[Event, ...] = (
        AttemptStarted(attempt, ["python", "train.py"], 1, 2, "box"),
        TrainerConnected(2, "3.11", ["train.py"], {}),
        FitStarted(0, 10, 50),
        EpochEnded(0, 0, 50, 50, {"loss": 0.5, "val_loss": 0.6}),
    )
    with Journal(folder.journal, attempt) as journal:
        for seconds, event in enumerate(begun):
            journal.append(event, time_seconds=start + seconds)
        for event in events:
            journal.append(event, time_seconds=start + steps + 5)
    losses = 1.0 / np.arange(1, steps + 1)
    write_steps(folder.attempt_dir(attempt) / FILE_NAME, losses, start=start)
    files = FlightFiles(folder.attempt_dir(attempt))
    for number in range(10):
        sample = at(number, training={"step": 10 * number, "loss": 0.25})
        files.append(replace(sample, time_seconds=start + 10 * number))
    files.close()
    return folder


def write_steps(
    path: Path, losses: NDArray[np.float64], first: int = 1, start: float = START
) -> None:
    """Appends a record for each loss, one a second."""
    kinds = [("step", "<u8"), ("fit", "<u4"), ("epoch", "<u4"), ("loss", "<f8"), ("time", "<f8")]
    records = np.zeros(len(losses), np.dtype([*kinds, ("metrics", "<u4"), ("reserved", "<u4")]))
    records["step"] = np.arange(first, first + len(losses))
    records["loss"] = losses
    records["time"] = start + records["step"]
    with path.open("ab") as file:
        if not file.tell():
            file.write(MAGIC)
        file.write(records.tobytes())


def held(folder: RunFolder) -> RunLock:
    """The run as if somebody supervised it."""
    return RunLock.acquire(folder.lock, own_record())
