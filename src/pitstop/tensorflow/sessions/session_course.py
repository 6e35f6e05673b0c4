"""The course of a training that saves itself: its steps are seen, and its stop is in order."""

import atexit
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

from pitstop import events
from pitstop.engine.connection import request
from pitstop.engine.exactness import Exactness, not_exact
from pitstop.engine.frames import frames_from
from pitstop.engine.leaving import LeavesScript, ending_threads
from pitstop.engine.session.session import Session
from pitstop.engine.session.step_boundary import NO_LOSS, StepBoundary
from pitstop.engine.snapshots.state_capture import Position
from pitstop.exit_codes import EXIT_TERMINATED
from pitstop.link.beacon import Phase
from pitstop.record import Frozen

_ANEW = "its input and random streams start over"
_BY_SCRIPT = f"the script itself saves its variables and step, in {{folder}}; {_ANEW}"
_BY_CHIEF = f"the chief saves the variables and the step if the script gives a folder; {_ANEW}"
_NOWHERE = "nothing is saved: its MonitoredSession has no checkpoint_dir, or saves nothing there"
_TEMPORARY = "a resume cannot find what it saves: {folder} has a different name each time"
_OWN_FRAMES = 4  # `_callers`, `is_due`, what stands in the place of `run`, and its wrapper
_MOST_FRAMES = 3
_BLOCKED_SECONDS = 2.0  # without the end of a step, from when a stop was asked for
_LOOK_SECONDS = 0.2
_DRAWN_NAME = re.compile(r"(?:tmp|pymp-)[a-z0-9_]{8}")  # of `tempfile`, and of `multiprocessing`


class Supervisor(Frozen):
    socket_path: str
    # the session of this process; None where another process trains, or it counts steps
    open_session: Callable[[], Session | None]
    leave: Callable[[int], NoReturn]  # leaves the script of a server with this exit code

    def take(self, role: str, cluster: Mapping[str, Any], task: str) -> None:
        request.take(self.socket_path, role, cluster, task)

    def serve(self, *, waits: bool = True) -> int | None:
        """The exit code, when this process may end, or at once; None if it is not told."""
        return request.serve(self.socket_path, waits=waits)


class Keeping(Frozen):
    """Whether the script saves a training, and what a resume is like.

    `restores`: this process restores it.
    """

    saved: bool
    restores: bool
    level: Exactness


def keeping(folder: str, *, saves: bool, by_chief: bool) -> Keeping:
    """How a session is saved: where, and by this process or by another one."""
    saved = saves or by_chief
    reason = _BY_SCRIPT.format(folder=folder) if saves else _BY_CHIEF if by_chief else _NOWHERE
    if saves and is_drawn(Path(folder)):
        saved, reason = False, _TEMPORARY.format(folder=folder)
    return Keeping(saved, saves, not_exact(reason))


def is_drawn(folder: Path) -> bool:
    temporary = tempfile.gettempdir()
    below = folder.relative_to(temporary).parts if folder.is_relative_to(temporary) else ()
    return any(_DRAWN_NAME.fullmatch(part) for part in below)


class LoopHead:
    """The place where each turn of a loop begins: the first that comes again."""

    def __init__(self) -> None:
        self._head: object = None
        self._seen: set[object] = set()

    def is_at(self, place: object) -> bool:
        """Whether a turn begins here; each place that is passed is to be told."""
        if self._head is None and place in self._seen:
            self._head = place
        elif self._head is not None and place not in self._seen:
            # Perhaps another loop.
            self._head = None
            self._seen.clear()
        self._seen.add(place)
        return place == self._head


def _callers() -> tuple[tuple[CodeType, int], ...]:
    callers = islice(frames_from(sys._getframe(_OWN_FRAMES)), _MOST_FRAMES)
    return tuple((frame.f_code, frame.f_lineno) for frame in callers)


class SessionCourse:
    """One session of TensorFlow's, from its beginning to its end.

    It trains where it is saved, or where the global step changes; others evaluate or predict.
    `leaves`: it is being closed for a stop; `left`: it was, and the script is being left. `ends`
    is called at the end of a script that never closes its session.
    """

    _trained = _saved = False  # whether any session of this process does
    waits_for_others = False  # a step of this process needs gradients of several workers

    def __init__(self, session: Session, kept: Keeping, supervisor: Supervisor) -> None:
        self.leaves = self.left = False
        self.ends: Callable[[], object] = self.closed
        self._pid = os.getpid()
        self._session = session
        self._kept = kept
        self._supervisor = supervisor
        self._boundary = StepBoundary(session)
        self._step = 0
        self._index: int | None = None
        self._runs = self._usual_runs = 0
        self._loop_head = LoopHead()
        self._saves = threading.Lock()  # not two threads at once

    def created(self, step: int | None, *, resumes: bool = True) -> None:
        before, self._step = self._step, step or 0
        if self._index is not None:
            self._restored(before)
        elif self._kept.saved or self._kept.restores or SessionCourse.waits_for_others:
            self._begin()
            if self._step and self._kept.restores and resumes:
                self._restored(self._session.lost_from_step)

    def ran(self, step: int | None) -> None:
        self._runs += 1
        if step is not None and step == self._step:
            self._session.beacon.pulse()
            return
        if self._index is None:
            self._begin()
        self._step = self._step + 1 if step is None else step
        now_ns = time.monotonic_ns()
        self._boundary.measure(now_ns)
        self._session.beacon.write_phase(Phase.TRAIN)
        self._boundary.reach(self._step, 0, self._step, NO_LOSS, now_ns)

    def is_due(self, *, asked: bool) -> bool:
        """Whether to close for a stop here; `asked`: the script asks whether to stop."""
        if asked:
            self._usual_runs, self._runs = max(self._usual_runs, self._runs), 0
            here = True
        else:
            here = self._loop_head.is_at(_callers()) and self._runs >= self._usual_runs
        return here and SessionCourse._trained and self._session.stop_requested()

    def leave(self, close: Callable[[], object]) -> NoReturn:
        """Closes the session, which saves it, and leaves the script (`LeavesScript`)."""
        with ending_threads():
            self._session.beacon.write_phase(Phase.SAVING)
            released = self._supervisor.serve()
            self.leaves = True
            self._saves.acquire()  # for good
            try:
                close()
            finally:
                self.left = True
            # A worker goes on if its chief has saved something, also if the chief failed then.
            if SessionCourse._saved and released != EXIT_TERMINATED:
                self._session.snapshots.stop_with(
                    None, "train", Position(self._step, self._index or 0, 0, self._step)
                )
            raise LeavesScript(EXIT_TERMINATED)

    def save_if_blocked(self, save: Callable[[], object]) -> None:
        """Waits in a thread of its own until a stop is asked for whose step does not end.

        Other processes may have left that this step needs; what was done before it is saved.
        """
        beacon, seen, since_seconds = self._session.beacon, -1, time.monotonic()
        while time.monotonic() - since_seconds < _BLOCKED_SECONDS:
            progress = beacon.progress()
            blocks = beacon.stop() and progress.phase is Phase.TRAIN
            if not blocks or progress.step != seen:
                seen, since_seconds = progress.step, time.monotonic()
            time.sleep(_LOOK_SECONDS)
        with self._saves:
            beacon.write_phase(Phase.SAVING)
            save()
            beacon.write_phase(Phase.TRAIN)

    def saved(self, step: int, folder: str) -> None:
        SessionCourse._saved = True
        self._session.report(events.ScriptSaved(step, folder))

    def closing(self, step: int | None) -> None:
        if step is not None and self._index is not None:
            self._session.beacon.write_phase(Phase.SAVING)
            self._step = step
            self._boundary.reach(step, 0, step, NO_LOSS, time.monotonic_ns())

    def closed(self) -> None:
        atexit.unregister(self._script_ended)
        if self._index is not None and not self.leaves:
            self._session.report(events.FitEnded(self._index, self._step, 1, 1))
            self._session.beacon.write_phase(Phase.BETWEEN_FITS)

    def _script_ended(self) -> None:
        # `last_value` is set by an exception that nobody caught.
        failed = hasattr(sys, "last_value") or os.getpid() != self._pid
        if not (failed or self.left or self._session.is_stopping()):
            self.ends()

    def _begin(self) -> None:
        atexit.register(self._script_ended)
        session, level = self._session, self._kept.level
        self._index = session.trainings.next_index()
        SessionCourse._trained, SessionCourse._saved = True, self._kept.saved
        session.beacon.write_plan(self._index, 1, 0)
        data: dict[str, events.JsonValue] = {"adapter": events.LOOPS[2]}
        if SessionCourse.waits_for_others:
            data[events.WAITS_FOR_OTHERS] = True
        session.report(events.FitStarted(self._index, 1, None, data))
        session.report(events.LevelKnown(level.level, level.reason))
        session.beacon.write_phase(Phase.FIRST_STEP)
        self._boundary.start()
        self._boundary.reach(self._step, 0, self._step, NO_LOSS, self._boundary.passed_ns)

    def _restored(self, before: int) -> None:
        lost_steps, level = max(0, before - self._step), self._kept.level
        words = level.level, level.reason
        self._session.report(events.Restored(self._step, 0, self._step, *words, 0.0, lost_steps))
