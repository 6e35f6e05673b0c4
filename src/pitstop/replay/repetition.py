"""A loop that an earlier attempt began: its recorded calls are answered, not computed."""

from __future__ import annotations

import atexit
import os
import sys
import time

from pitstop.engine.python_state import decode
from pitstop.engine.saved_state import SavedState
from pitstop.errors import ResumeRefused
from pitstop.events import FitRestored, Notice, Restored
from pitstop.link.beacon import Phase
from pitstop.replay import record
from pitstop.replay.live_loop import LiveLoop
from pitstop.replay.muted_output import MutedOutput
from pitstop.replay.record import Entry, Kind
from pitstop.tensorflow import randomness
from pitstop.tensorflow.variables import VariableRegistry

_EXIT_REFUSED = 2
_REMEDY = (
    "Undo the change, or start over with --new; a loop with pitstop.start may be changed "
    "in the middle of a run."
)
_OTHER_INPUT = (
    "the script draws other input than it did before; seed everything it draws from "
    "(keras.utils.set_random_seed, numpy's default_rng)"
)


class LoopDiverged(SystemExit):
    """Leaves the script because it does not do what it did before; nothing is lost."""

    def __init__(self) -> None:
        super().__init__(_EXIT_REFUSED)


class Repetition:
    """One saved record, and the loop that answers from it.

    Attributes:
        over: the loop is live.
    """

    def __init__(self, loop: LiveLoop, registry: VariableRegistry, saved: SavedState) -> None:
        self.over = False
        self._loop = loop
        self._registry = registry
        self._saved = saved
        self._muted = MutedOutput()
        self._count = 0
        self._started = time.monotonic()
        self._pid = os.getpid()
        described = saved.state.get("replay")
        if described is None:
            raise self._refused("The run was saved in model.fit, and the script now has a loop.")
        self._total = int(described["entries"])
        self._entries = record.read(saved.tensors[record.TENSOR], described)

    def begin(self) -> None:
        """The first step of the script has come; what follows is known."""
        loop, described = self._loop, self._saved.state["replay"]
        loop.first_random = decode(described["random"], self._saved.tensors)
        randomness.restore(loop.first_random)
        position = self._saved.position
        loop.continue_at(position)
        loop.session.beacon.write_phase(Phase.RESTORING)
        loop.session.beacon.write_position(
            position.step, 0, position.step_in_epoch, time.monotonic_ns(), float("nan")
        )
        message = (
            f"repeating the script up to step {position.step}: its steps are answered from the "
            "record, and its output is held back until then."
        )
        loop.session.report(Notice("replaying", message))
        self._muted.begin()
        atexit.register(self._script_ended)

    def next(self, kind: Kind, name: str, given: int = 0) -> Entry:
        """What the earlier attempt recorded here.

        Args:
            kind: what the script does now.
            name: what it calls, or reads.
            given: checksum of the arguments.

        Raises:
            LoopDiverged: it did something else.
            TrainingStopped: the run was asked to stop; the checkpoint stands.
        """
        if self._loop.session.stop_requested():
            self._end()
            self._loop.session.stop_with(None, "restoring", self._saved.position)
        entry = next(self._entries)
        self._count += 1
        step = self._saved.position.step
        self._loop.session.beacon.write_replay(step, self._count, self._total)
        if (entry.kind, entry.name) != (kind, name):
            what = f"was {_in_words(entry.kind, entry.name)} and is now {_in_words(kind, name)}"
            raise self._refused(f"The script changed: call {self._count} of its loop {what}.")
        if entry.given != given:
            self._loop.doubt(_OTHER_INPUT)
        self._loop.note(entry)
        return entry

    def answered(self) -> None:
        """The script is about to get an answer; the last one brings the state back.

        Raises:
            LoopDiverged: the model is not the one that was saved.
        """
        if self._count == self._total:
            self._go_live()

    def _go_live(self) -> None:
        saved, loop = self._saved, self._loop
        try:
            doubt = self._registry.restore_all(saved)
        except ResumeRefused as refusal:
            raise self._refused(refusal.message) from None
        randomness.restore(decode(saved.state["random"], saved.tensors))
        self._end()
        if doubt:
            loop.doubt(doubt)
        if saved.state["level"]["level"] == "not_exact":
            loop.doubt(saved.state["level"]["reason"])
        loop.publish(time.monotonic_ns())
        if saved.position.milestone:
            self._report_finished()
        else:
            self._report()
            loop.start()

    def _report_finished(self) -> None:
        position = self._saved.position
        seconds = round(time.monotonic() - self._started, 4)
        self._loop.session.report(FitRestored(position.fit, position.step, 1, seconds))

    def _report(self) -> None:
        position, session, level = self._saved.position, self._loop.session, self._loop.level
        session.report(
            Restored(
                step=position.step,
                epoch=0,
                step_in_epoch=position.step_in_epoch,
                level=level.level,
                reason=level.reason,
                seconds=round(time.monotonic() - self._started, 4),
                lost_steps=max(0, session.lost_from_step - position.step),
            )
        )

    def _refused(self, message: str) -> LoopDiverged:
        self._end()
        self._loop.session.report(Notice("resume_refused", message, _REMEDY))
        return LoopDiverged()

    def _end(self) -> None:
        self.over = True
        self._muted.end()
        atexit.unregister(self._script_ended)

    def _script_ended(self) -> None:
        # Not an end of the training: the script is not what it was.  An exception
        # that nobody caught, which sets `last_value`, speaks for itself.
        if os.getpid() == self._pid and not hasattr(sys, "last_value"):
            where = f"after call {self._count} of {self._total} that its loop had made"
            self._refused(f"The script changed: it ended {where}.")
            os._exit(_EXIT_REFUSED)


def _in_words(kind: Kind, name: str) -> str:
    if kind is Kind.READ:
        return f"a look at variable {name}"
    return "the beginning of a fit" if kind is Kind.END else name
