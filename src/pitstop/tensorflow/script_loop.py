"""A loop of the script's own, recorded or of `pitstop.start`: its steps, and what is told of it."""

import time
from collections.abc import Iterable
from typing import Any

from pitstop.engine.exactness import Exactness
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.rewritten_files import REWRITTEN
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_boundary import NO_LOSS, StepBoundary
from pitstop.engine.snapshots.state_capture import HeldTensor, Position, StateCapture
from pitstop.engine.values.python_state import Encoder
from pitstop.events import IN_PARTS, FitEnded, FitRestored, FitStarted, LevelKnown, Restored
from pitstop.steps import StepRecord
from pitstop.tensorflow import randomness
from pitstop.tensorflow.devices import allocators, computed_with
from pitstop.tensorflow.variables import step_memory
from pitstop.tensorflow.variables.step_memory import with_room
from pitstop.tensorflow.variables.variables import HeldVariables


class ScriptLoop:
    """Belongs to the thread that trains.

    `index`: which training of the process, counted from 0. `step`: training steps completed over
    the whole run, `done`: those of this loop.
    """

    def __init__(self, session: Session, adapter: str, index: int, step: int) -> None:
        self.session = session
        self.index = index
        self.step = step
        self.done = 0
        self.boundary = StepBoundary(session)
        self._adapter = adapter
        self._versions = computed_with()
        self._loss = NO_LOSS
        self._told: Exactness | None = None

    def begin(
        self,
        steps: int | None = None,
        *,
        in_parts: bool = False,
        began_with: dict[str, str] | None = None,
    ) -> None:
        self._loss = NO_LOSS
        data = {"adapter": self._adapter, **({IN_PARTS: True} if in_parts else {})}
        self.session.report(FitStarted(self.index, 1, steps, data, began_with=began_with or {}))
        self.session.snapshots.start_steps(self.step)

    def step_done(self, loss: float | None, digest: int) -> None:
        self.step += 1
        self.done += 1
        self._loss = NO_LOSS if loss is None else loss
        record = StepRecord(self.step, self.index, 0, self._loss, time.time(), digest)
        self.session.steps.record(record)
        if loss is not None:
            self.session.losses.note((self.step, 0, self.done), loss)
        step_memory.tell_loop(self.session, self.done)

    def reach(self, now_ns: int, metrics: dict[str, float] | None = None) -> None:
        self.boundary.reach(self.step, 0, self.done, self._loss, now_ns)
        vitals = self.session.vitals
        if now_ns >= vitals.due_ns:
            known = {"metrics": metrics} if metrics is not None else {}
            vitals.tell(lambda: {**known, "allocators": allocators()})

    def capture(
        self,
        milestone: str,
        level: Exactness,
        held: HeldVariables,
        encoder: Encoder,
        own: dict[str, Any],
        beside: Iterable[HeldTensor] = (),
    ) -> StateCapture:
        """A consistent cut, here and now, with `own` JSON and tensors `beside`."""
        position = Position(self.step, self.index, 0, self.done, "steps", milestone)
        self.tell_level(level, held.refused)
        state = {
            "position": dict(vars(position)),
            "level": {**vars(level), "unverified": held.refused},
            "versions": self._versions,
            "time_seconds": time.time(),
            "appended": APPENDED.capture(),
            "rewritten": encoder.encode(REWRITTEN.capture()),
            **held.state,
            "random": encoder.encode(randomness.capture()),
            **own,
        }
        arrays = [HeldTensor.of_array(name, array) for name, array in encoder.arrays.items()]
        tensors = (*held.tensors, *beside, *arrays)
        return with_room(StateCapture(position, tensors, state))

    def tell_level(self, level: Exactness, unverified: list[str]) -> None:
        if level != self._told:
            self._told = level
            self.session.report(LevelKnown(level.level, level.reason, unverified))

    def tell_restored(self, position: Position, level: Exactness, started: float) -> None:
        """The loop goes on from a saved position, or had ended there; `started` is monotonic."""
        seconds = round(time.monotonic() - started, 4)
        if position.milestone:
            self.session.report(FitRestored(position.fit, position.step, 1, seconds))
            return
        lost_steps = max(0, self.session.lost_from_step - position.step)
        reached = position.step, 0, position.step_in_epoch
        self.session.report(Restored(*reached, level.level, level.reason, seconds, lost_steps))

    def tell_end(self) -> None:
        self.session.report(FitEnded(self.index, self.step, 1, 1))
