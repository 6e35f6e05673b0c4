"""Watches the script for a loop, and leads its calls to the record or to the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from pitstop.engine.fence import FENCE, observing
from pitstop.engine.restore_point import RestorePoint
from pitstop.engine.session import Session
from pitstop.engine.witness import place_on_stack
from pitstop.errors import PeerFault
from pitstop.events import LevelKnown
from pitstop.link.beacon import Phase
from pitstop.replay import signature, values
from pitstop.replay.callee import Call, Callee
from pitstop.replay.live_loop import LiveLoop
from pitstop.replay.record import Entry, Kind
from pitstop.replay.repetition import LoopDiverged, Repetition
from pitstop.replay.values import NotRecordable
from pitstop.tensorflow import private, randomness
from pitstop.tensorflow.variables import VariableRegistry

_KERAS_2 = "; it is the fit of Keras 2 (tf_keras): train with Keras 3, or in a loop of your own"
_EAGER_LOOP = (
    "gradients are applied outside of any tf.function, so that no step can be told from the "
    "next; put the step into a tf.function, or use pitstop.start and run.steps, two lines"
)
_NO_SEED = (
    "the script sets no seed, so that it draws other input when it is repeated; "
    "call keras.utils.set_random_seed first"
)
_FIT = "fit"
_NOTHING = ("none",)


class Recorder:
    """One process and its loop, if it has one.

    Nothing is recorded before the first call that trains: whatever comes
    earlier is simply done again on a resume.
    """

    def __init__(
        self,
        open_session: Callable[[], Session | None],
        registry: VariableRegistry,
    ) -> None:
        """Watches nothing by itself, see `install`.

        Args:
            open_session: the session of this process; None when it has none to
                give, because another process trains or the script has a loop of
                `pitstop.start`.
            registry: the variables of this process.
        """
        self._open_session = open_session
        self._registry = registry
        self._thread = threading.get_ident()
        self._inside = False
        self._callee: Callee | None = None
        self._off = False
        self._loop: LiveLoop | None = None
        self._repetition: Repetition | None = None
        self._signatures = signature.Signatures()
        self._training: WeakKeyDictionary[Any, dict[str, tuple[int, bool]]] = WeakKeyDictionary()
        self._seen: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
        self._doubtful: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._unrepeatable: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._eager_session: Session | None = None

    @property
    def loop(self) -> LiveLoop | None:
        """The loop that runs, None before its first step."""
        return self._loop

    def switch_off(self) -> None:
        """Everything is left alone from now on, as in a forked data worker."""
        self._off = True

    # -- what the script does ------------------------------------------------------

    def listens(self) -> bool:
        """Whether a call that is made now is the script's own."""
        return (
            not (self._inside or self._off)
            and threading.get_ident() == self._thread
            and bool(tf.executing_eagerly())
        )

    def call(self, call: Call) -> Any:
        """Runs a call of the script, or answers it."""
        with self._within():
            if self._repetition is not None:
                return self._answer(self._repetition, call)
            if self._loop is not None:
                self._loop.obey_stop()
            result, traced = self._run(call)
            self._observe(call, result, traced=traced)
            if self._repetition is not None:
                return self._reply(self._repetition, self._next_call(self._repetition, call))
            return result

    @observing(spoils=True)
    def _observe(self, call: Call, result: Any, *, traced: bool) -> None:
        """A call was computed: the loop may begin with it, and is recorded."""
        if self._loop is None and not (self._trains(call.callee) and self._begin()):
            return
        if self._loop is not None and self._repetition is None:
            self._note_call(self._loop, call, result, traced=traced)

    def aside(self, run: Callable[[], Any]) -> Any:
        """Runs what is watched otherwise: a `fit`, before which a loop ends."""
        with self._within():
            self._end_loop()
            return run()

    def reads(self, variable: Any) -> None:
        """The script is about to read a variable outside of any recorded call."""
        if self._loop is None or not self.listens() or not private.is_eager_variable(variable):
            return
        with self._within():
            name = f"{variable.name} {variable.dtype.name}{variable.shape}"
            if self._repetition is not None:
                entry = self._repetition.next(Kind.READ, name)
                variable.assign(values.build(entry.form, entry.data))
                self._answered(self._repetition)
            elif self._loop.keeps:
                self._note_read(self._loop, name, variable)

    def applies_gradients(self) -> None:
        """A Keras optimizer is applied, by the script itself.

        Raises:
            TrainingStopped: the run was asked to stop.
        """
        if not self.listens():
            return
        with self._within():
            if self._loop is not None:
                self._loop.give_up(_EAGER_LOOP)
            elif self._eager_session is None:
                self._eager_session = self._open_session()
                if self._eager_session is None:
                    self.switch_off()
                else:
                    self._eager_session.report(LevelKnown("not_exact", _EAGER_LOOP))
            if self._eager_session is not None and self._eager_session.stop_requested():
                self._eager_session.stop_with(None, "train")

    def traced_random_op(self, op_type: str) -> None:
        """An op with a hidden counter is traced."""
        callee = self._traced_callee()
        if callee is not None:
            self._doubtful.setdefault(
                callee.owner,
                f"{callee.name} draws from a hidden random stream ({op_type} at "
                f"{place_on_stack()}); use a Keras layer, keras.random with a SeedGenerator, or "
                "tf.random.Generator",
            )

    def traced_input_op(self, op_type: str) -> None:
        """An op that draws input is traced."""
        callee = self._traced_callee()
        if callee is not None and not callee.feeds_itself:
            why = _KERAS_2 if private.is_of_keras_2(callee.owner) else ""
            self._unrepeatable.setdefault(
                callee.owner, f"{callee.name} draws its input by itself ({op_type}){why}"
            )

    def _traced_callee(self) -> Callee | None:
        return self._callee if threading.get_ident() == self._thread else None

    @contextmanager
    def _within(self) -> Iterator[None]:
        self._inside = True
        try:
            yield
        finally:
            self._inside = False

    # -- the record ------------------------------------------------------------------

    def _run(self, call: Call) -> tuple[Any, bool]:
        """What the call returns, and whether something was traced in it."""
        callee = self._callee = call.callee
        before = self._so_far(callee)
        try:
            result = call.run()
        except Exception as error:
            if self._loop is not None:
                self._loop.give_up(f"{callee.name} raised {type(error).__name__}")
            raise
        finally:
            self._callee = None
        return result, before != self._so_far(callee)

    def _so_far(self, callee: Callee) -> tuple[int, int]:
        """Traces and variables that there are: other numbers tell of a trace."""
        try:
            self._seen.setdefault(callee.owner, set()).add(callee.name)
            return callee.traces(), self._registry.created
        except Exception as error:  # noqa: BLE001 - ours: the call itself is not in here
            FENCE.note("the look at a call", error, spoils=True)
            return 0, 0

    def _trains(self, callee: Callee) -> bool:
        # Looking at graphs is dear; they are other ones only after a trace.
        traces = callee.traces()
        known = self._training.setdefault(callee.owner, {}).get(callee.name)
        if known is None or known[0] != traces:
            known = self._training[callee.owner][callee.name] = (traces, callee.trains())
        return known[1]

    def _note_call(self, loop: LiveLoop, call: Call, result: Any, *, traced: bool) -> None:
        callee, data = call.callee, memoryview(b"")
        if loop.keeps:
            data = self._note_result(loop, call, result, traced=traced)
        if self._doubtful or self._unrepeatable:
            self._judge(loop, callee.owner)
        if self._trains(callee):
            loop.step_done(values.first_number(result), data)
        loop.boundary()

    def _note_result(self, loop: LiveLoop, call: Call, result: Any, *, traced: bool) -> memoryview:
        name = call.callee.name
        with _guarded(loop, f"{name} returns"):
            form, data = values.flatten(result)
            name, given = self._describe(call)
            view = memoryview(data)
            loop.note(Entry(Kind.CALL, name, form, view, traced, given))
            return view
        return memoryview(b"")

    def _note_read(self, loop: LiveLoop, name: str, variable: Any) -> None:
        with _guarded(loop, f"variable {name} holds"):
            form, data = values.flatten(private.hold_value(variable))
            loop.note(Entry(Kind.READ, name, form, memoryview(data)))

    def _judge(self, loop: LiveLoop, owner: Any) -> None:
        if owner in self._unrepeatable:
            loop.give_up(self._unrepeatable[owner])
        elif owner in self._doubtful:
            loop.doubt(self._doubtful[owner])

    def _describe(self, call: Call) -> tuple[str, int]:
        name = self._signatures.describe(call.callee.name, call.args, call.kwargs)
        return name, signature.checksum(call.args, call.kwargs)

    # -- the answers -----------------------------------------------------------------

    def _answer(self, repetition: Repetition, call: Call) -> Any:
        entry = self._next_call(repetition, call)
        unseen = call.callee.name not in self._seen.get(call.callee.owner, ())
        if entry.traced or unseen or call.advances_input():
            # For the variables, graphs and draws of it; the result is known.
            self._run(call)
        return self._reply(repetition, entry)

    def _next_call(self, repetition: Repetition, call: Call) -> Entry:
        name, given = self._describe(call)
        return repetition.next(Kind.CALL, name, given)

    def _reply(self, repetition: Repetition, entry: Entry) -> Any:
        value = values.build(entry.form, entry.data)
        self._answered(repetition)
        return value

    def _answered(self, repetition: Repetition) -> None:
        repetition.answered()
        if repetition.over:
            self._repetition = None

    # -- a loop begins and ends --------------------------------------------------------

    def _begin(self) -> bool:
        """The first step of a loop has run; whether the loop is watched."""
        session = self._open_session()
        if session is None:
            self.switch_off()
            return False
        index = session.next_index()
        point = session.point_for(index)
        if point is not None:
            session.beacon.write_phase(Phase.RESTORING)
        step = session.beacon.progress().step
        loop = self._loop = LiveLoop(session, self._registry, index, step)
        if point is not None:
            self._repeat(loop, point)
            return True
        if private.eager_seed()[0] is None:
            loop.doubt(_NO_SEED)
            randomness.seed_if_unseeded()
        loop.start()
        return True

    def _repeat(self, loop: LiveLoop, point: RestorePoint) -> None:
        try:
            saved = loop.session.fetch(point)
        except PeerFault:
            raise LoopDiverged from None
        self._repetition = Repetition(loop, self._registry, saved)
        self._repetition.begin()

    @observing(spoils=True)
    def _end_loop(self) -> None:
        loop, repetition = self._loop, self._repetition
        if repetition is not None:
            repetition.next(Kind.END, _FIT)
            self._answered(repetition)
        elif loop is not None:
            loop.note(Entry(Kind.END, _FIT, _NOTHING, memoryview(b"")))
            loop.finish()
        self._loop = None


@contextmanager
def _guarded(loop: LiveLoop, what: str) -> Iterator[None]:
    """Records nothing more when a value cannot be recorded.

    Only code of ours runs in here: whatever goes wrong, the user's training
    must not end because of it.
    """
    try:
        yield
    except NotRecordable as refusal:
        loop.give_up(f"{what} {refusal}")
    except Exception as error:  # noqa: BLE001
        loop.give_up(f"Pitstop failed to record it ({error!r}), please report this as a bug")
