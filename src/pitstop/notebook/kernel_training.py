"""Every `fit` of a kernel, in an attempt of its run; a stop ends the attempt, not the kernel."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pitstop.engine.leaving import LeavesScript, TrainingStopped
from pitstop.engine.session import process_session
from pitstop.engine.trainings.trainings import Trainings
from pitstop.errors import PitstopError
from pitstop.events import ScriptEnded
from pitstop.keras.callbacks import stop_training
from pitstop.keras.instrumentation import Instrumentation
from pitstop.keras.packages import hooks_of
from pitstop.keras.training import Training
from pitstop.link.beacon import Phase, Progress
from pitstop.notebook.cells import NotebookCells
from pitstop.notebook.kernel_run import KernelRun
from pitstop.store.catalog import Catalog
from pitstop.tensorflow import private
from pitstop.tensorflow.devices import computed_with

_REFUSED = (
    "The training is saved but cannot continue here; see the reason above. Nothing is lost: undo "
    "the change and run the cell again, or train in another folder with `%pitstop folder NAME`."
)


class CellEnded(KeyboardInterrupt):
    """Ends a cell whose training was stopped, with a few words and without a traceback.

    Cells that wait after it are not run; `except Exception` lets it through.
    """

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class KernelInstrumentation(Instrumentation):
    """Opens a session for the first `fit`, and for the first after each stop."""

    def __init__(self, run: KernelRun, cells: NotebookCells) -> None:
        super().__init__("")
        self._run = run
        self._cells = cells
        self._before: Trainings | None = None

    def install(self, packages: tuple[str, ...]) -> None:
        """Raises `UnsupportedVersion` where a hook point is missing."""
        private.check()
        for package in packages:
            hooks_of(package).install(self)

    def begin(self) -> Training | None:
        """As for a script; `CellEnded` without a supervisor, since nothing would be saved."""
        training = self.training
        if training is not None and training.run is None and training.session.is_over:
            self._leave(training)
        if self.training is None and not self._refused and process_session.current() is None:
            try:
                self.training = self._open()
            except PitstopError as problem:
                raise CellEnded(f"{problem.message} {problem.remedy}") from None
        return self.training

    def end_session(self) -> bool:
        """Ends the present attempt, unless a `fit` runs; returns whether there is none."""
        if self.training is not None and self.training.run is None:
            session = self.training.session
            session.report(ScriptEnded(session.beacon.progress().step))
            self._leave(self.training)
            self._run.wait()
        return self.training is None

    def change_run(self, run: KernelRun) -> None:
        if self.end_session():
            self._run, self._before = run, None

    def _open(self) -> Training:
        found = computed_with()
        socket_path = self._run.start()
        session = process_session.open_session(socket_path, found, stop_training.callback_of)
        session.snapshots.alone = session.kernel = True
        if self._before is not None:
            session.trainings.follow(self._before)
        return Training(session, found, self._cells)

    def _leave(self, training: Training) -> None:
        self._before, self.training = training.session.trainings, None
        process_session.leave_session()

    @contextmanager
    def leaving(self) -> Iterator[None]:
        training = self.training
        try:
            yield
        except LeavesScript as leaves:
            if training is None or training.run is not None:
                raise
            raise self._ended(training, leaves) from None
        finally:
            if training is not None and training.run is None:
                training.session.beacon.write_phase(Phase.BETWEEN_FITS)

    def _ended(self, training: Training, leaves: LeavesScript) -> CellEnded:
        session = training.session
        progress, asked_by = session.beacon.progress(), session.stop_signal
        if not isinstance(leaves, TrainingStopped):
            return CellEnded(_REFUSED)
        self._cells.stopped()
        self._leave(training)
        if asked_by not in (0, signal.SIGINT):
            # The signal was for the process, and what it would have lost is saved.
            signal.raise_signal(asked_by)
        return CellEnded(_told(progress, Path(session.attempt_dir).parents[1]))


def _told(progress: Progress, folder: Path) -> str:
    newest = next(iter(Catalog(folder / "checkpoints").manifests()), None)
    step = newest.info.step if newest is not None else None
    place = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    at = f"step {progress.step} (epoch {progress.epoch + 1}, its step {progress.step_in_epoch})"
    if step is None:
        return f"Stopped after {at}. Nothing is saved."
    kept = "saved" if step == progress.step else f"step {step} is saved"
    again = "Run this cell again to resume there. Details: `%pitstop why`."
    return f"Stopped after {at}; {kept} in {place}.\n{again}"
