"""How a `fit` goes on from a saved state, and when it must not."""

import functools
import time
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from pitstop.engine.exactness import Exactness, missing, not_exact
from pitstop.engine.fence import FENCE, observing
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.program import is_own_file
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import Position
from pitstop.engine.trainings.course import doubt_of_memory
from pitstop.engine.trainings.present_identity import held_by_callers
from pitstop.engine.values.python_state import decode
from pitstop.errors import ResumeRefused
from pitstop.events import EnvironmentChanged, FitRestored, Notice, Restored
from pitstop.keras import global_seeds, left_out, tensorboard
from pitstop.keras.callbacks import callback_nodes, open_files
from pitstop.keras.fits import caught_exception, data_spec, fit_outputs, fit_state, trainables
from pitstop.keras.fits.fit_call import ChangedSettings
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.fits.recognition import FitBeginning
from pitstop.keras.packages import private_of
from pitstop.store.run_folder import JOURNAL_FILE
from pitstop.tensorflow import event_files, randomness
from pitstop.tensorflow.event_files import SUMMARY_WRITERS
from pitstop.tensorflow.variables.variables import REGISTRY

_P = ParamSpec("_P")
_R = TypeVar("_R")


def restoring(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Fences what restores a saved state: where our code fails in it, the script ends.

    A state that is not as ours are makes it fail.  What the script's own code raises, such as
    a generator that is read again, comes out as it is.
    """

    @functools.wraps(function)
    def restore(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
            if is_own_file(innermost.f_code.co_filename):
                FENCE.note(function.__qualname__, error, spoils=True)
            raise

    return restore


_LAYOUT = (
    *("adapter", "batch_size", "batches", "steps_per_epoch"),
    *("elements", "pipeline", "samples"),
)
_NAMED = 3
_REMEDY = (
    "Undo the change, start over with --new, or use --force to restart this epoch with the "
    "restored weights."
)
_FOLLOWED = (
    "The script now writes to other file names, because they contain the time, a random part or "
    "the next free number: its earlier output is copied to {}."
)
_LEFT = (
    "The script's earlier output in {} is too large to copy to its new file names; use names "
    "that stay the same."
)


class Continuation:
    """One saved state and the `fit` that takes it over; `settings`: those changed since."""

    @restoring
    def __init__(self, run: FitRun, saved: SavedState, beginning: FitBeginning) -> None:
        self._run = run
        self._saved = saved
        self._left_out, course = beginning.left_out, beginning.course
        # No step was computed: variables that the first one creates are not in the state.
        self._begins = beginning.point is not None and beginning.point.begins
        self._doubts = [course.doubt] if course.doubt else []
        self._restarts_epoch = self._has_other_data = False
        self._started = 0.0
        self.finished_seconds = 0.0  # when the training ended that is not run again
        self._files = open_files.keep(saved.state["fit"]["files"])
        self._events = saved.state["fit"]["events"]
        self._old_events = event_files.of_others(self._events["folders"])
        self.settings = ChangedSettings(run.model, run.listed_callbacks(), course)
        self.settings.hold()
        # Before `fit` looks at its data: the streams as they were there.
        run.look_for_streams()
        run.streams.restore(decode(saved.state["fit_random"], saved.tensors))
        if not saved.state["identity"].get("seed"):
            randomness.regard_as_given()
        self._follow_files()

    @observing(spoils=True)
    def _follow_files(self) -> None:
        found = open_files.follow(self._run.listed_callbacks(), self._saved.state["fit"])
        if found.left:
            self._doubts.append(_LEFT.format(found.left[0].parent))
        if found.copied:
            shown = map(str, found.copied[:_NAMED])
            message = _FOLLOWED.format(", ".join(shown) + (", ..." * bool(found.copied[_NAMED:])))
            remedy = "Names that stay the same need no copy."
            self._run.session.report(Notice("files_followed", message, remedy))

    @property
    def position(self) -> Position:
        return self._saved.position

    @property
    def finished(self) -> bool:
        return self.position.milestone == "fit_end"

    @restoring
    def raises(self) -> Exception | None:
        raised = self._saved.state["fit"]["raised"]
        return caught_exception.again(raised) if raised else None

    @restoring
    def check_input(self) -> None:
        """Compares the input with the saved one; `Refused` for another layout."""
        self._run.input.state.replay_instead(self._saved.state["fit"]["input"])
        changes = data_spec.differences(self._saved.state["fit"]["data"], self._run.data)
        arrays = self._changed_arrays()
        self._has_other_data = bool(changes or arrays)
        for name, before, now in changes:
            what = f"the training data's {name}"
            self._run.session.report(EnvironmentChanged(what, before, now, changes_bits=True))
        layout = [change for change in changes if change[0] in _LAYOUT]
        if layout and self.settings.lose_place:
            self._restarts_epoch = True
        elif layout and not self.finished:
            name, before, now = layout[0]
            place = f"step {self.position.step_in_epoch} of epoch {self.position.epoch + 1}"
            words = f"The training input changed: {name} was {before} and is now {now}, so {place} "
            self._refuse_or_force(ResumeRefused(f"{words}can no longer be found.", _REMEDY))
            self._restarts_epoch = True
        elif changes:
            self._doubts.append("The training data changed.")
        elif arrays:
            self._doubts.append(f"The script's data changed: {', '.join(arrays[:_NAMED])}.")

    def _changed_arrays(self) -> list[str]:
        found = self._run.objects.changed_arrays(self._saved.state["fit"]["objects"])
        if not self._run.session.kernel:
            return found
        # A callback of another cell has what the training has put into it; it is restored.
        own = callback_nodes.numbered(self._run.listed_callbacks())
        return [each for each in found if each.partition(".")[0] not in own]

    @restoring
    def batches_to_skip(self, adapter: Any) -> int:
        """How many batches of arrays a new iterator of Keras 2 has to leave out."""
        fit, arguments = self._saved.state["fit"], self._run.arguments
        if not fit["input"].get("skips"):
            return 0
        steps = arguments.get("steps_per_epoch")
        before = (fit["data"][name] for name in ("batch_size", "batches", "steps_per_epoch"))
        if tuple(before) == (adapter._batch_size, adapter._size, steps):
            return int(fit["input"]["drawn"])
        epochs = self.position.epoch - arguments.get("initial_epoch", 0)
        return int(epochs * (steps or adapter._size))

    def export(self) -> None:
        trainables.export_fit(self._run, self._saved)

    @restoring
    def finish(self) -> Any:
        started = time.monotonic()
        self.finished_seconds = self._saved.state["time_seconds"]
        began = began_seconds(self._run.session.attempt_dir)
        EARLIER.put_back_removed(began, self.finished_seconds)
        fit_outputs.give_back(self._run, self._saved)
        self._run.build_missing(self._saved)
        if not self._has_other_data:
            # A later `fit` may read from it, too.
            self._prepare_input()
            self._run.input.finish(self._saved)
        self._restore_state()
        open_files.lengthen(self._run.logs, self._files)
        self._go_on_appending()
        history = self._run.callbacks._history
        self._run.model.history = history
        seconds = round(time.monotonic() - started, 4)
        self._run.session.report(
            FitRestored(self.position.fit, self.position.step, len(history.epoch), seconds)
        )
        return history

    @restoring
    def prepare(self) -> None:
        """Variables and the input's streams, before Keras starts readers; `apply` does the rest."""
        self._started = time.monotonic()
        # Readers of the input look at files too.
        began = began_seconds(self._run.session.attempt_dir)
        EARLIER.put_back_removed(began)
        fit_outputs.begin(self._run, continues=True)
        EARLIER.watch(self._saved.state["time_seconds"], self._run.doubt, began)
        if not self._begins:
            self._run.build_missing(self._saved)
        if not self._restarts_epoch:
            self._prepare_input()

    def _prepare_input(self) -> None:
        run, saved = self._run, self._saved
        # Before the training's iterator, which knows better where both are one dataset.
        validation = saved.state["fit"]["validation"]
        run.validation.restore(validation, saved.tensors, run.input.dataset)
        if run.validation.begins_by_reading and not saved.position.milestone:
            # What it draws and changes is set to the cut with all else.
            private_of(run.model).begin_validation(run.model, run.validation.data, run.arguments)
        run.look_for_streams()
        run.input.prepare(saved)

    @restoring
    def apply(self) -> Any:
        """Restores all inside of the `fit`; the training iterator.  `Refused` for another model."""
        iterator = (
            self._run.input.create_iterator()
            if self._restarts_epoch
            else self._run.input.restore(self._saved, self._tell_replayed)
        )
        self._restore_state()
        if not self._run.session.settings.find_nan_step:
            self._restore_files()
            self._go_on_appending()
        if self._restarts_epoch:
            self._run.restart_epoch()
        position, session, level = self.position, self._run.session, self._level()
        lost_steps = max(0, session.lost_from_step - position.step)
        reached = position.step, position.epoch, self._run.position.step_in_epoch
        seconds = round(time.monotonic() - self._started, 4)
        session.report(Restored(*reached, level.level, level.reason, seconds, lost_steps))
        return iterator

    def _tell_replayed(self, batches: int) -> None:
        session = self._run.session
        # Nothing was trained: the checkpoint stands.  A script that goes on needs its weights.
        if session.stop_requested() and not session.settings.stop_returns:
            session.snapshots.stop_with(None, "restoring", self.position)
        described = self._saved.state["fit"]["input"]
        total = described["drawn"] if described["replay"] else described.get("redrawn", 0)
        session.beacon.write_replay(self.position.step, batches, total)

    def _restore_files(self) -> None:
        self._cut_event_files()
        EARLIER.give_back(self._saved.rewritten)
        left = open_files.put_back(self._run.callbacks.callbacks, self._run.logs, self._files)
        for kept in (each for each in self._files if each not in left):
            EARLIER.put_back(kept.path)
            if kept.missing_bytes:
                message = (
                    f"The script overwrote {kept.path}: {kept.missing_bytes} bytes from before "
                    "the stop are lost."
                )
                remedy = "Open it in the callback's on_train_begin, or in append mode."
                self._run.session.report(Notice("log_file_lost", message, remedy))

    def _go_on_appending(self) -> None:
        for path, size_bytes in self._saved.appended.items():
            EARLIER.lengthen(path, size_bytes)
        self._run.doubt(APPENDED.go_on(self._saved.appended))

    def _cut_event_files(self) -> None:
        folders = tensorboard.absolute_folders(self._run.callbacks.callbacks)
        folders += SUMMARY_WRITERS.folders
        journal_file = self._run.session.attempt_dir.parents[1] / JOURNAL_FILE
        cuts = event_files.cut(self._old_events, self._events, folders, journal_file)
        self._run.event_files.adopt(cuts)

    def _restore_state(self) -> None:
        run = self._run
        self._restore_variables()
        fit_state.restore(run, self._saved)
        try:
            run.structure.restore(self._saved.state["fit"]["structure"])
        except ResumeRefused as refusal:
            self._refuse_or_force(refusal)
        fit = self._saved.state["fit"]
        run.traced.restore(fit["traced"], fit["draws"], fit.get("inputs", {}), run)
        self.settings.take()
        left_out.cut_rate(run, self.position.step)
        if self._left_out:
            names = self._saved.state["identity"].get("names", {})
            lost = doubt_of_memory(held_by_callers(), names, self._left_out)
            self._doubts += [lost] if lost else []
        # What is saved from here on is not what it would have been; or what was saved is not, or
        # does not come back so.
        level = self._saved.state["level"]
        is_lost = level["level"] == "not_exact" and not self.finished
        lost = missing(level["unverified"]) if self.finished and level["unverified"] else ""
        told = lost or level["reason" if is_lost else "deviation"]
        run.doubt(" ".join(self._doubts) or str(told))

    def _restore_variables(self) -> None:
        run = self._run
        global_seeds.make(private_of(run.model), self._saved)
        try:
            inputs, some = run.input.own_variables, bool(self._left_out)
            doubt = REGISTRY.restore_all(self._saved, run.path_of, *inputs, some=some)
        except ResumeRefused as refusal:
            if not self.settings.keep_variables:
                self._refuse_or_force(refusal)
            skipped = REGISTRY.restore_matching(self._saved, run.path_of)
            if skipped:
                message = f"{len(skipped)} variables were not restored: {', '.join(skipped)}."
                run.session.report(Notice("variables_not_restored", message))
        else:
            self._doubts += [doubt] if doubt else []

    def _refuse_or_force(self, refusal: ResumeRefused) -> None:
        if not self._run.session.settings.force:
            self._run.session.refuse(refusal)
        self._doubts.append(refusal.message)

    def _level(self) -> Exactness:
        # What was said while it was restored counts, as it does for what is saved from here on.
        if self._doubts:
            return not_exact(" ".join(self._doubts))
        if self._run.level.level == "not_exact":
            return self._run.level
        saved = self._saved.state["level"]
        return Exactness(saved["level"], saved["reason"])
