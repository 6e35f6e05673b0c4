"""Watches a MonitoredSession, and closes it in order when the run is asked to stop.

Public names of TensorFlow only. Such a session saves itself at its end.
"""

import functools
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from pitstop.engine.fence import FENCE, observing
from pitstop.engine.hooking import Original, hook
from pitstop.engine.session import process_session
from pitstop.events import ScriptSaved
from pitstop.tensorflow.sessions.session_course import (
    Keeping,
    SessionCourse,
    Supervisor,
    is_drawn,
    keeping,
)

_V1 = tf.compat.v1.train
_QUEUE_SECONDS = 2.0  # for threads of queues, when all is saved; TensorFlow gives them 120 s

_ANSWERED = tf.compat.v1.RunOptions(timeout_in_ms=2_000)  # a server may be gone

_courses: WeakKeyDictionary[Any, SessionCourse] = WeakKeyDictionary()  # of each session


class _SaveListener(tf.compat.v1.train.CheckpointSaverListener):
    """Reports the checkpoints that the script saves, if its next run finds them.

    `saved_last` gets the step of each from the end of the training on.
    """

    saved_last: Callable[[int], None] | None = None

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @observing()
    def after_save(self, _session: Any, global_step_value: Any) -> None:
        session, step = process_session.current(), int(global_step_value)
        if session is not None and not is_drawn(Path(self.folder)):
            session.report(ScriptSaved(step, self.folder))
        if self.saved_last is not None:
            self.saved_last(step)


_listeners: WeakKeyDictionary[Any, _SaveListener] = WeakKeyDictionary()  # one per saver hook


class _CourseHook(tf.compat.v1.train.SessionRunHook):
    """Reads the global step after each run of a session.

    `begin_course`: for a worker, when its chief trains; the first session of a run is watched.
    `savers`: which save the session. `resumes`: there was a checkpoint before it was opened.
    """

    def __init__(
        self,
        course: SessionCourse | None,
        begin_course: Callable[[], SessionCourse | None],
        savers: list[Any],
        *,
        resumes: bool,
    ) -> None:
        self._course = course
        self._begin_course = begin_course
        self._savers = savers
        self._resumes = resumes
        self._session: Any = None
        self._global_step: Any = None
        self._coordinator: Any = None

    @observing()
    def begin(self) -> None:
        self._global_step = _V1.get_global_step()

    @observing()
    def after_create_session(self, session: Any, coordinator: Any) -> None:
        self._coordinator = coordinator
        self._course = self._course or self._begin_course()
        if self._course is not None:
            # Its step alone does not say: workers may have begun on a new session of their chief.
            self._course.created(self._read(session), resumes=self._resumes)
            if SessionCourse.waits_for_others and self._savers and self._session is None:
                wait = functools.partial(self._course.save_if_blocked, self._save)
                threading.Thread(target=wait, name="pitstop-blocked", daemon=True).start()
        self._session = session

    def before_run(self, _run_context: Any) -> Any:
        step = self._global_step if self._course is not None else None
        return None if step is None else _V1.SessionRunArgs(step)

    @observing()
    def after_run(self, _run_context: Any, run_values: Any) -> None:
        if self._course is not None:
            self._course.ran(None if self._global_step is None else int(run_values.results))

    @observing()
    def end(self, session: Any) -> None:
        if self._course is None:
            return
        self._course.closing(self._read(session))
        for listener in filter(None, map(_listeners.get, self._savers)):
            # Workers that are not stopped take steps until then.
            listener.saved_last = self._course.closing
        if self._course.leaves:
            join = self._coordinator.join
            self._coordinator.join = lambda *_, **__: join(
                stop_grace_period_secs=_QUEUE_SECONDS, ignore_live_threads=True
            )

    @observing()
    def _save(self) -> None:
        session = self._session
        with suppress(tf.errors.OpError), session.graph.as_default():
            session.run(self._global_step, options=_ANSWERED)
            for saver in self._savers:
                saver.end(session)

    def _read(self, session: Any) -> int | None:
        return None if self._global_step is None else int(session.run(self._global_step))


def watch(supervisor: Supervisor) -> None:
    hook(_V1.CheckpointSaverHook, "__init__", _listen)
    hook(_V1.SyncReplicasOptimizer, "__init__", _note_synchronous)
    for session in (_V1.MonitoredSession, _V1.SingularMonitoredSession):
        hook(session, "__init__", functools.partial(_open, supervisor))
        hook(session, "should_stop", _should_stop)
        for method in ("run", "run_step_fn"):
            hook(session, method, _run)
        for method in ("close", "__exit__"):
            hook(session, method, _close)


def _note_synchronous(original: Original, optimizer: Any, /, *args: Any, **kwargs: Any) -> None:
    original(optimizer, *args, **kwargs)
    SessionCourse.waits_for_others = True


def _listen(original: Original, saver: Any, /, *args: Any, **kwargs: Any) -> None:
    if (call := _bound(original, saver, *args, **kwargs)) is not None:
        _listeners[saver] = _SaveListener(str(call.arguments.get("checkpoint_dir")))
        listeners = call.arguments.get("listeners") or ()
        call.arguments["listeners"] = [*listeners, _listeners[saver]]
        args, kwargs = call.args[1:], call.kwargs
    original(saver, *args, **kwargs)


def _open(
    supervisor: Supervisor, original: Original, session: Any, /, *args: Any, **kwargs: Any
) -> None:
    supervisor.take("monitored_session", {}, "")
    call = _bound(original, session, *args, **kwargs)
    if call is not None:
        hooks = list(call.arguments.get("hooks") or ())
        savers = [each for each in hooks if isinstance(each, _V1.CheckpointSaverHook)]
        listener = _listeners.get(savers[0]) if savers else None
        folder = "" if listener is None else listener.folder
        by_chief = isinstance(call.arguments.get("session_creator"), _V1.WorkerSessionCreator)
        kept = keeping(folder, saves=bool(savers), by_chief=by_chief)
        begin = functools.partial(_begin_course, supervisor, session, kept)
        course = None if by_chief else begin()
        if by_chief or course is not None:
            resumes = bool(savers) and tf.io.gfile.exists(f"{folder}/checkpoint")
            watches = _CourseHook(course, begin, savers, resumes=resumes)
            # First: until the others have seen a session, workers take steps in it.
            call.arguments["hooks"] = [watches, *hooks]
            args, kwargs = call.args[1:], call.kwargs
    original(session, *args, **kwargs)


def _begin_course(supervisor: Supervisor, session: Any, kept: Keeping) -> SessionCourse | None:
    try:
        opened = supervisor.open_session()
    except Exception as error:  # noqa: BLE001 - ours, in a version of TensorFlow that we do not know
        FENCE.note("the watch of a MonitoredSession", error)
        return None
    if opened is None:
        return None
    course = _courses[session] = SessionCourse(opened, kept, supervisor)
    return course


def _should_stop(original: Original, session: Any) -> Any:
    course = _courses.get(session)
    if course is not None and course.left:
        return True
    ended = original(session)
    if course is not None and not ended and course.is_due(asked=True):
        course.leave(session.close)
    return ended


def _run(original: Original, session: Any, /, *args: Any, **kwargs: Any) -> Any:
    course = _courses.get(session)
    if course is not None and course.is_due(asked=False):
        course.leave(session.close)
    return original(session, *args, **kwargs)


def _close(original: Original, session: Any, /, *args: Any) -> Any:
    course = _courses.get(session)
    if course is not None and course.left:
        return None
    ended = original(session, *args)
    failed = bool(args) and args[0] is not None and not ended
    if course is not None and not failed:
        course.closed()
    return ended


def _bound(original: Original, /, *args: Any, **kwargs: Any) -> inspect.BoundArguments | None:
    """The arguments of a call by name; None for a wrong call, which itself raises the error."""
    try:
        return inspect.signature(original).bind(*args, **kwargs)
    except TypeError:
        return None
