"""Ends the evaluator of an Estimator after the last checkpoint, when its leader has ended.

Public names of TensorFlow 2.15 only.
"""

import functools
import os
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from pitstop.cluster.spec import EVALUATOR, own_task
from pitstop.engine.hooking import Original, hook
from pitstop.tensorflow.sessions.session_course import Supervisor

_seen: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The checkpoint that each Estimator has looked at last."""


def watch(supervisor: Supervisor) -> None:
    task = own_task(os.environ)
    if task is None or task.kind != EVALUATOR:
        return
    for api in (tf.estimator, tf.compat.v1.estimator):
        dir(api)  # It is loaded at the first access.
        hook(api, "train_and_evaluate", functools.partial(_begin, supervisor))
    # Both Estimators have this method of the older one.
    older = tf.compat.v1.estimator.Estimator
    hook(older, "latest_checkpoint", functools.partial(_look, supervisor))


def _begin(supervisor: Supervisor, original: Original, /, *args: Any, **kwargs: Any) -> Any:
    _seen.clear()
    supervisor.take(EVALUATOR, {}, "")
    return original(*args, **kwargs)


def _look(supervisor: Supervisor, original: Original, estimator: Any) -> Any:
    """In the place of `latest_checkpoint`, which is called before each evaluation."""
    found = original(estimator)
    if estimator in _seen and _seen[estimator] == found:
        exit_code = supervisor.serve(waits=False)
        # It may have been saved just before the end.
        if exit_code is not None and original(estimator) == found:
            raise SystemExit(exit_code)
    _seen[estimator] = found
    return found
