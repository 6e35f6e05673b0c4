"""Short trainings of which nothing is saved, such as those of a script that trains for each batch.

To find out what a training is, and what a cut of it would hold, takes half as long as a training
of one batch. A script that is begun again makes such trainings again in any case, as
`cadence.Milestones` leaves out their ends. So only now and then one of them is watched as others
are: what it is saved with tells how far the run has come.
"""

import time
import weakref
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from pitstop.engine.exactness import EXACT
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.cadence import Allowance
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.engine.trainings.present_identity import place_of_present_call
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.packages import KERAS_3, package_of

_LONGEST_NS = 500_000_000
_SHARE = 0.5  # of the budget, for those that are watched as others are
_DATA = ("x", "y", "sample_weight")
_UNREAD = ("model", "verbose", *_DATA)
_MOST_ARRAYS = 16
_MOST_KNOWN = 64
_PLAIN = (bool, int, float, str, type(None))
_ARRAYS = (np.ndarray, tf.Tensor)

Place = tuple[str, ...]  # the calls that a `fit` comes from, see `Identity.frames`


class Known(NamedTuple):
    """A short training that was watched as others are."""

    place: Place
    model: weakref.ref[Any]
    function: Any  # a weak reference to its training step
    settings: Mapping[str, Any]
    elements: int  # of its data
    data: dict[str, Any]  # as told of it


class _UnsavedInput:
    """In the place of a `TrainingInput`: arrays, of which no position is saved."""

    iterator = dataset = None
    level = EXACT
    large_buffers: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.state = SimpleNamespace(drawn=0, random={})

    def settle(self) -> None:
        pass


class ShortFit(FitRun):
    """Is counted and measured; a stop waits for the next training that is watched as others are."""

    _deviation = ""  # as known at its begin

    def begin(self) -> None:
        self._deviation = self.parts.deviation

    def use_callbacks(self, callbacks: Any) -> None:
        self.callbacks = callbacks

    def use_input(self, epoch_iterator: Any) -> None:
        unsaved: Any = _UnsavedInput()
        self.epoch_iterator, self.input = epoch_iterator, unsaved

    def tell_level(self) -> None:
        if self.parts.deviation != self._deviation:
            super().tell_level()

    def hold(self) -> None:
        pass

    def take(self, stage: str = "steps", milestone: str = "") -> StateCapture | None:
        return None

    def _reach_boundary(self, now_ns: int) -> None:
        self._publish(now_ns)


class ShortFits:
    """Knows which trainings were short, by the place in the script that they come from."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[tuple[Place, int], Known] = {}
        self._watched: Allowance | None = None
        self._began_ns = 0
        self._left_out = 0

    def begins(self, model: Any, arguments: Mapping[str, Any]) -> Known | None:
        """A training begins: what is known of one that need not be saved; None where it is."""
        self._began_ns = time.monotonic_ns()
        if not self._known or not self._may_be_left_out():
            return None
        found, step = self._known.get((place_of_present_call(), id(model))), model.train_function
        if found is None or found.model() is not model:
            return None
        is_same = (
            found.function() is step
            and found.settings == _settings_of(arguments)
            and 0 < _elements_of(arguments) <= found.elements
        )
        return found if is_same else None

    def _may_be_left_out(self) -> bool:
        session, now_ns = self._session, self._began_ns
        if self._watched is None:
            share = session.settings.overhead * _SHARE
            self._watched = Allowance(share, now_ns, 0)
        is_asked = session.snapshots.due(0, now_ns, waits=True)
        return not (session.trainings.awaits or is_asked) and not self._watched.covers(now_ns)

    def has_begun(self, run: FitRun, known: Known | None) -> None:
        if known is not None:
            run.data = known.data
        elif self._watched is not None:
            self._watched.spend(self._began_ns, time.monotonic_ns())
        self._left_out = self._session.snapshots.milestones.left_out

    def ended(self, run: FitRun) -> None:
        """A training has come to its end; the next one may be like it."""
        took_ns = time.monotonic_ns() - self._began_ns
        is_left_out = self._session.snapshots.milestones.left_out > self._left_out
        if isinstance(run, ShortFit) or run.identity is None:
            return
        place, settings = run.identity.frames, _settings_of(run.arguments)
        self._known.pop((place, id(run.model)), None)
        is_short = is_left_out and took_ns <= _LONGEST_NS and len(self._known) < _MOST_KNOWN
        if is_short and settings is not None and self._is_plain(run):
            held = weakref.ref(run.model), weakref.ref(run.model.train_function)
            elements = _elements_of(run.arguments)
            self._known[place, id(run.model)] = Known(place, *held, settings, elements, run.data)

    def _is_plain(self, run: FitRun) -> bool:
        session = self._session
        is_alone = not (session.kernel or session.snapshots.lockstep.agreed)
        is_keras_3 = package_of(run.model) == KERAS_3
        return type(run) is FitRun and is_alone and is_keras_3 and session.settings.saves_by_budget


def _settings_of(arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments beside the data; None where one of them reads, or does, more."""
    settings = {name: each for name, each in arguments.items() if name not in _UNREAD}
    if not settings.get("callbacks"):
        settings.pop("callbacks", None)
    if settings.get("steps_per_epoch") or settings.get("validation_split"):
        return None
    return settings if all(type(each) in _PLAIN for each in settings.values()) else None


def _elements_of(arguments: Mapping[str, Any]) -> int:
    """How many numbers the data has; 0 where not all of it is in arrays."""
    found = 0
    for name in _DATA:
        value = arguments.get(name)
        parts = list(value.values()) if isinstance(value, dict) else value
        parts = parts if isinstance(parts, list | tuple) else [] if parts is None else [parts]
        if len(parts) > _MOST_ARRAYS or not all(isinstance(each, _ARRAYS) for each in parts):
            return 0
        found += sum(int(np.prod(each.shape)) for each in parts)
    return found
