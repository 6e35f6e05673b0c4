"""`pitstop.start`: a script's own training loop under Pitstop: its steps, its metrics, its end."""

import os
import time
from collections.abc import Iterator
from typing import Any, Literal

from pitstop import steps
from pitstop.engine.connection.companion import CompanionRequest, start_companion
from pitstop.engine.exactness import Exactness
from pitstop.engine.files import attempt_records
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.files.rewritten_files import REWRITTEN
from pitstop.engine.leaving import TrainingStopped, ending_threads
from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.engine.session import first_training, process_session
from pitstop.engine.session.export_order import refuse_to_train
from pitstop.engine.session.script_stop import StopSignals
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import Position, StateCapture
from pitstop.engine.trainings.identity import RestorePoint
from pitstop.engine.values.python_state import decode
from pitstop.errors import ResumeRefused, UserError
from pitstop.events import LOOPS, Notice
from pitstop.link.beacon import Phase
from pitstop.link.settings import ENV_SOCKET, Settings
from pitstop.loop.loop_state import LoopState
from pitstop.loop.trainables import begin_loop, export_loop
from pitstop.tensorflow import private
from pitstop.tensorflow.devices import computed_with, level_of_process
from pitstop.tensorflow.script_loop import ScriptLoop
from pitstop.tensorflow.variables.variables import REGISTRY


class Run:
    """What `pitstop.start` returns.

    Attributes:
        step: training steps completed over the whole run.
        resumed: an earlier attempt's state was restored.
        stopped: the run was asked to stop, and `steps` has ended for that.
        parts: in how many parts each step is to be computed, 1 for one.
    """

    def __init__(
        self, session: Session, state: LoopState, *, returns: bool, in_parts: bool = False
    ) -> None:
        self.parts = session.settings.batch_parts if in_parts else 1
        self.resumed = False
        self.stopped = False
        self._session = session
        self._state = state
        self._returns = returns
        self._in_parts = in_parts
        self._saved = Position(step=0, fit=-1, epoch=0, step_in_epoch=0)
        self._unsettled: SavedState | None = None
        self._loop = ScriptLoop(session, LOOPS[0], -1, 0)
        self._metrics: dict[str, Any] = {}

    @property
    def step(self) -> int:
        return self._loop.step

    def restore(self, saved: SavedState) -> None:
        """Brings the objects to a saved state; raises `ResumeRefused` for other objects."""
        started = time.monotonic()
        self._state.restore(saved)
        began = began_seconds(self._session.attempt_dir)
        EARLIER.watch(saved.state["time_seconds"], self._state.doubt, began)
        self._state.doubt(APPENDED.go_on(saved.appended))
        EARLIER.give_back(saved.rewritten)
        self._unsettled = saved
        position = self._saved = saved.position
        self._loop.step = position.step
        self.resumed = True
        self._metrics = decode(saved.state["loop"]["metrics"], saved.tensors)
        level = Exactness(saved.state["level"]["level"], saved.state["level"]["reason"])
        # The state may be exact here, but not on another member of the gang.
        own = self._state.level
        is_less = own.level == "not_exact" and level.level != "not_exact"
        self._loop.tell_restored(position, own if is_less else level, started)

    def steps(self, count: int | None = None) -> Iterator[int]:
        """The steps of a loop: 0, 1, ... as `range` has them, from where the run stands.

        The boundary is where the next step is asked for: snapshots are taken
        and stops are obeyed there.  A loop that an earlier attempt finished has
        no steps left.

        Raises:
            TrainingStopped: (a SystemExit, code 75) a stop was obeyed.
        """
        loop, saved = self._loop, self._saved
        loop.index = self._session.trainings.next_index()
        here = saved.fit == loop.index
        loop.done = saved.step_in_epoch if here else 0
        if self.stopped or loop.index < saved.fit or (here and saved.milestone):
            return
        with ending_threads(), StopSignals(self._session):
            try:
                yield from self._train(count)
            except GeneratorExit:
                # A `break`; an exception in the step ends up here too, and is told by itself.
                self._loop.tell_end()
                raise
            except TrainingStopped:
                self.stopped = True
                if not self._returns:
                    raise

    def log(self, **metrics: Any) -> None:
        """Numbers of the present step, for `status` and `why`; `loss` is watched for NaN."""
        self._metrics = metrics

    def _train(self, count: int | None) -> Iterator[int]:
        beacon, loop = self._session.beacon, self._loop
        beacon.write_plan(loop.index, 1, count or 0)
        is_first = loop.index == 0 and not self.resumed and not self._session.snapshots.alone
        began_with = self._state.digests() if is_first else {}
        self._state.doubt(first_training.deviation(self._session, began_with))
        loop.begin(count, in_parts=self._in_parts, began_with=began_with)
        REWRITTEN.trains = True
        OUTSIDE.begin(self._state.doubt)
        OUTSIDE.begin_steps()
        beacon.write_phase(Phase.FIRST_STEP)
        loop.boundary.start()
        loop.reach(loop.boundary.passed_ns)
        loop.boundary.obey(loop.step, self._cut)
        while count is None or loop.done < count:
            yield loop.done
            self._step_done()
        OUTSIDE.leave()
        EARLIER.leave()
        self._session.snapshots.milestone(lambda: self._cut("fit_end"))
        loop.tell_end()
        beacon.write_phase(Phase.BETWEEN_FITS)

    def _step_done(self) -> None:
        self._settle()
        now_ns = time.monotonic_ns()
        loop = self._loop
        loop.boundary.measure(now_ns)
        self._session.beacon.write_phase(Phase.TRAIN)
        numbers = self._numbers()
        loop.step_done(numbers.get("loss"), steps.digest(numbers))
        loop.reach(now_ns, numbers)
        loop.boundary.obey(loop.step, self._cut)

    def _numbers(self) -> dict[str, float]:
        return {name: float(value) for name, value in self._metrics.items()}

    def _settle(self) -> None:
        saved, self._unsettled = self._unsettled, None
        if saved is None:
            return
        try:
            self._state.settle(saved)
        except ResumeRefused as refusal:
            self._session.refuse(refusal)

    def _cut(self, milestone: str = "") -> StateCapture:
        return self._state.cut(self._loop, self._numbers(), milestone)


def start(
    run_dir: str | os.PathLike[str],
    *,
    overhead: float = 0.01,
    every_steps: int = 0,
    every_seconds: float = 0.0,
    max_seconds: float | None = None,
    on_stop: Literal["exit", "return"] = "exit",
    in_parts: bool = False,
    **objects: Any,
) -> Run:
    """Begins or continues a run; if there is something to restore, it is restored here.

    Under `pitstop run` the launcher's run folder and options hold; otherwise a
    supervisor is started beside the script.  Fits inside of the loop belong to
    its steps.

    Args:
        run_dir: the run's folder, made when missing, or the URL of its mirror.
        overhead: share of the training time that Pitstop may cost.
        every_steps: steps between durable checkpoints, 0 for automatic.
        every_seconds: seconds between durable checkpoints, 0 for automatic.
        max_seconds: stop, saved, before so much time has passed; None asks the
            scheduler's environment, 0 for no limit.
        on_stop: what a stop does once the state is saved: "exit" ends the
            script with code 75, "return" ends the loop.
        in_parts: the loop computes each step in `Run.parts` parts, which are more where memory
            ran out (`pitstop run --on-oom shrink`).
        objects: what the loop changes, by name: variables, modules, models,
            optimizers, metrics, `tf.data` iterators, random generators, dicts,
            lists, arrays, or objects with state_dict() and load_state_dict().

    Raises:
        CannotTrack: an object can be neither read nor set in place.
        RunUnavailable: the folder is in use, unwritable, or of another format.
        ResumeRefused: the saved state does not fit the objects.
        UserError: the process has a run already.
    """
    if process_session.current() is not None:
        raise UserError(
            "This process already has a run.", "Call pitstop.start once, before any training."
        )
    private.check()
    REGISTRY.install()
    state = LoopState(objects, REGISTRY)
    returns = on_stop == "return"
    settings = Settings(overhead, every_steps, every_seconds, stop_returns=returns)
    session = _open_session(CompanionRequest(run_dir, settings, max_seconds))
    # A member is not more exact than the others that train with it.
    level = level_of_process(session)
    state.doubt(level.reason if level is not None else "")
    state.draws.watch()
    run = Run(session, state, returns=returns or session.settings.stop_returns, in_parts=in_parts)
    if run.parts > 1:
        state.doubt(f"--on-oom shrink: each step is computed in {run.parts} parts by the script")
    point = session.trainings.newest
    if session.settings.export_to:
        if point is None:
            refuse_to_train(session, 0)
        export_loop(session, state, objects, session.fetch(point))
    elif session.start_from():
        begin_loop(session, objects)
    elif point is not None:
        _restore(session, run, point)
    return run


def _open_session(request: CompanionRequest) -> Session:
    socket_path = os.environ.get(ENV_SOCKET)
    session = process_session.open_session(socket_path or start_companion(request), computed_with())
    session.snapshots.alone, session.trains_with_fit = not socket_path, False
    if not socket_path:
        attempt_records.watch(session.attempt_dir)
    return session


def _restore(session: Session, run: Run, point: RestorePoint) -> None:
    session.beacon.write_phase(Phase.RESTORING)
    try:
        run.restore(session.fetch(point))
    except ResumeRefused as refusal:
        session.report(Notice("resume_refused", refusal.message, refusal.remedy))
        raise
