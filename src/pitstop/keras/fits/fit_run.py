"""One running `model.fit`: its position, its cuts, and its continuation."""

import time
from typing import Any

import tensorflow as tf

from pitstop import steps
from pitstop.engine.exactness import Exactness
from pitstop.engine.fence import fenced, observing
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.randomness import script_random
from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.engine.session import first_training
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_boundary import StepBoundary
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.snapshots import saved_state
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.engine.trainings.present_identity import names_on_stack
from pitstop.engine.values import reachable
from pitstop.engine.values.python_state import Encoder, decode
from pitstop.events import EpochEnded
from pitstop.keras import step_numbers
from pitstop.keras.callbacks import callback_nodes, open_files, stop_training
from pitstop.keras.fits import data_spec, fit_capture
from pitstop.keras.fits.fit_capture import FitPosition
from pitstop.keras.fits.fit_level import FitLevel
from pitstop.keras.fits.read_ahead import READ_AHEAD
from pitstop.keras.fits.recognition import FitBeginning
from pitstop.keras.inputs.fit_objects import FitObjects
from pitstop.keras.inputs.training_input import TrainingInput
from pitstop.keras.inputs.validation_input import ValidationInput
from pitstop.keras.models import missing_variables
from pitstop.keras.models.model_functions import ModelFunctions
from pitstop.keras.models.structure import Structure
from pitstop.keras.models.variable_paths import OtherVariables, VariablePaths
from pitstop.keras.packages import SEQUENCES, kinds, private_of
from pitstop.keras.step_numbers import FitVitals, StepNumbers
from pitstop.link.beacon import Phase
from pitstop.tensorflow.event_files import EventFiles
from pitstop.tensorflow.pipelines import buffers
from pitstop.tensorflow.randomness import RandomStreams, is_part_of_an_input
from pitstop.tensorflow.variables.variables import REGISTRY


class FitRun:
    def __init__(
        self,
        session: Session,
        versions: dict[str, str],
        model: Any,
        beginning: FitBeginning,
        step: int,
        arguments: dict[str, Any],
    ) -> None:
        self.session = session
        self.identity = beginning.identity  # what is trained; None where nobody could tell
        # the exception that it ended in, see `caught_exception`
        self.raised: dict[str, Any] | None = None
        self.model = model
        self._private = private_of(model)
        self.arguments = arguments  # those of the call, the model among them
        self.callbacks: Any = None
        self.validation = self._validation_input()
        self.position = FitPosition(beginning.index, step)  # where it stands
        self.numbers = StepNumbers()  # what the last training step returned
        # callbacks that do not act, by class; of a step that runs layer by layer only
        self.silenced: list[str] = []
        self.logs: list[Any] = []  # files that the script writes to
        # the cut at the end of the epoch's steps, kept until the next ones begin
        self.held: StateCapture | None = None
        self.stepping = False  # a training step runs, or is traced
        self.parts = FitLevel(session)  # how exact it is
        self.objects = FitObjects()  # those of the script that the training leads to
        self.structure = Structure(model)
        self.traced = ModelFunctions(model)
        self.doubt(beginning.course.doubt)
        self.epoch_iterator: Any = None
        self.held_iterator: Any = None  # the one that Keras 2 holds since the epoch began
        self.data: dict[str, Any] = {}
        self.input: TrainingInput
        self.event_files = EventFiles()
        self.streams = RandomStreams()
        self.versions = versions
        self.path_of = VariablePaths(model)
        self.others = OtherVariables(self.path_of)
        self.random_before: dict[str, Any] = {}
        self.began_with: dict[str, str] = {}  # of the first one, see `first_training`
        self._boundary = StepBoundary(session)
        self._vitals = FitVitals(session.vitals)

    def _validation_input(self) -> ValidationInput:
        """The data that `fit` validates with."""
        given = self.arguments
        data, steps = given.get("validation_data"), given.get("validation_steps")
        is_whole = isinstance(data, kinds(*SEQUENCES)) and steps == len(data)
        is_partly_read = bool(steps) and not is_whole
        return ValidationInput(
            data,
            given.get("epochs", 1) - given.get("initial_epoch", 0),
            is_shared=is_partly_read or bool(self._read_by_callbacks()),
            is_partly_read=is_partly_read,
            skips_bad_records=self.session.settings.skips_bad_records,
        )

    def begin(self) -> None:
        self.look_for_streams()
        self.random_before = self.streams.capture()
        if self.position.fit == 0 and self.identity is not None:
            streams = self.random_before | REGISTRY.seeds()
            streams |= streams.pop("objects")
            self.began_with = first_training.digests(self.identity, streams)
        self.objects.begin(self.arguments, self.listed_callbacks())
        with fenced(spoils=True):
            self.logs = open_files.held_by_script(self.listed_callbacks())

    @observing(spoils=True)
    def look_for_streams(self) -> None:
        named = {name: value for name, value in self.arguments.items() if name != "callbacks"}
        roots = callback_nodes.numbered(self.listed_callbacks())
        self.streams.look({**named, **roots, **names_on_stack()})

    def listed_callbacks(self) -> list[Any]:
        given = self.callbacks.callbacks if self.callbacks else self.arguments.get("callbacks")
        return list(given) if isinstance(given, list | tuple) else []

    def use_callbacks(self, callbacks: Any) -> None:
        self.callbacks = callbacks
        self.structure.begin()
        with fenced(spoils=True):
            data = self.arguments.get("x"), self.validation.data
            self.traced.begin([*self.listed_callbacks(), *data])

    def use_input(self, epoch_iterator: Any) -> None:
        self.input = TrainingInput(
            epoch_iterator,
            self.streams,
            self.objects,
            self.session.settings,
            data=self.arguments.get("x"),
            readers=self._read_by_callbacks(),
            read_in_parts=[self.validation.data] if self.arguments.get("validation_steps") else [],
            training=self.position.fit if self.session.kernel else None,
        )
        reseeded = self.identity is not None and self.identity.reseeded
        if ahead := READ_AHEAD.doubt(self.arguments.get("x"), reseeded=reseeded):
            self.parts.doubt(ahead)
        self.parts.shared = script_random.level_of_shared(
            self.arguments.get("x"), self.listed_callbacks(), is_part_of_an_input
        )
        self.data = data_spec.describe(
            epoch_iterator.data_adapter,
            self.input.dataset,
            epoch_iterator.steps_per_epoch,
            self.arguments.get("validation_data"),
        )
        # Nothing here may refer to this object: it and the iterator end with `fit`, as without us.
        # An iterator that lives until the interpreter's exit waits for the script's generator.
        self._boundary.on_cost = self.input.reconsider
        # The last: without an input of ours, Keras reads its own.
        self.epoch_iterator = epoch_iterator

    def _read_by_callbacks(self) -> list[tf.data.Dataset]:
        return [
            dataset
            for each in self.listed_callbacks()
            for dataset in reachable.find_used(each, (tf.data.Dataset,), is_part_of_an_input)
        ]

    @property
    def level(self) -> Exactness:
        return self.parts.with_parts([self.input.level, self.validation.level])

    def hidden_random_op(self, op_type: str, where: str) -> None:
        if self.stepping:
            self.traced.places[op_type] = where

    def note_level(self, unverified: list[str]) -> None:
        self.parts.unverified = unverified
        self.parts.report(self.session, self.level)

    def doubt(self, reason: str) -> None:
        self.parts.deviate(reason)

    @observing()
    def tell_level(self) -> None:
        if self.position.steps_this_attempt:
            self.parts.report(self.session, self.level)

    # -- what Keras tells while it runs ------------------------------------------

    def epoch_begins(self, epoch: int, logs: Any = None) -> None:
        self.position.epoch, self.position.step_in_epoch = epoch, 0
        if self.session.trainings.newest is None:
            began = began_seconds(self.session.attempt_dir)
            self.doubt(EARLIER.read_back(self.session.attempt_dir, began).own_resume)

    def step_returned(self, batch: int, logs: Any = None) -> None:
        self.position.has_returned = True
        self.numbers.returned(self, logs or {})

    def epoch_ends(self, epoch: int, logs: Any = None) -> None:
        self.steps_finished()
        self.hold()
        numbers, at = step_numbers.numbers(logs or {}), self.position
        with fenced():
            # Not Keras' own guess at the end of an input of unknown length: it is one too many.
            source = self.epoch_iterator
            expected = source.steps_per_epoch or source.data_adapter.num_batches
            self.session.report(EpochEnded(at.fit, epoch, at.step_in_epoch, expected, numbers))
            self.session.snapshots.epoch_ended(self.held, numbers)

    def test_begins(self, logs: Any = None) -> None:
        self.validation.begin()
        self.steps_finished()
        self.hold()
        self.session.beacon.write_phase(Phase.VALIDATION)

    def test_ends(self, logs: Any = None) -> None:
        self.validation.ended(*self._private.validation_iterators(self.model))
        self.session.beacon.write_phase(Phase.TRAIN)

    # -- the training steps ----------------------------------------------------

    @observing(spoils=True)
    def begin_steps(self) -> None:
        self.held, self.stepping = None, True
        at = self.position
        at.has_returned = False
        self.session.beacon.write_phase(Phase.TRAIN if at.steps_this_attempt else Phase.FIRST_STEP)
        OUTSIDE.begin_steps()
        self._boundary.start()
        self._reach_boundary(self._boundary.passed_ns)

    def step_done(self) -> None:
        now_ns = time.monotonic_ns()
        self._note_step(now_ns)
        self._reach_boundary(now_ns)

    @observing(spoils=True)
    def _note_step(self, now_ns: int) -> None:
        if self.position.steps_this_attempt == 0:
            self.session.beacon.write_phase(Phase.TRAIN)
        else:
            self._boundary.measure(now_ns)
        self._count_steps()
        self._vitals.step_done(self, now_ns - self._boundary.passed_ns, now_ns)

    def _count_steps(self) -> None:
        # A call may run several steps, the last one of an epoch fewer of them.
        iterator, at, numbers = self.epoch_iterator, self.position, self.numbers
        count = iterator.steps_per_execution
        if count > 1 and iterator.num_batches:
            count = max(1, min(count, iterator.num_batches - at.step_in_epoch))
        at.count(count)
        self.input.state.drawn += count
        place = (at.step, at.fit, at.epoch)
        record = steps.StepRecord(*place, numbers.loss, time.time(), numbers.digest)
        self.session.steps.record(record)

    @observing(spoils=True)
    def steps_finished(self) -> None:
        self.stepping = False
        if self.position.has_returned:
            # `stop_training` broke the loop, so `step_done` was not reached.
            self._count_steps()
            self._publish(time.monotonic_ns())

    def hold(self) -> None:
        """Holds a cut for a stop or an exception before the next steps: metrics are reset by then.

        Left out where holding one each time would not stay within the budget, but not at the last
        of a training whose end is saved.
        """
        started_ns = time.monotonic_ns()
        is_last = self.position.epoch + 1 >= int(self.callbacks.params.get("epochs") or 0)
        snapshots = self.session.snapshots
        allowed = snapshots.bests.active or snapshots.holds.covers(started_ns)
        if self.held is None and ((is_last and snapshots.keeps_end) or allowed):
            self.held = self.take("epoch_end")
            snapshots.holds.spend(started_ns, time.monotonic_ns())

    @observing(spoils=True)
    def _reach_boundary(self, now_ns: int) -> None:
        self._look()
        self._publish(now_ns)
        self._boundary.obey(self.position.step, self.take)

    def _look(self) -> None:
        self.structure.look()
        if other := self.traced.look():
            self.doubt(other)
            self.parts.report(self.session, self.level)
        if self.traced.draws:
            self.parts.doubt(f"{self.traced.draws}; {self._private.WITH_RANDOM_STREAMS}")
        if self.traced.compiled:
            self.parts.doubt(self.traced.compiled)

    def _publish(self, now_ns: int) -> None:
        at = self.position
        self._boundary.reach(at.step, at.epoch, at.step_in_epoch, self.numbers.loss, now_ns)

    def state_of_script(self) -> dict[str, Any]:
        """The objects and callbacks that differ from the start of the `fit`, by name."""
        callbacks, encoder = self.callbacks.callbacks, Encoder("")
        is_ahead = self.input.state.by_replay
        described, objects = self.objects.capture(encoder, callbacks, read_ahead=is_ahead)
        found: dict[str, Any] = objects["cut"]
        return found | {f"callback {number}": each for number, each in enumerate(described, 1)}

    # -- cuts --------------------------------------------------------------------

    def take(self, stage: str = "steps", milestone: str = "") -> StateCapture | None:
        """A consistent cut, here and now; None where it failed, or one is newer."""
        if self.session.snapshots.milestones.repeats(time.monotonic_ns()):
            return None
        try:
            if milestone:
                # No boundary follows a training step that the last callbacks have made anew.
                self._look()
            return self._cut(stage, milestone)
        except Exception as error:  # noqa: BLE001
            self.session.snapshots.give_up(error)
            return None

    @property
    def buffers(self) -> tuple[list[str], int]:
        """Those that could be smaller; the bytes of the largest shuffle."""
        held = [*self.input.large_buffers, *self.validation.large_buffers]
        return held, buffers.shuffle_bytes(self.input.dataset)

    def outcome(self) -> StateCapture | None:
        cut = self.take(milestone="fit_end")
        return None if cut is None else saved_state.beside(cut, self.held)

    def _cut(self, stage: str, milestone: str) -> StateCapture | None:
        self._private.flush_callbacks(self.callbacks)
        return fit_capture.capture(self, stage, milestone)

    @observing(spoils=True)
    def note_read_ahead(self) -> None:
        if self.epoch_iterator is not None:
            is_partly_read = self.arguments.get("steps_per_epoch") is not None
            created = self.input.state.random
            READ_AHEAD.note(self.arguments.get("x"), created, is_partly_read=is_partly_read)

    # -- continuing ----------------------------------------------------------------

    def build_missing(self, saved: SavedState) -> None:
        missing_variables.build(self, saved)

    def restore_position(self, saved: SavedState) -> None:
        fit, at, place = saved.state["fit"], self.position, saved.position
        at.step, at.epoch, at.step_in_epoch = place.step, place.epoch, place.step_in_epoch
        self.numbers.restore(decode(fit["logs"], saved.tensors))
        self.epoch_iterator._steps_seen = fit["steps_seen"]
        self.epoch_iterator._num_batches = fit["num_batches"]
        stop_training.set_silently(self.model, value=fit["stop_training"])
        self._publish(time.monotonic_ns())

    def restart_epoch(self) -> None:
        self.position.step_in_epoch = 0
        self.input.restart_epoch()
