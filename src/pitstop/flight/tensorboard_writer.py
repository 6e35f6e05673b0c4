"""Shows a run in the TensorBoard that its user already looks at.

The scalars are in a folder of their own beside `train` and `validation`.  A resume does
the steps since its checkpoint again: what was written of them is cut off before.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from pitstop.flight import series
from pitstop.flight.event_file import REPORTS, SCALARS, EventFile, cut_behind
from pitstop.flight.sample import Sample

FOLDER = "pitstop"
"""In the log folder of the script's TensorBoard callback."""
EVERY_SECONDS = 10.0

_OURS = re.compile(rf"events\.out\.tfevents\.(\d+)\..+\.{SCALARS}")


class TensorBoardWriter:
    """Writes a sample every ten seconds, once the script's log folder is known."""

    def __init__(
        self, attempt: int, begun_seconds: float, resumed_from: Callable[[], int | None]
    ) -> None:
        """Files from before the run began are another run's; `resumed_from` gives None for none."""
        self._attempt = attempt
        self._begun_seconds = begun_seconds
        self._resumed_from = resumed_from
        self._file: EventFile | None = None
        self._written: Sample | None = None
        self._failed = False

    def see(self, sample: Sample) -> None:
        training = sample.training
        if training is None or not training.log_folder or self._failed or not self._is_due(sample):
            return
        try:
            self._write(Path(training.log_folder) / FOLDER, sample, training.step)
        except OSError:
            self._failed = True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_due(self, sample: Sample) -> bool:
        before = self._written
        if before is None or before.training is None or sample.training is None:
            return True
        advanced = sample.training.step > before.training.step
        return advanced and sample.clock_seconds - before.clock_seconds >= EVERY_SECONDS

    def _write(self, folder: Path, sample: Sample, step: int) -> None:
        if self._file is None:
            self._cut_earlier(folder)
            self._file = EventFile(folder, sample.time_seconds)
        values = {**scalars(self._written, sample), "pitstop/attempt": float(self._attempt)}
        self._file.scalars(step, sample.time_seconds, values)
        self._written = sample

    def _cut_earlier(self, folder: Path) -> None:
        resumed_from = self._resumed_from()
        if resumed_from is None or not folder.is_dir():
            return
        for path in folder.iterdir():
            named = _OURS.fullmatch(path.name)
            if named and int(named[1]) >= int(self._begun_seconds):
                cut_behind(path, resumed_from)


def write_report(folder: Path, step: int, time_seconds: float, markdown: str) -> None:
    """Shows a report at this step among the texts of TensorBoard, if the folder can be written."""
    with contextlib.suppress(OSError):
        file = EventFile(folder / FOLDER, time_seconds, REPORTS)
        file.text(step, time_seconds, "pitstop/why", markdown)
        file.close()


def scalars(before: Sample | None, sample: Sample) -> dict[str, float]:
    """Numbers by their tags; rates need an earlier sample."""
    found = [*_levels(sample), *(_rates((before, sample)) if before else ())]
    return {f"pitstop/{name}": float(value) for name, value in found}


def _levels(sample: Sample) -> Iterator[tuple[str, float]]:
    trainer, group = sample.trainer, sample.cgroup
    yield "memory_mb", sample.memory_bytes / 1e6
    if sample.host.left_bytes is not None:
        yield "memory_left_mb", sample.host.left_bytes / 1e6
    if group is not None and group.usage_bytes is not None:
        yield "cgroup_memory_mb", group.usage_bytes / 1e6
    if trainer is not None:
        yield "threads", trainer.threads
        yield "open_files", trainer.open_files or 0
    for disk in sample.disks:
        if "run" in disk.used_by:
            yield "disk_free_mb", disk.free_bytes / 1e6
    for gpu in sample.gpus:
        yield f"gpu{gpu.index}/memory_mb", (gpu.used_bytes or 0) / 1e6
        yield f"gpu{gpu.index}/utilization", gpu.utilization or 0.0
    if sample.training is not None:
        for name in ("checkpoint_step", "snapshot_step", "learning_rate"):
            if (value := getattr(sample.training, name)) is not None:
                yield name, value


def _rates(pair: tuple[Sample, Sample]) -> Iterator[tuple[str, float]]:
    for name, found in (
        ("steps_per_second", series.step_rate(pair)),
        ("cpu", series.cpu_share(pair)),
        ("input_share", series.input_share(pair)),
    ):
        if found:
            yield name, found[-1].value
