"""Has a MonitoredSession end in order when the run is asked to stop: it saves itself then.

Public names of TensorFlow only.  `tf.compat.v1.train.CheckpointSaverHook` saves at the end of its
session if the session ends without an exception, so that the loop is ended by `request_stop`, and
the script is left when the session is closed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import tensorflow as tf


class AwaitedStop(Protocol):
    """Whether the run was asked to stop."""

    @property
    def exit_code(self) -> int | None:
        """What the process is to end with; None while nobody asks."""


_Call = Callable[..., Any]
_hooks: WeakKeyDictionary[Any, _StopHook] = WeakKeyDictionary()


class _StopHook(tf.compat.v1.train.SessionRunHook):
    """Ends the loop of a session behind the step under way.

    Args:
        watch_stop: begins to wait for a stop, once the session is there: a worker may wait half a
            minute for its chief, and has nothing to end in order before that.
    """

    def __init__(self, watch_stop: Callable[[], AwaitedStop]) -> None:
        self._watch_stop = watch_stop
        self._stop: AwaitedStop | None = None

    @property
    def exit_code(self) -> int | None:
        """What the process is to end with; None while nobody asks."""
        return self._stop.exit_code if self._stop else None

    def after_create_session(self, _session: Any, _coordinator: Any) -> None:
        """Part of the protocol of hooks."""
        self._stop = self._stop or self._watch_stop()

    def after_run(self, run_context: Any, _run_values: Any) -> None:
        """Part of the protocol of hooks."""
        if self.exit_code is not None:
            run_context.request_stop()


def open_session(
    watch_stop: Callable[[], AwaitedStop], original: _Call, session: Any, *args: Any, **kwargs: Any
) -> None:
    """In the place of `__init__`: a session that is saved, by itself or by its chief, gets a hook.

    Args:
        watch_stop: begins to wait for a stop.
        original: the constructor.
        session: what is constructed.
        args: of the constructor.
        kwargs: of the constructor.
    """
    try:
        call = inspect.signature(original).bind(session, *args, **kwargs)
    except TypeError:
        # The script's own mistake, which the constructor tells in its own words.
        original(session, *args, **kwargs)
        return
    hooks = list(call.arguments.get("hooks") or ())
    if _is_saved(hooks, call.arguments.get("session_creator")):
        hook = _hooks[session] = _StopHook(watch_stop)
        call.arguments["hooks"] = [*hooks, hook]
    original(*call.args, **call.kwargs)


def leave_session(original: _Call, session: Any, *args: Any) -> Any:
    """In the place of `__exit__` and `close`: leaves the script of a session that was stopped.

    Raises:
        SystemExit: it was.
    """
    ended = original(session, *args)
    hook = _hooks.get(session)
    failed = bool(args) and args[0] is not None and not ended
    if hook is not None and hook.exit_code is not None and not failed:
        raise SystemExit(hook.exit_code)
    return ended


def _is_saved(hooks: Iterable[Any], creator: Any) -> bool:
    saves = any(isinstance(hook, tf.compat.v1.train.CheckpointSaverHook) for hook in hooks)
    return saves or isinstance(creator, tf.compat.v1.train.WorkerSessionCreator)
