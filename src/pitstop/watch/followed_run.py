"""One run, followed by its files alone."""

import time
from dataclasses import replace
from pathlib import Path

from pitstop import journal
from pitstop.diagnosis.load import cause_of
from pitstop.events import AttemptEnded, StopRequested, TrainerConnected
from pitstop.flight import files
from pitstop.flight.sample import Sample
from pitstop.journal import Entry, events_of
from pitstop.report.panels import timeline_of
from pitstop.report.timeline import Timeline
from pitstop.steps import FILE_NAME
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.run_folder import RunFolder, open_existing
from pitstop.supervisor.control.live_run import holder, suspended
from pitstop.supervisor.records.notices import short_forecast
from pitstop.supervisor.status import SUSPENDED, Status, status_from, with_sample
from pitstop.supervisor.status_rows import describe
from pitstop.watch.growing_file import GrowingFile, SampleTail, StepCurve


class FollowedRun:
    """What a run's folder contains; `refresh` reads what is new, and curves are read on demand."""

    def __init__(self, path: Path) -> None:
        """Opens the run; raises as `open_existing`."""
        self.folder: RunFolder = open_existing(path)
        self.entries: list[Entry] = []
        self.checkpoints: tuple[CheckpointEntry, ...] = ()
        self.is_live = False
        self.last_sample: Sample | None = None
        self.changed_seconds = 0.0
        self._journal = GrowingFile(self.folder.journal)
        self._catalog = Catalog(self.folder.checkpoints)
        self._curve: tuple[int, StepCurve, SampleTail] | None = None
        self._cause = (0, "")
        self._is_suspended = False

    @property
    def attempt(self) -> int:
        return max((each.attempt for each in self.entries), default=0)

    def refresh(self) -> None:
        """Raises `EnvironmentFault` or `FormatTooNew` where it may not be read."""
        was_live = self.is_live
        self.is_live = holder(self.folder) is not None
        found = (journal.decode(line) for line in self._journal.lines())
        new = [each for each in found if each is not None]
        self.entries += new
        if new or not self.changed_seconds:
            self.checkpoints = self._catalog.entries()
        if self.is_live or was_live or not self.changed_seconds:
            self._is_suspended = self.is_live and bool(suspended(self.folder))
            self.last_sample = files.read_last(self.folder.attempt_dir(self.attempt))
        times = [each.time_seconds for each in self.entries[-1:]]
        times += [self.last_sample.time_seconds] if self.last_sample else []
        self.changed_seconds = max(times, default=self.folder.identity.created_seconds)

    def status(self) -> Status:
        """As `pitstop status` shows it, but from files alone, without the supervisor."""
        manifests = (each.manifest for each in self.checkpoints if each.manifest)
        path = str(self.folder.path)
        stored = status_from(path, self.entries, next(manifests, None), time.time())
        if not self.is_live:
            return stored
        return replace(with_sample(stored, self.last_sample), state=self._live_state())

    def timeline(self) -> Timeline | None:
        own = journal.of_last_attempt(self.entries)
        if not own:
            return None
        curve, tail = self._followed()
        curve.refresh()
        tail.refresh()
        live = (time.time(), tail.forecasts) if self.is_live else ()
        return timeline_of(own, curve.records(), tail.samples, *live)

    def rows(self) -> list[tuple[str, str]]:
        """Its status in words, and what is going to run out."""
        found = self._followed()[1].forecasts if self.is_live and self.attempt else []
        forecasts = [short_forecast(each) for each in found]
        return describe(replace(self.status(), run_dir="", forecasts=forecasts))

    def cause(self) -> str:
        """Why the newest attempt ended; diagnosed once."""
        if self._cause[0] != self.attempt:
            self._cause = (self.attempt, cause_of(self.folder.path))
        return self._cause[1]

    def _followed(self) -> tuple[StepCurve, SampleTail]:
        attempt = self.attempt
        if self._curve is None or self._curve[0] != attempt:
            folder = self.folder.attempt_dir(attempt)
            self._curve = (attempt, StepCurve(folder / FILE_NAME), SampleTail(folder))
        return self._curve[1:]

    def _live_state(self) -> str:
        own = journal.of_last_attempt(self.entries)
        if self._is_suspended:
            return SUSPENDED
        if any(isinstance(each.event, StopRequested | AttemptEnded) for each in own):
            return "stopping"
        return "running" if events_of(own, TrainerConnected) else "starting"
