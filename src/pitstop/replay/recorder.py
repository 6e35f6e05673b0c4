"""Watches the script for a loop, and leads its calls to the record or to the answers."""

import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import FENCE, fenced, observing
from pitstop.engine.files.earlier_files import EARLIER, ReadBack
from pitstop.engine.leaving import Refused, ending_threads
from pitstop.engine.randomness import entropy
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.trainings.identity import Identity, RestorePoint
from pitstop.engine.trainings.present_identity import identity_of_present_call
from pitstop.errors import PeerFault
from pitstop.link.beacon import Phase
from pitstop.replay import loop_identity, values
from pitstop.replay.calls import Call, FunctionCall
from pitstop.replay.closures import ClosureCall, Closures
from pitstop.replay.eager_steps import EagerSteps
from pitstop.replay.live_loop import AS_THE_SCRIPT_DOES, LiveLoop
from pitstop.replay.loop_identity import LoopIdentity
from pitstop.replay.own_checkpoints import OwnCheckpoints
from pitstop.replay.record import RecordEntry, RecordKind
from pitstop.replay.repetition import Repetition
from pitstop.replay.traced import TracedFunctions
from pitstop.tensorflow import private, randomness
from pitstop.tensorflow.function_draws import FunctionDraws
from pitstop.tensorflow.pipelines import drawn_inputs
from pitstop.tensorflow.variables.variables import VariableRegistry

OpenSession = Callable[[], Session | None]
_FIT = "fit"
_EAGER_LOOP = (
    "gradients are applied outside any tf.function, so steps cannot be told apart; put the step "
    "into a tf.function"
)
_TAPED = (
    "{} is called while a gradient tape is open, which a replay cannot repeat; compute the "
    "gradients inside the tf.function"
)
_NO_SEED = (
    "the script sets no seed, so its input differs when it is repeated; call "
    "keras.utils.set_random_seed first"
)
_NOT_SAVED = "nothing of it is saved"
_RESTORES_ITSELF = (
    "the script looks for its own checkpoints before it trains and has saved one ({}): it "
    "continues from there when it runs again; use pitstop.start and run.steps, or do not restore it"
)


class _Place(threading.local):
    inside = False


class Recorder:
    """One process and its loop, if it has one; recorded from the first call that trains."""

    def __init__(self, open_session: OpenSession, registry: VariableRegistry) -> None:
        """`open_session` gives None where another process trains, or `pitstop.start` does."""
        self._open_session = open_session
        self._registry = registry
        self.traced = TracedFunctions()
        self._draws = FunctionDraws(in_order=True)
        self._thread = self._home = 0
        self._place = _Place()
        self._beginning = threading.Lock()
        self._off = self._in_the_open = False
        self.loop: LiveLoop | None = None
        self._repetition: Repetition | None = None
        self.eager = EagerSteps(self.listens, self._keeps, self._eager_step)
        self._closures: Closures | None = None
        self._own = OwnCheckpoints(open_session)
        self._is_repeated = False  # the loop is a saved one, repeated before or still

    def switch_off(self) -> None:
        self._off = True

    def coordinates(self, closures: Closures) -> None:
        """The steps are closures that workers run; threads of the coordinator send them."""
        self._closures = closures
        self._home = threading.get_ident()

    # -- what the script does ------------------------------------------------------

    def listens(self) -> bool:
        own = self._thread or self.eager.waiting or self._home
        return (
            not (self._place.inside or self._off)
            and own in (0, threading.get_ident())
            and bool(tf.executing_eagerly())
        )

    def is_aside(self) -> bool:
        """Whether a call needs no record: other code watches it, and it is in no loop."""
        return self._off or (self._place.inside and self.loop is None)

    def call(self, call: Call) -> Any:
        taped = private.tape_is_open()
        self.eager.forget()
        with self._within():
            if self._repetition is not None:
                return self._answer(self._repetition, call)
            if self.loop is not None:
                self.loop.obey_stop()
            result, traced = self._run(call)
            self._observe(call, result, traced=traced, taped=taped)
            if self._closures is not None and self.loop is not None:
                # What else was scheduled is cancelled.
                loop = self.loop
                self._closures.schedule.raise_failure(
                    lambda failure: loop.give_up(
                        f"a closure raised {type(failure).__name__}", raised=True
                    )
                )
            if self._repetition is not None:
                return self._reply(call, self._repetition.next_call(call))
            return result

    @observing(spoils=True)
    def _observe(self, call: Call, result: Any, *, traced: bool, taped: bool) -> None:
        if self._in_the_open and self.traced.trains(call):
            # Another loop: what steps outside of any function have done is done again by a resume.
            self._end_loop()
        if self.loop is None and not (self.traced.trains(call) and self._begin(call)):
            return
        if self.loop is not None and self._repetition is None:
            if taped:
                self.loop.give_up(_TAPED.format(call.name))
            self._note_call(self.loop, call, result, traced=traced)

    def elsewhere(self, call: Call) -> Any:
        result = call.run()
        if not self._off and threading.get_ident() != self._thread:
            self._beside(call)
        return result

    @observing(spoils=True)
    def _beside(self, call: Call) -> None:
        if self.eager.waiting and not self._place.inside:
            self.eager.replica_called(trains=self.traced.trains(call))
            return
        if self.loop is None or not self.loop.keeps:
            return
        if self._closures is not None and not isinstance(call, ClosureCall):
            return  # the coordinator sends a closure
        if self.traced.trains(call):
            self.loop.give_up(f"{call.name} trains at the same time in another thread")
        elif call.variables():
            self.loop.doubt(f"{call.name} is called in another thread, and not recorded")

    def aside(self, run: Callable[[], Any]) -> Any:
        """Runs what is watched otherwise: a `fit`, before which a loop ends."""
        with self._within():
            self._end_loop()
            return run()

    def reads(self, variable: Any) -> None:
        if self.loop is None or not self.listens() or not private.is_eager_variable(variable):
            return
        with self._within():
            name = self._registry.label(variable)
            if self._repetition is not None:
                self._repetition.recall(variable, name)
                self._answered()
            elif self.loop.keeps and self._closures is None:
                self.loop.note_read(name, private.hold_value(variable))

    def reads_input(self, iterator: Any) -> None:
        if self.listens():
            self.traced.reads(iterator)

    def has_read(self, variable: Any, value: Any) -> None:
        """The same, which workers change at the same time: what the script has got is noted."""
        if self._closures is None or self.loop is None or self._repetition is not None:
            return
        if self.loop.keeps and self.listens() and private.is_eager_variable(variable):
            with self._within():
                self.loop.note_read(self._registry.label(variable), value)

    def fetched(self, remote: Any, value: Any) -> None:
        if self._closures is None or self.loop is None or not self.listens():
            return
        with self._within():
            entry = self._closures.result(remote, value) if self.loop.keeps else None
            if entry is not None:
                self.loop.note(entry)

    def asks_for_checkpoint(self, folder: str) -> None:
        if self.loop is None:
            self._own.asks(folder)

    def looks_for_checkpoint(self, folder: str, look: Callable[[], Any]) -> Any:
        """What tells the script's own checkpoints in a folder; None where they are hidden."""
        if not self.listens():
            return look()
        calls = self.loop.calls if self.loop is not None else 0
        may_hide = self.loop is None or self._is_repeated
        return self._own.look(folder, look, calls, may_hide=may_hide)

    def writes(self, run: Callable[[], Any], instead: Callable[[], Any], prefix: str) -> Any:
        """Runs what writes the script's own checkpoint; gives `instead` in a repetition."""
        if self.loop is None or not self.listens():
            return run()
        if prefix:
            folder = Path(prefix).parent
            self._own.writes(folder)
            if self._own.restores_itself(folder):
                self.loop.doubt(_RESTORES_ITSELF.format(prefix))
        with self._within():
            return run() if self._repetition is None else instead()

    def _keeps(self) -> bool:
        return self.loop is not None and self.loop.keeps

    @observing(spoils=True)
    def _eager_step(self) -> None:
        """A step outside of any function has been taken; raises `TrainingStopped` for a stop."""
        self.eager.forget()
        with self._within():
            if self.loop is None and (session := self._take_session()) is not None:
                nothing = LoopIdentity(Identity(), {})
                self.loop = LiveLoop(session, self._registry, nothing, self._draws, self._closures)
                self.loop.start()
                self._in_the_open = True
            if self.loop is not None:
                self.loop.give_up(_EAGER_LOOP)
                self.loop.obey_stop()
                self.loop.step_done(None, zlib.crc32(b""))
                self.loop.pass_boundary()

    @contextmanager
    def unheard(self) -> Iterator[None]:
        before, self._place.inside = self._place.inside, True
        try:
            yield
        finally:
            self._place.inside = before

    @contextmanager
    def _within(self) -> Iterator[None]:
        with ending_threads(), self.unheard():
            yield

    # -- the record ------------------------------------------------------------------

    def _run(self, call: Call) -> tuple[Any, bool]:
        before = self._so_far(call)
        with fenced(spoils=True):
            if type(call) is FunctionCall:  # no closure, which a worker runs
                self._draws.begins(call.owner)
        try:
            with self.traced.running(call):
                result = call.run()
        except Exception as error:
            if self.loop is not None:
                self.loop.give_up(f"{call.name} raised {type(error).__name__}", raised=True)
            raise
        with fenced(spoils=True):
            for doubt in map(self._draws.returned, call.functions()):
                if self.loop is not None:
                    self.loop.doubt(doubt)
        return result, before != self._so_far(call)

    def _so_far(self, call: Call) -> tuple[int, int]:
        try:
            self.traced.called(call).add(call.name)
            return call.traces(), self._registry.created
        except Exception as error:  # noqa: BLE001 - ours: the call itself is not in here
            FENCE.note("the look at a call", error, spoils=True)
            return 0, 0

    def _note_call(self, loop: LiveLoop, call: Call, result: Any, *, traced: bool) -> None:
        nothing = memoryview(b"")
        data = loop.note_call(call, result, traced=traced) if loop.keeps else nothing
        self.traced.judge(loop, call)
        if self.traced.trains(call):
            loop.step_done(values.first_number(result), zlib.crc32(data))
        loop.pass_boundary()

    # -- the answers -----------------------------------------------------------------

    def _answer(self, repetition: Repetition, call: Call) -> Any:
        entry = repetition.next_call(call)
        unseen = call.name not in self.traced.called(call)
        if entry.traced or unseen or call.advances_input():
            # For the variables, graphs and draws of it; the result is known.
            self._run(call)
        elif elements := self.traced.drawn_by(call):
            drawn_inputs.skip(call.iterators()[0], elements)
        return self._reply(call, entry)

    def _reply(self, call: Call, entry: RecordEntry) -> Any:
        value = call.build(entry.form, entry.data)
        self._answered()
        return value

    def _answered(self) -> None:
        if self._repetition is not None and self._repetition.answered():
            self._repetition = None

    # -- a loop begins and ends --------------------------------------------------------

    def _begin(self, call: Call) -> bool:
        session = self._take_session()
        if session is None:
            return False
        unseeded = private.eager_seed()[0] is None and self._closures is None
        if unseeded:
            # Before the loop keeps the streams: a resume repeats the script from here with them.
            randomness.seed_if_unseeded()
        identity = LoopIdentity(
            identity_of_present_call(randomness.script_seed()),
            loop_identity.look(self._registry.in_order(call.variables())),
        )
        loop = self.loop = LiveLoop(session, self._registry, identity, self._draws, self._closures)
        read = EARLIER.read_back(session.attempt_dir, began_seconds(session.attempt_dir))
        alone = read.own_resume
        point = None if alone else session.trainings.point_for(loop.index)
        if point is not None:
            alone = self._repeat(loop, point, read)
        self._own.loop_begins(session, alone or ("" if point is not None else _NOT_SAVED))
        if self._repetition is not None:
            return True
        if alone:
            loop.give_up(alone, AS_THE_SCRIPT_DOES)
        if unseeded and not entropy.is_here():
            loop.doubt(_NO_SEED)
        loop.start()
        return True

    def _take_session(self) -> Session | None:
        with self._beginning:
            if self._thread:
                return None
            session = self._open_session()
            if session is None:
                self.switch_off()
            else:
                self._thread = threading.get_ident()
            return session

    def _repeat(self, loop: LiveLoop, point: RestorePoint, read: ReadBack) -> str:
        loop.session.beacon.write_phase(Phase.RESTORING)
        try:
            saved = loop.session.fetch(point)
        except PeerFault:
            raise Refused from None
        repetition = Repetition(loop, self._registry, saved, self._closures)
        why_another = repetition.why_another(read)
        if not why_another:
            self._repetition, self._is_repeated = repetition, True
            repetition.begin()
        return why_another

    @observing(spoils=True)
    def _end_loop(self) -> None:
        loop, repetition = self.loop, self._repetition
        if repetition is not None:
            repetition.next(RecordKind.END, _FIT)
            self._answered()
        elif loop is not None:
            loop.note(RecordEntry(RecordKind.END, _FIT, ("none",), memoryview(b"")))
            loop.finish()
        self.loop = None
        self._in_the_open = self._is_repeated = False
        self._thread = 0
