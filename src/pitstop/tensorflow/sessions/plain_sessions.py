"""Watches loops of a `tf.compat.v1.Session`, which a stop leaves at the end of a turn.

Public names of TensorFlow only.  A run of what an optimizer has made (the collection TRAIN_OP) is a
training step.  Such a loop saves with a `Saver`, and looks for a checkpoint before it trains.  At a
stop its Saver saves once more, if the script numbers its checkpoints by the global step.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, ref

import tensorflow as tf

from pitstop.engine.exactness import not_exact
from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.engine.session import process_session
from pitstop.record import Frozen
from pitstop.store.run_folder import RUN_FILE
from pitstop.tensorflow.sessions.session_course import Keeping, SessionCourse, Supervisor, is_drawn

_KEYS = tf.compat.v1.GraphKeys
_FRAMEWORKS = frozenset({"tensorflow", "tensorflow_estimator", "keras", "tf_keras"})
_GIVES_GRADIENT = "AccumulatorApplyGradient"  # the step of a worker of a SyncReplicasOptimizer
_CALLER = 2  # frames from the hooked constructor to its caller
_READ_SECONDS = 0.1  # between two readings of the global step
_ANSWERED = tf.compat.v1.RunOptions(timeout_in_ms=5_000)  # a server may be suspended
_ANEW = "its input, random streams and Python counters start over"
_BY_SAVER = f"only what the script's Saver saves is kept; {_ANEW}"
_BY_CHIEF = f"the chief saves the variables, if its script does; {_ANEW}"
_UNSEEN = "it starts over: the script did not ask TensorFlow for a checkpoint before it trained"

_loops: WeakKeyDictionary[Any, _Loop] = WeakKeyDictionary()
"""The loop of each session that the script has made."""
_looked_in: set[Path] = set()
"""Folders in which the script has looked for a checkpoint before it trained."""


def watch(supervisor: Supervisor) -> None:
    for session in (tf.compat.v1.Session, tf.compat.v1.InteractiveSession):
        hook(session, "__init__", functools.partial(_open, supervisor))
        hook(session, "run", _run)
        hook(session, "close", _close)
    hook(tf.compat.v1.train.Saver, "save", _save)
    hook(tf.compat.v1.train.Saver, "restore", _restore)
    prepared = functools.partial(_prepare, supervisor)
    hook(tf.compat.v1.train.Supervisor, "prepare_or_wait_for_session", prepared)
    for api in (tf.train, tf.compat.v1.train):
        hook(api, "latest_checkpoint", _find)
        hook(api, "get_checkpoint_state", _find)


class _Saved(Frozen):
    """The newest checkpoint that the next run of the script finds, at a global step.

    `save` saves the session to a path of this kind, with another number. `ahead`: its number less
    its step; None where it is numbered by something else, or not at all.
    """

    step: int
    folder: str
    save: Callable[..., Any]
    ahead: int | None


class _Loop:
    """What is known of one session.

    `course`: from its first training step on. `restored`: the Saver that has restored it last, and
    from where. `is_aside`: what runs in it now is a Saver's, or our own.
    """

    def __init__(self, session: Any, supervisor: Supervisor) -> None:
        self.course: SessionCourse | None = None
        self.restored: tuple[Any, str] | None = None
        self.is_aside = False
        self._session: Callable[[], Any] = ref(session)
        self._supervisor = supervisor
        self._is_begun = self._is_step = self._is_managed = False
        self._trains: dict[str, bool] = {}
        self._step = 0
        self._read_at_seconds = 0.0
        self._saved: _Saved | None = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # What runs there is not looked at.
            return
        before, self.is_aside = self.is_aside, True
        try:
            yield
        finally:
            self.is_aside = before

    @observing()
    def look(self, fetches: Any) -> None:
        self._is_step = self._has_step(fetches)
        if self._is_step and not self._is_begun:
            self._is_begun = True
            self._begin()

    @observing()
    def ran(self) -> None:
        if self.course is not None:
            if self._counter is None:
                self._step += self._is_step
            elif time.monotonic() >= self._read_at_seconds:
                self._step = self._read_step()
                self._read_at_seconds = time.monotonic() + _READ_SECONDS
            self.course.ran(self._step)

    @observing()
    def saved(self, saver: Any, arguments: dict[str, Any], path: str) -> None:
        folder = Path(path).parent
        if folder.resolve() not in _looked_in:
            return
        prefix, _, number = path.rpartition("-")
        held = self._step_in(path)
        ahead = int(number) - held if held and number.isdecimal() else None
        save = functools.partial(saver.save, **arguments | {"save_path": prefix})
        step = self._read_step() if held is None else held
        self._saved = _Saved(step, str(folder), save, ahead if ahead in (0, -1) else None)
        if self.course is not None:
            self.course.saved(step, self._saved.folder)

    @observing()
    def is_kept_by(self, saver: Any, path: str) -> None:
        """It is restored, and saved now and then at its global step, without the script."""
        self._is_managed = True
        _note(Path(path).parent)
        if Path(path).parent.resolve() in _looked_in:
            step, save = self._read_step(), functools.partial(saver.save, save_path=path)
            self._saved = _Saved(step, str(Path(path).parent), save, 0)
            self.restored = (saver, path) if step else None

    @observing()
    def save_last(self) -> None:
        saved, step = self._saved, self._read_step()
        if self.course is not None:
            self.course.closing(step)
        if saved is not None and saved.ahead is not None and step > saved.step:
            saved.save(sess=self._session(), global_step=step + saved.ahead)
        if self._is_managed:
            self._session().close()  # Its threads wait in it, and are waited for.

    @observing()
    def closing(self) -> None:
        if self.course is not None:
            self.course.closing(self._read_step())
            self.course.closed()

    def _begin(self) -> None:
        opened = self._supervisor.open_session()
        if opened is None:
            return  # A loop of `pitstop.start`, or another process trains.
        self._supervisor.take("session", {}, "")
        if self.restored is not None and self._saved is None:
            saver, path = self.restored
            if _is_of_run(path, opened.attempt_dir.parents[1]):
                _note(Path(path).parent)
                self.saved(saver, {}, path)
        unsaved = _BY_CHIEF if self._session().sess_str else _UNSEEN
        level = not_exact(_BY_SAVER if _looked_in else unsaved)
        kept = Keeping(self._saved is not None, self.restored is not None, level)
        self._step = self._read_step()
        course = SessionCourse(opened, kept, self._supervisor)
        course.ends = self.closing
        # Workers may have trained on since its checkpoint was restored.
        held = self._step_in(self.restored[1]) if self.restored else None
        if self._is_managed and self._saved is not None:
            held = self._saved.step
        course.created(self._step if held is None else min(held, self._step))
        if self._saved is not None:
            course.saved(self._saved.step, self._saved.folder)
        self.course = course

    @functools.cached_property
    def _counter(self) -> Any:
        graph = self._session().graph
        named = graph.get_collection(_KEYS.GLOBAL_VARIABLES)
        known = graph.get_collection(_KEYS.GLOBAL_STEP)
        return next(iter(known or [each for each in named if each.name == "global_step:0"]), None)

    def _read_step(self) -> int:
        """The global step as far as it can be read, or how many steps this session has made."""
        session = self._session()
        if session is not None and self._counter is not None:
            # It is not initialized, a server is gone, or the session is closed.
            with self.aside(), suppress(tf.errors.OpError, RuntimeError):
                return int(session.run(self._counter, options=_ANSWERED))
        return self._step

    def _step_in(self, path: str) -> int | None:
        """The global step that a checkpoint has; None where it has none, or is on another host."""
        with suppress(tf.errors.OpError, ValueError):
            if self._counter is not None:
                return int(tf.train.load_variable(path, self._counter.op.name))
        return None

    def _has_step(self, fetches: Any) -> bool:
        graph = self._session().graph
        try:
            each = tf.nest.flatten(fetches, expand_composites=True)
            found = [graph.as_graph_element(fetch) for fetch in each]
        except (TypeError, ValueError, KeyError):
            return False  # The run itself reports the error.
        for operation in (getattr(element, "op", element) for element in found):
            if operation.name not in self._trains:
                self._trains[operation.name] = follows_a_step(graph, operation)
            if self._trains[operation.name]:
                return True
        return False


def _is_of_run(path: str, run_dir: Path) -> bool:
    with suppress(OSError):
        return Path(f"{path}.index").stat().st_mtime > (run_dir / RUN_FILE).stat().st_mtime
    return False


def follows_a_step(graph: Any, operation: Any) -> bool:
    """Whether an optimizer's step is made whenever this is computed."""
    steps = {getattr(each, "op", each) for each in graph.get_collection(_KEYS.TRAIN_OP)}
    seen, ahead = set(), [operation]
    while ahead:
        each = ahead.pop()
        if each in steps or each.type.endswith(_GIVES_GRADIENT):
            return True
        if each not in seen:
            seen.add(each)
            ahead += [*(tensor.op for tensor in each.inputs), *each.control_inputs]
    return False


@observing()
def _note(folder: Path) -> None:
    if not is_drawn(folder.resolve()):
        _looked_in.add(folder.resolve())


def _open(
    supervisor: Supervisor, original: Original, session: Any, /, *args: Any, **kwargs: Any
) -> None:
    original(session, *args, **kwargs)
    maker = str(sys._getframe(_CALLER).f_globals.get("__name__", ""))
    if maker.partition(".")[0] not in _FRAMEWORKS:
        _loops[session] = _Loop(session, supervisor)


def _prepare(
    supervisor: Supervisor, original: Original, managing: Any, /, *args: Any, **kwargs: Any
) -> Any:
    """A `tf.compat.v1.train.Supervisor` opens the session, and its chief saves it in a thread."""
    session = original(managing, *args, **kwargs)
    loop = _loops[session] = _Loop(session, supervisor)
    if managing.is_chief and managing.saver and managing.save_path:
        loop.is_kept_by(managing.saver, managing.save_path)
    return session


def _loop_of(session: Any) -> _Loop | None:
    """Of a session that the main thread uses and is not leaving; other threads fill queues."""
    loop = _loops.get(session)
    if loop is None or loop.is_aside or (loop.course is not None and loop.course.left):
        return None
    return loop if threading.current_thread() is threading.main_thread() else None


def _run(original: Original, session: Any, /, *args: Any, **kwargs: Any) -> Any:
    if (loop := _loop_of(session)) is None:
        return original(session, *args, **kwargs)
    loop.look(args[0] if args else kwargs.get("fetches"))
    if loop.course is not None and loop.course.is_due(asked=False):
        loop.course.leave(loop.save_last)
    result = original(session, *args, **kwargs)
    loop.ran()
    return result


def _close(original: Original, session: Any) -> None:
    # Another thread closes it where an exception leaves its block.
    if (loop := _loop_of(session)) is not None:
        loop.closing()
    original(session)


def _save(original: Original, saver: Any, /, sess: Any, *args: Any, **kwargs: Any) -> Any:
    if sess is None or (loop := _loops.get(sess)) is None:
        return original(saver, sess, *args, **kwargs)
    with loop.aside():
        path = original(saver, sess, *args, **kwargs)
    called = inspect.signature(original).bind(saver, sess, *args, **kwargs).arguments
    more = {name: value for name, value in called.items() if name not in ("self", "sess")}
    loop.saved(saver, more, os.fsdecode(path))
    return path


def _restore(original: Original, saver: Any, sess: Any, save_path: Any) -> None:
    if sess is None or (loop := _loops.get(sess)) is None:
        original(saver, sess, save_path)
        return
    with loop.aside():
        original(saver, sess, save_path)
    loop.restored = saver, os.fsdecode(save_path)


def _find(original: Original, /, *args: Any, **kwargs: Any) -> Any:
    folder = args[0] if args else kwargs.get("checkpoint_dir")
    trains = process_session.current() is not None
    if isinstance(folder, str | bytes | os.PathLike) and not trains:
        _note(Path(os.fsdecode(folder)))
    return original(*args, **kwargs)
