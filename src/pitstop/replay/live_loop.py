"""A custom loop that runs: its record, its boundaries, its cuts."""

import atexit
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pitstop.engine.exactness import Exactness, not_exact
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.engine.session import first_training
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.engine.values.python_state import Encoder
from pitstop.events import LOOPS
from pitstop.link.beacon import Phase
from pitstop.replay import values
from pitstop.replay.calls import Call
from pitstop.replay.closures import Closures
from pitstop.replay.loop_identity import LoopIdentity
from pitstop.replay.record import LoopRecord, RecordEntry, RecordFull, RecordKind
from pitstop.replay.values import NotRecordable
from pitstop.tensorflow import randomness
from pitstop.tensorflow.devices import level_of_process
from pitstop.tensorflow.function_draws import FunctionDraws
from pitstop.tensorflow.schedule import ASYNCHRONOUS, is_of_another_task
from pitstop.tensorflow.script_loop import ScriptLoop
from pitstop.tensorflow.shuffle_readings import SHUFFLE_READINGS
from pitstop.tensorflow.variables.variables import VariableRegistry

_NOT_SAVED = "no step is saved from here on, so a resume {}, because {}{}"
_FROM_FIRST = "trains this loop from its first step"
AS_THE_SCRIPT_DOES = "begins this loop as the script itself does"
_ADVICE = "use pitstop.start and run.steps (two lines), which save the loop's state directly"


class LiveLoop(ScriptLoop):
    """The steps of one loop, counted, recorded and saved.

    Attributes:
        first_random: the random streams at the first step, as plain values.
        generators: digests of the script's own random generators at the first step, by name.
        keeps: a resume can replay the loop: it is still recorded.
        level: how exact that would be.
        saved_step: that of the newest cut; 0 for none.
    """

    def __init__(
        self,
        session: Session,
        registry: VariableRegistry,
        identity: LoopIdentity,
        draws: FunctionDraws,
        closures: Closures | None = None,
    ) -> None:
        step = session.beacon.progress().step
        super().__init__(session, LOOPS[1], session.trainings.next_index(), step)
        self.record = LoopRecord()
        self.calls = 0  # how many calls that are, looks at variables not counted
        self.saved_step = 0
        self.first_random = randomness.capture()
        self.generators = randomness.of_generators()
        self.identity = identity  # what the loop is known by
        # Run again from its beginning although the run was beyond it: saving it
        # would take the place of what is newer.
        self.keeps = not session.trainings.is_past(self.index)
        self._registry = registry
        self.draws = draws
        self._closures = closures
        if closures is not None:
            self.boundary.is_settled = closures.schedule.is_consistent
            closures.begin(session.beacon)
            self.level = ASYNCHRONOUS
        else:
            self.level = level_of_process(session) or Exactness("exact_by_replay")
        self._pid = os.getpid()
        OUTSIDE.begin(self.doubt)

    def start(self) -> None:
        began_with: dict[str, str] = {}
        if self.index == 0 and not self.step:
            streams = {**self.first_random, **self.generators, **self._registry.seeds()}
            began_with = first_training.digests(self.identity.place, streams)
            self.doubt(first_training.deviation(self.session, began_with))
        self.begin(began_with=began_with)
        atexit.register(self.script_ended)
        self.session.beacon.write_phase(Phase.TRAIN)

    def settle(self) -> None:
        if self._closures is not None:
            self._closures.schedule.settle()

    def doubt(self, reason: str) -> None:
        """The first reason why a resume is not exact counts; an empty one is none."""
        if reason and self.level.level != "not_exact":
            self.level = not_exact(reason)

    def give_up(self, reason: str, resume: str = "", *, raised: bool = False) -> None:
        """The loop cannot be replayed: nothing of it is saved any more, and a resume does this."""
        if self.keeps:
            self.keeps = False
            self.record = LoopRecord()
            advice = f"; {_ADVICE}" if self._closures is None else ""
            known = f"goes on from step {self.saved_step}" if self.saved_step else _FROM_FIRST
            told = _NOT_SAVED.format(resume or known, reason, advice)
            self.level = not_exact(told)
            if not raised:
                self.tell_level(self.level, [])

    @contextmanager
    def recording(self, what: str) -> Iterator[None]:
        """Nothing more is recorded when a value cannot be; the training goes on."""
        try:
            yield
        except NotRecordable as refusal:
            self.give_up(f"{what} {refusal}")
        except Exception as error:  # noqa: BLE001
            self.give_up(f"Pitstop failed to record it ({error!r}); please report this as a bug")

    def note_call(self, call: Call, result: Any, *, traced: bool) -> memoryview:
        """Records what a call has returned; its bytes, none where they cannot be recorded."""
        name = call.name
        with self.recording(f"{name} returns"):
            form, data = call.flatten(result)
            name, given = call.signature(self.calls)
            view = memoryview(data)
            self.note(RecordEntry(RecordKind.CALL, name, form, view, traced, given))
            return view
        return memoryview(b"")

    def note_read(self, name: str, value: Any) -> None:
        with self.recording(f"variable {name} holds"):
            form, data = values.flatten(value)
            self.note(RecordEntry(RecordKind.READ, name, form, memoryview(data)))

    def note(self, entry: RecordEntry) -> None:
        self.calls += entry.kind is RecordKind.CALL
        if not self.keeps:
            return
        try:
            self.record.append(entry)
        except RecordFull as full:
            self.give_up(str(full))

    def pass_boundary(self) -> None:
        """A recorded call has ended; raises `TrainingStopped` for a stop, the state saved."""
        now_ns = time.monotonic_ns()
        if self.boundary.passed_ns:
            self.boundary.measure(now_ns)
        self.reach(now_ns)
        self.boundary.obey(self.step, self.take)

    def obey_stop(self) -> None:
        """Where nothing is saved, nothing is lost by stopping here; raises `TrainingStopped`."""
        if self.keeps:
            return
        self.tell_level(self.level, [])
        if self.session.stop_requested():
            self.session.snapshots.stop_with(None, "train")

    def finish(self) -> None:
        OUTSIDE.leave()
        self.session.snapshots.milestone(lambda: self.take(milestone="loop_end"))
        self._report_end()

    def script_ended(self) -> None:
        # `last_value` is set by an exception that nobody caught.
        if os.getpid() == self._pid and not hasattr(sys, "last_value"):
            self._report_end()

    def _report_end(self) -> None:
        atexit.unregister(self.script_ended)
        if not self.session.is_stopping():
            self.tell_level(self.level, [])
            self.tell_end()

    # -- cuts --------------------------------------------------------------------

    def take(self, milestone: str = "") -> StateCapture | None:
        """A consistent cut, here and now; None when there is none to take, or ours failed."""
        if not self.keeps:
            return None
        if self._closures is None:
            return self._take(milestone)
        schedule = self._closures.schedule
        return schedule.wait(lambda: self._take(milestone) if schedule.settles() else None)

    def _take(self, milestone: str) -> StateCapture | None:
        try:
            return self._cut(milestone)
        except Exception as error:  # noqa: BLE001
            if not (self._closures is not None and is_of_another_task(error)):
                self.session.snapshots.give_up(error)
            return None

    def _cut(self, milestone: str) -> StateCapture:
        self.doubt(APPENDED.settle())
        self.doubt(SHUFFLE_READINGS.doubt)
        held = self._registry.hold()
        if self._closures is not None:
            # A later read may find other values.
            held = replace(held, tensors=[each.read_now() for each in held.tensors])
            for entry in self._closures.unrecorded():
                self.note(entry)
        encoder = Encoder("python/")
        entries, described = self.record.hold()
        own = {
            "replay": {
                **described,
                "random": encoder.encode(self.first_random),
                "generators": self.generators,
                "identity": self.identity.to_json(encoder),
                "draws": self.draws.capture(),
            }
        }
        self.saved_step = self.step
        return self.capture(milestone, self.level, held, encoder, own, [entries])
