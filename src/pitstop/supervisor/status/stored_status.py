"""The status of a run that nobody supervises now: what its folder says."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from pitstop import journal
from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    EpochEnded,
    Event,
    FitStarted,
    LevelKnown,
    ResumeChosen,
    RoleTaken,
    ScriptSaved,
    TrainerExited,
)
from pitstop.journal import Entry, events_of
from pitstop.store.catalog import Catalog
from pitstop.store.manifest import Manifest
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.history import best_of
from pitstop.supervisor.status.status import Status, of_role, with_best

_E = TypeVar("_E", bound=Event)


def stored_status(folder: RunFolder) -> Status:
    """Reads journal and checkpoints; `FormatTooNew` where a newer Pitstop wrote one."""
    manifests = [each.manifest for each in Catalog(folder.checkpoints).entries() if each.manifest]
    entries = journal.read(folder.journal).entries
    return status_from(str(folder.path), entries, manifests[0] if manifests else None, time.time())


def status_from(
    run_dir: str, entries: Sequence[Entry], newest: Manifest | None, now_seconds: float
) -> Status:
    """The status of a run without a supervisor; an attempt without an end has failed."""
    attempt = max((entry.attempt for entry in entries), default=0)
    own = [entry for entry in entries if entry.attempt == attempt]
    started, ended = _last(own, AttemptStarted), _last(own, AttemptEnded)
    exited, resumed = _last(own, TrainerExited), _last(own, ResumeChosen)
    level, fit = _last(own, LevelKnown), _last(own, FitStarted)
    info = newest.info if newest else None
    epochs = events_of(entries, EpochEnded)
    loss = epochs[-1].logs.get("loss") if epochs else None
    status = Status(
        state=ended.state if ended else (State.FAILED if own else State.STARTING).value,
        run_dir=run_dir,
        step=exited.step if exited else info.step if info else None,
        epoch=exited.epoch if exited else info.epoch if info else None,
        epochs=fit.epochs if fit else None,
        step_in_epoch=exited.step_in_epoch if exited else info.step_in_epoch if info else None,
        steps_per_epoch=fit.steps_per_epoch if fit else None,
        attempt=attempt,
        checkpoint_step=info.step if info else None,
        checkpoint_age_seconds=max(0.0, now_seconds - info.created_seconds) if info else None,
        level=level.level if level else info.level if info else "",
        level_reason=level.reason if level else "",
        started_seconds=own[0].time_seconds if started else None,
        resumed_from_step=resumed.step if resumed else None,
        exit_code=ended.exit_code if ended else None,
        loss=loss if loss is None or math.isfinite(loss) else str(loss),
    )
    if (saved := _last(entries, ScriptSaved)) is not None and info is None:
        status = replace(status, checkpoint_step=saved.step)
    role = _last(own, RoleTaken)
    if role is not None and not status.level:
        status = of_role(status, role)
    return with_best(status, best_of(epochs))


def is_completed(entries: Sequence[Entry]) -> bool:
    ends = [each.event for each in entries if isinstance(each.event, AttemptStarted | AttemptEnded)]
    last = ends[-1] if ends else None
    return isinstance(last, AttemptEnded) and last.state == State.COMPLETED.value


def _last(entries: Sequence[Entry], kind: type[_E]) -> _E | None:
    return next(reversed(events_of(entries, kind)), None)
