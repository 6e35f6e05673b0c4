"""Which saved training a `fit` is, and how it goes on."""

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import tensorflow as tf

from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.session import first_training
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots import variable_match
from pitstop.engine.snapshots.variable_match import PresentVariable
from pitstop.engine.trainings.course import (
    DOES_NOT_GO_ON,
    HELD_BEFORE,
    NO_EVIDENCE,
    ONE_OF_OTHERS,
    Course,
    decide,
    doubt_of_left_out,
    doubt_of_memory,
    told,
    trained_as,
)
from pitstop.engine.trainings.identity import Identity, RestorePoint
from pitstop.engine.trainings.matching import TrainingMatch, TrainingVerdict
from pitstop.engine.trainings.present_identity import identity_of_present_call
from pitstop.engine.trainings.trainings import Trainings
from pitstop.errors import PeerFault, ResumeRefused
from pitstop.events import Notice
from pitstop.keras.common_private import built_variables
from pitstop.keras.fits import fit_identity
from pitstop.record import Frozen
from pitstop.tensorflow import randomness
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.shuffle_readings import SHUFFLE_READINGS
from pitstop.tensorflow.variables.naming import path_of, value_of
from pitstop.tensorflow.variables.variables import saved_variables

_READERS: weakref.WeakKeyDictionary[tf.data.Dataset, list[str]] = weakref.WeakKeyDictionary()
"""By dataset, the trainings that have read it: each draws the next seeds of its shuffles."""


def note_reader(arguments: Mapping[str, Any], training: int) -> None:
    """A training begins to read; one that goes on in the same process is the same reader."""
    data, reader = arguments.get("x"), f"{training} for {arguments.get('epochs', 1)} epochs"
    if isinstance(data, tf.data.Dataset) and reader not in _READERS.setdefault(data, []):
        _READERS[data].append(reader)


def readers_of(data: Any) -> tuple[str, ...]:
    """Those that have begun so far; none where the order and the values are always the same."""
    is_dataset = isinstance(data, tf.data.Dataset)
    readers = _READERS.get(data, []) if is_dataset else []
    return tuple(readers) if readers and pipeline.draws(data) else ()


class Cells(Protocol):
    """The cells of a notebook, as far as they make a training what it is."""

    def among(
        self, model: Any, arguments: Mapping[str, Any], identity: Identity, trainings: Trainings
    ) -> Identity:
        """The identity of a `fit` in the cell that runs; of a stopped one as it began."""

    def begins(
        self, model: Any, arguments: Mapping[str, Any], number: int, identity: Identity
    ) -> None: ...


_ANEW = Course(goes_on=False)


class FitBeginning(Frozen):
    index: int  # its number in the run
    identity: Identity | None = None  # what it is; None where that could not be found out
    # the state that it goes on from, None to train from its beginning
    point: RestorePoint | None = None
    course: Course = _ANEW  # why, and with which settings
    repeats: bool = False  # see `Session.start_steps`
    # finished trainings before it that the script has not come to
    left_out: tuple[Identity, ...] = ()
    step: int = 0  # of the run, at which an earlier attempt had begun it


class Recognition:
    """`deviation`: why a training was not what it would have been; empty while all were."""

    def __init__(self, session: Session, cells: Cells | None = None) -> None:
        self.deviation = ""
        self._cells = cells
        self._session = session
        self._stream: object = None
        self._later = ""  # why the trainings after this one deviate

    def begin(self, model: Any, arguments: Mapping[str, Any]) -> FitBeginning:
        """A `fit` begins, random streams as it finds them; raises `Refused` where it must not."""
        beginning = self._begin(model, arguments)
        if self._cells is not None and beginning.identity is not None:
            self._cells.begins(model, arguments, beginning.index, beginning.identity)
        if not beginning.repeats:
            note_reader(arguments, beginning.index)
        return beginning

    def begin_short(self, place: tuple[str, ...]) -> FitBeginning:
        """One begins of which nothing is saved; nor is one waiting that it could be."""
        self._session.trainings.count(place)
        return FitBeginning(self._session.trainings.begin_another())

    def _begin(self, model: Any, arguments: Mapping[str, Any]) -> FitBeginning:
        trainings, settings = self._session.trainings, self._session.settings
        try:
            identity = self._identify(model, arguments)
            found = trainings.match(identity)
            course = decide(
                found,
                identity,
                take=settings.take,
                force=settings.force,
                files_edited=bool(settings.edits),
            )
        except Exception as error:  # noqa: BLE001
            # Only code of ours runs in there, and it looks at objects of the script.
            words = f"Could not identify this training ({error!r}): it starts from "
            remedy = "Please report this as a bug of Pitstop."
            self._session.report(Notice("training_unknown", f"{words}its beginning.", remedy))
            return FitBeginning(trainings.begin_another())
        numbered = trainings.of_this_number()
        if numbered is not None:
            return FitBeginning(trainings.next_index(), identity, numbered)
        return self._follow(model, identity, found, course)

    def _follow(
        self, model: Any, identity: Identity, found: TrainingMatch, course: Course
    ) -> FitBeginning:
        trainings = self._session.trainings
        if course.refusal is not None:
            self._session.refuse(self._with_variables(course.refusal, found, model))
        repeats = not course.goes_on and trainings.repeats(identity)
        if not (course.goes_on or course.doubt or repeats) and trainings.misses_newest:
            self._refuse_member(found)
        if course.told and not repeats:
            self._session.report(Notice("training_compared", course.told))
        if course.goes_on and found.training is not None:
            point = found.training
            # The user of a notebook decides what is trained, and when.
            if course.held and not self._cells:
                self._later = HELD_BEFORE.format(told(course.held))
            left_out = () if self._cells else tuple(trainings.left_out(identity, point))
            trainings.claim(point)
            if left_out:
                APPENDED.skips = True
            if left_out and point.begins:
                return self._begin_again(identity, found, left_out)
            if not (course.doubt or left_out):
                both = point.identity, identity
                course = replace(course, doubt=first_training.not_made_again(self._session, *both))
            trained = trained_as(identity, point.identity, course.held)
            return FitBeginning(point.fit, trained, point, course, left_out=left_out)
        if not course.doubt and not repeats:
            course = Course(goes_on=False, doubt=self._doubt_of_new(identity))
        return FitBeginning(trainings.begin_another(), identity, None, course, repeats)

    def _refuse_member(self, found: TrainingMatch) -> None:
        """Members that train together would train on from different states."""
        session = self._session
        if session.snapshots.lockstep.agreed and not session.settings.force:
            what = told(found.differences) or NO_EVIDENCE
            message = ONE_OF_OTHERS.format("training", what)
            session.refuse(ResumeRefused(message, "Undo the change, or start over with --new."))

    def _begin_again(
        self, identity: Identity, found: TrainingMatch, left_out: Sequence[Identity]
    ) -> FitBeginning:
        """Of what is known again nothing can be restored: variables of others are not there."""
        point = found.training or RestorePoint("", 0, 0, "")
        doubt = doubt_of_memory(identity.names, point.identity.names, left_out)
        if found.verdict is not TrainingVerdict.SAME or identity.random != point.identity.random:
            doubt = doubt_of_left_out(identity, left_out)
        return FitBeginning(point.fit, identity, None, Course(False, doubt=doubt), step=point.step)

    def _doubt_of_new(self, identity: Identity) -> str:
        trainings = self._session.trainings
        if self._cells is not None:
            # Its user decides what is trained, and when.
            return ""
        if trainings.has_interrupted(identity):
            return DOES_NOT_GO_ON
        if left_out := trainings.left_out(identity):
            APPENDED.skips = True
        return doubt_of_left_out(identity, left_out)

    def _with_variables(
        self, refusal: ResumeRefused, found: TrainingMatch, model: Any
    ) -> ResumeRefused:
        if found.verdict is not TrainingVerdict.EDITED or found.training is None:
            return refusal
        try:
            saved = self._session.fetch(found.training)
        except PeerFault:
            return refusal
        changed = variable_match.reshaped(saved_variables(saved), _present_variables(model))
        more = f" Variables: {'; '.join(changed)}." if changed else ""
        return ResumeRefused(refusal.message + more, refusal.remedy)

    def _identify(self, model: Any, arguments: Mapping[str, Any]) -> Identity:
        place = identity_of_present_call(randomness.script_seed())
        trainings = self._session.trainings
        ordinal, visit = trainings.count(place.frames)
        reached, variables = fit_identity.reached_by(model, arguments)
        identity = replace(
            place,
            program=place.program + self._session.settings.edits,
            ordinal=ordinal,
            visit=visit,
            left_out=self._session.snapshots.milestones.left_out,
            reseeded=self._stream is not None and self._stream is not randomness.stream(),
            random=fit_identity.random_of(model),
            entropy=fit_identity.entropy_of_streams(),
            architecture=fit_identity.architecture_of(model),
            settings=fit_identity.settings_of(model, arguments),
            data=fit_identity.data_of(arguments),
            digested=fit_identity.is_digested(arguments),
            readers=readers_of(arguments.get("x")),
            shuffles=SHUFFLE_READINGS.so_far(),
            reached=reached,
            variables=variables,
        )
        if self._cells is None:
            return identity
        return self._cells.among(model, arguments, identity, trainings)

    def deviate(self, reason: str) -> None:
        """What follows is not what it would have been; the first reason is kept."""
        self.deviation = self.deviation or reason

    def ended(self, deviation: str) -> None:
        """A `fit` has ended; whether the script seeds again is seen from here on."""
        self.deviate(deviation or self._later)
        self._stream = randomness.stream()


def _present_variables(model: Any) -> list[PresentVariable]:
    built = ((path_of(each), value_of(each)) for each in built_variables(model))
    return [
        PresentVariable(index, path, value.dtype.name, tuple(value.shape), path)
        for index, (path, value) in enumerate(built)
    ]
