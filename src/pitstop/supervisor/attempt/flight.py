"""The flight recorder of an attempt, as the supervision uses it."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pitstop.events import Event
from pitstop.flight.sample import TRAINER
from pitstop.flight.sampler import FlightRecorder, ProcessRoles, Sampler
from pitstop.flight.tensorboard_writer import TensorBoardWriter
from pitstop.link.messages import VitalsReport
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.attempt.plan import AttemptResources
from pitstop.supervisor.processes.trainer_slot import TrainerSlot
from pitstop.supervisor.records.notices import short_forecast
from pitstop.supervisor.status import Status

_SHARED_MEMORY = Path("/dev/shm")


class Flight:
    """Begins with the trainer and ends with the attempt; does nothing with `--flight off`."""

    def __init__(self, resources: AttemptResources, trainer_slot: TrainerSlot) -> None:
        self._plan = resources.plan
        self._resources = resources
        self._trainer_slot = trainer_slot
        self._started_pid = 0
        self._recorder: FlightRecorder | None = None

    def begin(self, started_pid: int) -> None:
        every_seconds = self._plan.request.settings.flight_seconds
        if not every_seconds:
            return
        self._started_pid = started_pid
        sampler = Sampler(self._resources.beacon, self._roles, self._places())
        begun_seconds = open_existing(self._plan.request.run_dir).identity.created_seconds
        event_log = self._resources.event_log
        writer = TensorBoardWriter(
            self._plan.attempt, begun_seconds, lambda: event_log.attempt_state.resumed_from_step
        )
        self._recorder = FlightRecorder(self._plan.folder, sampler, every_seconds, writer)
        self._recorder.start()

    def on_vitals(self, report: VitalsReport) -> None:
        if self._recorder is not None:
            self._recorder.on_metrics(report)

    def take_forecasts(self) -> Sequence[Event]:
        return () if self._recorder is None else self._recorder.take_forecasts()

    def seen(self, status: Status) -> Status:
        recorder = self._recorder
        if recorder is None or recorder.latest is None:
            return status
        return replace(
            status,
            memory_bytes=recorder.latest.memory_bytes,
            input_share=recorder.input_share,
            forecasts=[short_forecast(event) for event in recorder.forecasts],
        )

    def close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()

    def _roles(self) -> ProcessRoles:
        mirror = self._resources.run.mirror
        trainer_pid = self._trainer_slot.pid or self._started_pid
        roles = {
            os.getpid(): "supervisor",
            self._resources.persister.pid: "persister",
            mirror.pid if mirror else 0: "uploader",
            self._resources.run.spare.pid: "spare",
            trainer_pid: TRAINER,
        }
        known = {pid: role for pid, role in roles.items() if pid}
        return ProcessRoles(known, self._resources.event_log.attempt_state.checkpoint_step)

    def _places(self) -> dict[str, Path]:
        return {
            "run": self._plan.request.run_dir,
            "cwd": Path.cwd(),
            "tmp": Path(tempfile.gettempdir()),
            **({"shm": _SHARED_MEMORY} if _SHARED_MEMORY.is_dir() else {}),
        }
