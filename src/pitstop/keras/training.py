"""The training of this process: which `fit` runs, what it continues, what stopped it."""

import math
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

from pitstop.engine.fence import fenced, observing
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.files.rewritten_files import REWRITTEN
from pitstop.engine.frames import place_on_stack
from pitstop.engine.hooking import Original
from pitstop.engine.leaving import Refused, TrainingStopped, ending_threads
from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.engine.session import first_training
from pitstop.engine.session.export_order import refuse_to_train
from pitstop.engine.session.script_stop import StopSignals
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.session.witness import fit_left, note_callback
from pitstop.engine.snapshots import saved_state
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.trainings.identity import RestorePoint
from pitstop.errors import PeerFault, ResumeRefused
from pitstop.events import FitEnded, FitStarted, InputExhausted, LevelKnown, Notice
from pitstop.keras import left_out, nan_trace
from pitstop.keras.callbacks import stop_training
from pitstop.keras.common_private import model_variables
from pitstop.keras.fits import caught_exception, fit_call, fit_outputs, trainables
from pitstop.keras.fits.caught_exception import CaughtOutcome
from pitstop.keras.fits.continuation import Continuation
from pitstop.keras.fits.fit_on_workers import FitOnWorkers, is_sent_to_workers
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.fits.recognition import Cells, FitBeginning, Recognition
from pitstop.keras.fits.short_fits import ShortFit, ShortFits
from pitstop.keras.inputs.training_input import end_at_exit
from pitstop.keras.legacy_source import LegacySource
from pitstop.keras.models import micro_batches
from pitstop.keras.models.variable_paths import TrainedModels, parts_of
from pitstop.keras.packages import private_of
from pitstop.link.beacon import Phase
from pitstop.tensorflow import randomness
from pitstop.tensorflow.kept_files import KEPT_FILES
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.shuffle_readings import SHUFFLE_READINGS
from pitstop.tensorflow.variables.variables import REGISTRY

_TWO_FITS = (
    "another fit runs at the same time in another thread and is not saved: a resume starts its "
    "model over; train one model after the other, or each in its own process"
)
_TUNED = "steps_per_execution='auto' depends on timing: not repeatable even without an interruption"
_DISTRIBUTED = (
    "Keras 2 with this distribution strategy: resuming its input was not tested; use "
    "MirroredStrategy or MultiWorkerMirroredStrategy"
)
_READS_ON = (
    "the input of a training that ended with an exception reads on in its thread, which a resume "
    "does not repeat"
)
_READ_AHEAD = (
    "the script has read {}, which an earlier attempt wrote after this training, and repeats the "
    "training"
)
_TRAINS_NOTHING = Notice(
    "trains_nothing",
    "The run is stopped and the script continues: further model.fit calls do not train.",
)


class FitAlreadyFinished(BaseException):
    """Leaves a `fit` that an earlier attempt finished.  `history` is its result."""

    def __init__(self, history: Any) -> None:
        super().__init__()
        self.history = history


class Training:
    """Watches `fit` calls for one session; `run` is the one that is running, if any."""

    def __init__(
        self, session: Session, versions: dict[str, str], cells: Cells | None = None
    ) -> None:
        self.session = session
        self.run: FitRun | None = None
        self._versions = versions
        self._step = session.trainings.reached_step if cells is not None else 0  # of the last fit
        self.continuation: Continuation | None = None  # of the running `fit`, until its first step
        self._recognition = Recognition(session, cells)
        self._trained = TrainedModels()
        self._told_stopped = False
        self._restored_seconds = 0.0  # when the state that was restored last had been taken
        self._thread = threading.get_ident()  # in which the watched `fit` runs
        self._caught = CaughtOutcome()  # of a `fit` whose exception the script may catch
        self._short = ShortFits(session)
        if session.settings.batch_parts > 1:
            micro_batches.divide_steps(session)

    # -- a fit begins and ends -----------------------------------------------------

    def fit(self, original: Original, model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Runs `fit` under watch; a `fit` inside of a `fit` is left alone."""
        if self.session.snapshots.stopped:
            return self._train_nothing(model)
        if self.run is not None:
            if self._thread != threading.get_ident():
                self.run.doubt(_TWO_FITS)
            return original(model, *args, **kwargs)
        arguments = fit_call.arguments(model, args, kwargs)
        self._thread = threading.get_ident()
        self._begin(model, {"model": model, **arguments})
        run = self.run
        if run is None:
            return original(model, *args, **kwargs)
        if self.continuation and (held := self.continuation.settings.arguments):
            args, kwargs = (), {**arguments, **held}
        try:
            with SHUFFLE_READINGS.uncounted():
                history = self._led(run, original, args, kwargs)
        finally:
            run.tell_level()
            run.note_read_ahead()
            self.run = None
            EARLIER.leave()
            OUTSIDE.leave()
            self._step = run.position.step
            self._recognition.ended(run.parts.deviation)
            self._trained.add(model, run.path_of)
            private_of(model).continue_at_epoch(model, None)
        if self.continuation and self.continuation.finished_seconds:
            # What a later training wrote is not what the script found here.
            finished_seconds = self.continuation.finished_seconds
            if paths := EARLIER.read_ahead(self.session.attempt_dir, finished_seconds):
                self._deviate(_READ_AHEAD.format(paths[0]))
            EARLIER.watch(finished_seconds, self._deviate)
        self.session.beacon.write_phase(Phase.BETWEEN_FITS)
        return history

    def _deviate(self, reason: str) -> None:
        # Told at once: perhaps nothing is trained any more.
        self._recognition.deviate(reason)
        self.session.report(LevelKnown("not_exact", self._recognition.deviation, has_deviated=True))

    def _led(
        self, run: FitRun, original: Original, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            with StopSignals(self.session) if self.session.snapshots.alone else nullcontext():
                history = original(run.model, *args, **kwargs)
        except FitAlreadyFinished as finished:
            return finished.history
        except TrainingStopped:
            if self.session.settings.stop_returns:
                return private_of(run.model).end_fit_early(run.model, run.callbacks)
            if run.epoch_iterator is not None and not self.session.kernel:
                end_at_exit(run.input.iterator)
            raise
        except BaseException as error:  # `sys.exit` and Ctrl-C too
            # In a kernel it ends the cell: no code catches it and trains on.
            if not self.session.kernel:
                self._caught.hold(run, error, is_restored=self.continuation is not None)
                with fenced():
                    self.session.report(fit_left(run.position.fit, error))
            note_callback(error, stop_training.callback_of)
            raise
        self._finish(run, history)
        return history

    def _train_nothing(self, model: Any) -> Any:
        if not self.session.settings.stop_returns:
            # The script has caught the exception that was to end it.
            raise TrainingStopped
        if not self._told_stopped:
            self._told_stopped = True
            self.session.report(_TRAINS_NOTHING)
        return fit_call.empty_history(model)

    @observing(spoils=True)
    def _begin(self, model: Any, arguments: dict[str, Any]) -> None:
        self._caught.save(self.session)
        if self.session.kernel:
            # The model may be older than the extension.
            REGISTRY.adopt(part for each in model_variables(model) for part, _ in parts_of(each))
        known = self._short.begins(model, arguments)
        if known is not None:
            beginning = self._recognition.begin_short(known.place)
        else:
            beginning = self._recognition.begin(model, arguments)
        if self.session.settings.export_to:
            # What it changes is not part of the training's identity.
            trainables.quiet(arguments.get("callbacks"))
        # A recorded loop may have come before it.
        step = max(self._step, self.session.beacon.progress().step, beginning.step)
        kind = ShortFit if known else FitOnWorkers if is_sent_to_workers(model) else FitRun
        run = kind(self.session, self._versions, model, beginning, step, arguments)
        run.doubt(self._recognition.deviation)
        run.doubt(self.session.settings.altered)
        self._trained.look(model)
        run.doubt(micro_batches.begin_fit(self.session, model))
        left_out.clip_gradients(run)
        self.continuation = self._next_continuation(run, beginning)
        if self.continuation is None:
            self._begin_anew(run)
        is_anew = self.continuation is None
        of_fit = KEPT_FILES.of_fit(self.session.attempt_dir, run.arguments, is_anew=is_anew)
        if reason := SHUFFLE_READINGS.doubt or of_fit:
            self._deviate(reason)
            run.doubt(reason)
        run.begin()
        run.doubt(first_training.deviation(self.session, run.began_with))
        OUTSIDE.begin(run.doubt)
        REWRITTEN.trains = True
        self.session.snapshots.start_steps(run.position.step, repeats=beginning.repeats)
        self.run = run
        self._short.has_begun(run, known)

    def _begin_anew(self, run: FitRun) -> None:
        randomness.seed_if_unseeded()
        left_out.cut_rate(run, run.position.step)
        fit_outputs.begin(run, continues=False)
        began = began_seconds(self.session.attempt_dir)
        if not self._restored_seconds and began < math.inf:
            # It is trained from its beginning, but what earlier attempts wrote is there.
            EARLIER.watch(began, run.doubt, began)

    def _next_continuation(self, run: FitRun, beginning: FitBeginning) -> Continuation | None:
        if beginning.point is None:
            if self.session.settings.export_to:
                refuse_to_train(self.session, run.position.fit)
            return None
        self.session.beacon.write_phase(Phase.RESTORING)
        saved = self._fetch(beginning.point)
        raised = saved.state["fit"]["raised"]
        if raised and caught_exception.again(raised) is None:
            self.session.report(caught_exception.RAISES_ANOTHER)
            return None
        if beginning.course.extends:
            unended = saved_state.to_go_on_from(saved)
            if unended is None:
                self.session.report(saved_state.NOT_KEPT)
                return None
            saved = unended
        self._restored_seconds = saved.state["time_seconds"]
        return Continuation(run, saved, beginning)

    def _fetch(self, point: RestorePoint) -> SavedState:
        try:
            saved = self.session.fetch(point)
        except PeerFault:
            raise Refused from None
        if "fit" not in saved.state:
            message = "The run was saved in a custom loop, but the script now uses model.fit."
            remedy = "Undo the change, or start over with --new."
            self.session.refuse(ResumeRefused(message, remedy))
        return saved

    @observing(spoils=True)
    def _finish(self, run: FitRun, history: Any) -> None:
        run.steps_finished()
        run.input.settle()
        self.session.snapshots.milestone(run.outcome)
        self._short.ended(run)
        run.held = None
        epochs = int(history.params.get("epochs", 0))
        at = run.position
        self.session.report(FitEnded(at.fit, at.step, len(history.epoch), epochs))

    # -- what Keras tells while it runs ----------------------------------------------

    def train_begins(self, begin: Original, callbacks: Any, logs: Any = None) -> None:
        run = self.run
        if run is None or run.callbacks is not None or callbacks.model is not run.model:
            begin(callbacks, logs)
            return
        run.use_callbacks(callbacks)
        if self.session.settings.looks_only:
            run.silenced = nan_trace.silence(callbacks.callbacks)
        with fenced():
            epochs, steps = int(callbacks.params.get("epochs") or 0), run.epoch_iterator.num_batches
            self.session.beacon.write_plan(run.position.fit, epochs, steps or 0)
            told = run.data, *run.buffers, run.began_with
            self.session.report(FitStarted(run.position.fit, epochs, steps, *told))
        if run.position.fit == 0 and self.session.settings.start_from:
            # In every attempt, also where the file is not read any more: variables are known by
            # the order of their creation.
            private_of(run.model).build_symbolically(run.model, run.epoch_iterator)
            if self.session.start_from():
                trainables.begin_from_weights(run)
        if self.continuation is not None:
            newest = self.session.trainings.newest
            if self.session.settings.export_to and newest and newest.fit == run.position.fit:
                self.continuation.export()
            self.continuation.check_input()
            if self.continuation.finished:
                history, error = self.continuation.finish(), self.continuation.raises()
                if error is not None and run.input.state.by_replay:
                    self._recognition.deviate(_READS_ON)
                raise error if error is not None else FitAlreadyFinished(history)
        # What is drawn here, such as a name of the run, is in attributes, which come back.
        OUTSIDE.leave()
        begin(callbacks, logs)
        OUTSIDE.begin(run.doubt)
        if self.continuation is not None:
            epoch = self.continuation.position.epoch
            private_of(run.model).continue_at_epoch(run.model, epoch)

    @observing()
    def input_exhausted(self, epoch_iterator: Any) -> None:
        run = self.run
        if run is None or epoch_iterator is not run.epoch_iterator:
            return
        expected, at = epoch_iterator.steps_per_epoch, run.position
        if expected and at.step_in_epoch < expected:
            place = (at.fit, at.epoch, at.step_in_epoch)
            self.session.report(InputExhausted(*place, int(expected)))

    def stop_training_set(self, model: Any, frame: FrameType) -> None:
        run = self.run
        if run is not None and run.model is model:
            at = run.position
            # The step included whose callbacks are still running.
            step = at.step + at.has_returned
            self.session.report(stop_training.describe(frame, step, at.epoch))

    def hidden_random_op(self, op_type: str) -> None:
        if self.run is not None:
            self.run.hidden_random_op(op_type, place_on_stack())

    def iterator_made(self, epoch_iterator: Any, *_: Any, **__: Any) -> None:
        """An epoch iterator exists; the first one of a fit feeds its training."""
        if self.run is not None and self.run.epoch_iterator is None:
            self.run.use_input(epoch_iterator)

    @observing(spoils=True)
    def handler_made(self, handler: Any, *_: Any, **__: Any) -> None:
        run = self.run
        if run is not None and run.epoch_iterator is None and handler._model is run.model:
            run.use_input(LegacySource(handler, run.arguments))
            if getattr(run.model, "autotune_steps_per_execution", False):
                run.doubt(_TUNED)
            if not (run.input.state.anew or pipeline.is_repeatable(handler._dataset)):
                run.doubt(_DISTRIBUTED)

    def batches_to_skip(self, adapter: Any) -> int:
        run, continuation = self.run, self.continuation
        if run is None or continuation is None or run.epoch_iterator is not None:
            return 0
        return continuation.batches_to_skip(adapter)

    def logs_or_restored(self, logs: dict[str, Any] | None) -> dict[str, Any] | None:
        """The logs of the epoch's last step, also when an earlier attempt ran it."""
        run = self.run
        return run.numbers.restored if run is not None and not logs else logs

    # -- iterating ---------------------------------------------------------------------

    def take_continuation(self) -> Continuation | None:
        continuation, self.continuation = self.continuation, None
        return continuation

    def outside(self, steps: Iterator[Any]) -> Iterator[Any]:
        beacon = self.session.beacon
        before = beacon.phase()
        if self.run is None:
            # An `evaluate` or `predict` that no `fit` makes.
            beacon.write_phase(Phase.PREDICT)
        try:
            for item in steps:
                self._obey_stop_outside_training()
                beacon.pulse()
                yield item
        finally:
            if beacon.phase() is Phase.PREDICT:
                beacon.write_phase(before)

    def _obey_stop_outside_training(self) -> None:
        session = self.session
        if not session.stop_requested() or session.snapshots.stopped:
            return
        if self.run is not None:
            if self.run.held is not None:
                session.snapshots.stop_with(self.run.held, "validation")
        elif not (session.kernel or session.settings.stop_returns):
            with ending_threads():
                session.snapshots.stop_with(None, "predict")
