"""Repeats a loop of an earlier attempt: its calls return what was recorded, without computing."""

import atexit
import os
import sys
import time
from dataclasses import replace
from typing import Any

from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.earlier_files import EARLIER, OWN_RESUME, ReadBack
from pitstop.engine.leaving import Refused
from pitstop.engine.session import first_training
from pitstop.engine.session.step_recorder import began_seconds
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.trainings.course import ONE_OF_OTHERS
from pitstop.engine.values.python_state import decode
from pitstop.errors import ResumeRefused
from pitstop.events import Notice
from pitstop.exit_codes import EXIT_REFUSED
from pitstop.link.beacon import Phase
from pitstop.replay import loop_identity, record, values
from pitstop.replay.calls import Call
from pitstop.replay.closures import Closures
from pitstop.replay.live_loop import LiveLoop
from pitstop.replay.loop_identity import LoopIdentity
from pitstop.replay.muted_output import MutedOutput
from pitstop.replay.record import RecordEntry, RecordKind
from pitstop.store.run_folder import JOURNAL_FILE
from pitstop.tensorflow import randomness
from pitstop.tensorflow.event_files import SUMMARY_WRITERS
from pitstop.tensorflow.variables.variables import VariableRegistry

_REMEDY = (
    "Undo the change, or start over with --new. A loop with pitstop.start may be changed during "
    "a run."
)
_ANOTHER = (
    "this loop is not the saved one: {}; it starts from its beginning, and the saved state is kept"
)
_CHANGED = "The script or its command changed: {}."
_READS = "the script reads {}, which an earlier attempt wrote"
_OTHER_LOOKS = (
    "the script reads variables at different points than before ({}): its behavior depends on "
    "the clock or on something else that changes"
)
_OTHER_RESULT = "The script changed: it now reads the result of closure {} of its loop."
_OTHER_INPUT = (
    "the script's input differs from before; seed all its random generators "
    "(keras.utils.set_random_seed, numpy's default_rng)"
)


class Repetition:
    """A saved record, and the loop that repeats it; when it is `over`, the loop trains again."""

    def __init__(
        self,
        loop: LiveLoop,
        registry: VariableRegistry,
        saved: SavedState,
        closures: Closures | None = None,
    ) -> None:
        self.over = False
        self.loop = loop
        self._registry = registry
        self._saved = saved
        self._muted = MutedOutput()
        self._count = 0
        self._looks: list[RecordEntry] = []
        self._following: RecordEntry | None = None
        self._started = time.monotonic()
        self._pid = os.getpid()
        described = saved.state.get("replay")
        if described is None:
            raise self._refused("The run was saved in model.fit, but the script now has a loop.")
        self._total = int(described["entries"])
        self._entries = record.read(saved.tensors[record.TENSOR], described)
        self._closures = closures

    def why_another(self, read: ReadBack) -> str:
        """Why this is not the saved loop, else empty; raises `Refused` if it may not continue."""
        described = self._saved.state["replay"]["identity"]
        before = LoopIdentity.from_json(described, self._saved.tensors)
        found = loop_identity.match(before, self.loop.identity)
        session = self.loop.session
        if found.another and read.other:
            return OWN_RESUME.format(read.other)
        if found.another and session.snapshots.lockstep.agreed and not session.settings.force:
            raise self._refused(ONE_OF_OTHERS.format("loop", found.another))
        if found.another:
            return _ANOTHER.format(found.another)
        if found.changed and not session.settings.force:
            raise self._refused(_CHANGED.format(found.changed))
        reads = _READS.format(read.other) if read.other else ""
        loop, drawn = self.loop, self._saved.state["replay"].get("generators", {})
        then, now = before.place, loop.identity.place
        then = replace(then, names={**then.names, **drawn})
        now = replace(now, names={**now.names, **loop.generators})
        not_made = first_training.not_made_again(loop.session, then, now)
        for doubt in (found.doubt, reads, not_made):
            self.loop.doubt(doubt)
        return ""

    def begin(self) -> None:
        loop, described = self.loop, self._saved.state["replay"]
        EARLIER.watch(began_seconds(loop.session.attempt_dir), loop.doubt)
        loop.generators = described.get("generators", {})
        loop.first_random = decode(described["random"], self._saved.tensors)
        if self._closures is not None:
            # TensorFlow would wait for the first one below, and hold the interpreter's lock
            # meanwhile, without which a `py_function` of it does not end.
            self._closures.schedule.settles()
        randomness.restore(loop.first_random)
        position = self._saved.position
        loop.step, loop.done = position.step, position.step_in_epoch
        loop.saved_step = position.step
        loop.session.beacon.write_phase(Phase.RESTORING)
        loop.session.beacon.write_position(
            position.step, 0, position.step_in_epoch, time.monotonic_ns(), float("nan")
        )
        self._remember_results()
        message = (
            f"repeating the script up to step {position.step}: its steps come from the record, "
            "and its output is hidden until then."
        )
        loop.session.report(Notice("replaying", message))
        self._muted.begin()
        atexit.register(self._script_ended)

    def _remember_results(self) -> None:
        """Takes the results of closures from the other entries: a script reads them at any time."""
        if self._closures is None:
            return
        entries = list(self._entries)
        results = [each for each in entries if each.kind is RecordKind.RESULT]
        for entry in results:
            self.loop.note(entry)
        self._closures.remember(
            results, lambda number: self._refused(_OTHER_RESULT.format(number + 1))
        )
        self._total -= len(results)
        self._entries = (each for each in entries if each.kind is not RecordKind.RESULT)

    def recall(self, variable: Any, name: str) -> None:
        """Assigns the value that a variable had when it was read here; or `TrainingStopped`."""
        self._obey_stop()
        self._look_ahead()
        entry = next((each for each in self._looks if each.name == name), None)
        if entry is None:
            self.loop.doubt(_OTHER_LOOKS.format(name))
            return
        self._looks.remove(entry)
        self._used(1)
        self.loop.note(entry)
        variable.assign(values.build(entry.form, entry.data))

    def next_call(self, call: Call) -> RecordEntry:
        return self.next(RecordKind.CALL, *call.signature(self.loop.calls))

    def next(self, kind: RecordKind, name: str, given: int = 0) -> RecordEntry:
        """The entry that was recorded for this call; raises `Refused` or `TrainingStopped`."""
        self._obey_stop()
        self._look_ahead()
        if self._looks:
            self.loop.doubt(_OTHER_LOOKS.format(self._looks[0].name))
        self._used(1 + len(self._looks))
        self._looks.clear()
        entry, self._following = self._following, None
        if entry is None:
            raise self._refused("The script changed: it continues where its record ends.")
        if (entry.kind, entry.name) != (kind, name):
            before, now = (
                "the beginning of a fit" if each[0] is RecordKind.END else each[1]
                for each in ((entry.kind, entry.name), (kind, name))
            )
            what = f"was {before} but is now {now}"
            raise self._refused(f"The script changed: call {self._count} of its loop {what}.")
        if entry.given != given:
            self.loop.doubt(_OTHER_INPUT)
        self.loop.note(entry)
        return entry

    def _obey_stop(self) -> None:
        if self.loop.session.stop_requested():
            self._end()
            self.loop.session.snapshots.stop_with(None, "restoring", self._saved.position)

    def _look_ahead(self) -> None:
        while self._following is None:
            entry = next(self._entries, None)
            if entry is None:
                return
            if entry.kind is RecordKind.READ:
                self._looks.append(entry)
            else:
                self._following = entry

    def _used(self, entries: int) -> None:
        self._count += entries
        step = self._saved.position.step
        self.loop.session.beacon.write_replay(step, self._count, self._total)

    def answered(self) -> bool:
        """Notes that the script gets an answer.  Returns whether the loop is live from now on.

        The last answer brings the saved state back; raises `Refused` where it does not fit.
        """
        if self._count == self._total:
            self._go_live()
        return self.over

    def _go_live(self) -> None:
        saved, loop = self._saved, self.loop
        loop.settle()
        try:
            doubt = self._registry.restore_all(saved)
        except ResumeRefused as refusal:
            raise self._refused(refusal.message) from None
        randomness.restore(decode(saved.state["random"], saved.tensors))
        self._end()
        loop.draws.restore(saved.state["replay"]["draws"])
        SUMMARY_WRITERS.set_earlier_aside(loop.session.attempt_dir.parents[1] / JOURNAL_FILE)
        loop.doubt(doubt)
        loop.doubt(APPENDED.go_on(saved.appended))
        if saved.state["level"]["level"] == "not_exact":
            loop.doubt(saved.state["level"]["reason"])
        loop.reach(time.monotonic_ns())
        loop.tell_restored(saved.position, loop.level, self._started)
        if not saved.position.milestone:
            loop.start()

    def _refused(self, message: str) -> Refused:
        self._end()
        self.loop.session.report(Notice("resume_refused", message, _REMEDY))
        return Refused()

    def _end(self) -> None:
        self.over = True
        self._muted.end()
        atexit.unregister(self._script_ended)

    def _script_ended(self) -> None:
        # The training has not ended: an earlier attempt came further.  So the script has changed,
        # also where it ends with an exception.
        if os.getpid() != self._pid:
            return
        error = getattr(sys, "last_value", None)
        if isinstance(error, KeyboardInterrupt):
            return
        what = f"raised {type(error).__name__}" if error is not None else "ended"
        where = f"after call {self._count} of {self._total} that its loop had made"
        self._refused(f"The script {what} during the replay, {where}; it did not before.")
        os._exit(EXIT_REFUSED)
