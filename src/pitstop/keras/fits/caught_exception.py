"""A `fit` that ended in an exception which the script caught: an outcome like any other."""

import functools
import json
import sys
import types
from collections.abc import Mapping
from typing import Any

from pitstop.engine.fence import observing
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.events import Notice
from pitstop.keras.fits.fit_run import FitRun

RAISES_ANOTHER = Notice(
    "exception_unknown",
    "A training had ended with an exception that cannot be recreated: the training is repeated.",
)

_OUT_OF_MEMORY = ("MemoryError", "ResourceExhaustedError")


def describe(error: BaseException) -> dict[str, Any] | None:
    """The exception as JSON; None where it cannot be raised again, or memory has run out."""
    kind = type(error)
    record = {
        "module": kind.__module__,
        "class": kind.__qualname__,
        "arguments": list(error.args),
        "attributes": dict(vars(error)),
        "message": str(error),
    }
    if kind.__name__ in _OUT_OF_MEMORY:
        return None
    try:
        # By their texts: a loss that is not a number differs from itself, a tuple is no list.
        is_plain = repr(json.loads(json.dumps(record))) == repr(record)
    except (TypeError, ValueError):
        return None
    return record if is_plain and again(record) is not None else None


def again(record: Mapping[str, Any]) -> Exception | None:
    # Only modules that the script has imported: nothing is loaded by name.
    kind = getattr(sys.modules.get(str(record["module"])), str(record["class"]), None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    is_of_script = isinstance(vars(kind).get("__init__"), types.FunctionType)
    try:
        # A constructor of the script's own may take other arguments than it hands on.
        new = functools.partial(kind.__new__, kind) if is_of_script else kind
        error = new(*record["arguments"])
        vars(error).update(record.get("attributes", {}))
        is_same = str(error) == record["message"] and list(error.args) == record["arguments"]
    except Exception:  # noqa: BLE001
        # Code of the script's own.
        return None
    return error if is_same else None


class CaughtOutcome:
    """The outcome of a `fit` that raised, held until it shows that the script has caught it."""

    def __init__(self) -> None:
        self._cut: StateCapture | None = None

    @observing()
    def hold(self, run: FitRun, error: BaseException, *, is_restored: bool) -> None:
        # Its state at the end of its last epoch is saved, also if the script ends by the exception.
        run.session.snapshots.keep_behind_error(None if is_restored else run.held)
        run.raised = None if is_restored else describe(error)
        if run.raised and run.callbacks is not None and run.epoch_iterator is not None:
            run.steps_finished()
            self._cut = run.take(milestone="fit_end")
        run.held = None

    def save(self, session: Session) -> None:
        cut, self._cut = self._cut, None
        if cut is not None:
            session.snapshots.milestone(lambda: cut)
