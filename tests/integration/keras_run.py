"""One run of a Keras script: attempt after attempt in one folder, and what became of it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import psutil

from pitstop import journal
from pitstop.events import CheckpointCommitted, Event, TrainerExited
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of
from pitstop.supervisor.status import Status
from tests.integration.supervisor import launch

SCRIPTS = Path(__file__).parent / "scripts"
OUT = "out.npz"
REAL = (sys.executable,)

E = TypeVar("E", bound=Event)

Ended = subprocess.CompletedProcess[bytes]
Started = subprocess.Popen[bytes]


@dataclass(frozen=True)
class KerasRun:
    """A script, and the folder that it runs in.

    Attributes:
        folder: working directory of every attempt; the run's folder is `run` in it.
        script: its name among the scripts beside this module.
        arguments: for the script.
        options: for `pitstop run`.
        environment: variables for every attempt.
        pace_seconds: how much longer each step of train.py takes in what `start` starts, so
            that the test finds it still training; what `attempt` runs is not slowed.
        interpreter: the words before the script's path.
    """

    folder: Path
    script: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    pace_seconds: float = 0.0
    interpreter: tuple[str, ...] = REAL

    def start(self, *more: str) -> Started:
        """Starts an attempt, with more options for `pitstop run` if there are any."""
        return launch.start(self.folder, *self.words(*more), **self.variables)

    @property
    def variables(self) -> dict[str, str]:
        """The environment's variables, the pace among them: another argument is another run."""
        return {"SAMPLE_PACE": str(self.pace_seconds), **self.environment}

    def words(self, *more: str) -> tuple[str, ...]:
        """What `pitstop` is called with to start an attempt."""
        command = (*self.interpreter, str(SCRIPTS / self.script), *self.arguments)
        return ("run", "--run-dir", "run", *self.options, *more, "--", *command)

    def attempt(self, *more: str) -> Ended:
        """Runs an attempt to its end."""
        return launch.finish(replace(self, pace_seconds=0.0).start(*more))

    def pitstop(self, command: str, *options: str) -> Ended:
        """Calls `pitstop COMMAND run ...`."""
        return launch.call(self.folder, command, "run", *options)

    def why(self) -> dict[str, Any]:
        """What `pitstop why --json` says."""
        answer = self.pitstop("why", "--json")
        assert answer.returncode == 0, answer.stderr
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    def status(self) -> dict[str, Any]:
        """What `pitstop status --json` says."""
        return launch.status(self.folder)

    def until_training(self, step: int) -> None:
        """Waits until the live attempt trains and has done so many steps of the run."""
        launch.until(lambda: self._now().phase == "train" and (self._now().step or 0) >= step)

    def until_phase(self, phase: str) -> None:
        """Waits until the live attempt is in a phase."""
        launch.until(lambda: self._now().phase == phase)

    def until_unsaved(self) -> None:
        """Waits until the live attempt has a snapshot that is newer than every checkpoint."""
        launch.until(lambda: (self._now().snapshot_step or 0) > (self._now().checkpoint_step or 0))

    def _now(self) -> Status:
        # Not by a process of its own for each look: they would slow the run down.
        folder = self.folder / "run"
        return status_of(open_existing(folder)) if self._is_live() else Status("", str(folder))

    def _is_live(self) -> bool:
        return (self.folder / "run" / "run.json").exists()

    def entries(self) -> tuple[journal.Entry, ...]:
        """The journal so far; empty before there is one."""
        if not self._is_live():
            return ()
        return journal.read(open_existing(self.folder / "run").journal).entries

    def events(self, kind: type[E], attempt: int | None = None) -> list[E]:
        """Events of a kind, of one attempt or of all."""
        return [
            entry.event
            for entry in self.entries()
            if isinstance(entry.event, kind) and attempt in (None, entry.attempt)
        ]

    def last(self, kind: type[E], attempt: int | None = None) -> E:
        """The last event of a kind."""
        return self.events(kind, attempt)[-1]

    def saved_step(self, attempt: int) -> int | None:
        """The step that was durable at the end of an attempt, None when none was."""
        saved = [
            entry.event.step
            for entry in self.entries()
            if isinstance(entry.event, CheckpointCommitted) and entry.attempt <= attempt
        ]
        return saved[-1] if saved else None

    def reached_step(self, attempt: int) -> int:
        """The step that an attempt had reached when its trainer ended."""
        return self.last(TrainerExited, attempt).step

    def processes(self) -> list[psutil.Process]:
        """Processes of this run that are still there."""
        return launch.processes_in(self.folder)

    def verify(self) -> list[dict[str, Any]]:
        """What `pitstop checkpoints run verify` says of each checkpoint, newest first."""
        rows: list[dict[str, Any]] = json.loads(
            self.pitstop("checkpoints", "verify", "--json").stdout
        )
        return rows


def seconds_to_end(process: Started) -> tuple[Ended, float]:
    """How a process that was asked to end did so, and after how long."""
    asked = time.monotonic()
    ended = launch.finish(process)
    return ended, time.monotonic() - asked
