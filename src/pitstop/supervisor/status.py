"""What there is to say about a run at one moment; times in seconds, sizes in bytes."""

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Self

from pitstop import events, journal
from pitstop.cluster.spec import Task
from pitstop.errors import PitstopError
from pitstop.events import JsonValue
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_FAILED, EXIT_STOPPED
from pitstop.flight.sample import Sample, TrainingSample
from pitstop.journal import Entry, events_of, last_of
from pitstop.link.beacon import Phase, Progress
from pitstop.record import Frozen
from pitstop.store.catalog import Catalog
from pitstop.store.gang_folder import member_dir
from pitstop.store.manifest import Manifest
from pitstop.store.run_folder import RunFolder, open_existing
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.history import BestEpoch, best_of

SUSPENDED = "suspended"  # state of a run whose supervisor or trainer is suspended, as by Ctrl-Z
NO_ANSWER = "no_answer"  # phase of a run whose holder does not say more
# Users see three states of a live run; ending and saving are how it stops.
_PUBLIC = dict.fromkeys((State.ENDING, State.SAVING, State.SAVED), State.STOPPING)


class Status(Frozen):
    """A run's status; None where something is not known (yet)."""

    state: str  # starting, running, stopping, stopped, completed, failed or suspended
    run_dir: str = ""
    step: int | None = None  # training steps completed over the whole run
    epoch: int | None = None  # current epoch, counted from 0 as in Keras; so is `best_epoch`
    epochs: int | None = None
    step_in_epoch: int | None = None
    steps_per_epoch: int | None = None
    pid: int | None = None  # process id of the trainer
    supervisor_pid: int | None = None
    attempt: int = 0  # how many times the command was started
    checkpoint_step: int | None = None
    checkpoint_age_seconds: float | None = None
    checkpoint_interval_seconds: float | None = None  # between checkpoints that nobody asks for
    losses: int = 0  # attempts that lost their snapshots in memory too
    snapshot_step: int | None = None
    level: str = ""  # how exact a resume will be, as in `events.LevelKnown`
    level_reason: str = ""
    phase: str = ""
    rate: float | None = None  # steps per second, smoothed
    eta_seconds: float | None = None
    loss: float | str | None = None  # loss at the last boundary; NaN and infinities as text
    best_metric: str = ""
    best_value: float | None = None
    best_epoch: int | None = None
    rss_bytes: int | None = None  # of the trainer
    memory_bytes: int | None = None  # of all processes of the command
    input_share: float | None = None  # share of the steps' time that goes into waiting for input
    forecasts: list[str] = field(default_factory=list)
    snapshot_memory_bytes: int | None = None  # size of the two places for snapshots
    snapshot_backing: str = ""  # "memory", or "file" for a nameless file in the run's folder
    snapshot_limit_bytes: int | None = None  # `--snapshot-memory`; None for half of what is free
    started_seconds: float | None = None  # when the attempt started, seconds since the epoch
    resumed_from_step: int | None = None
    exit_code: int | None = None
    replay_step: int | None = None  # whose place in the input is found by drawing batches again
    replayed_batches: int | None = None
    batches_to_replay: int | None = None
    on_hang: str = ""  # what follows a standstill: "warn", "kill", "restart"; empty without a watch
    silent_seconds: float | None = None  # since the last progress
    patience_seconds: float | None = None  # a longer silence is a standstill
    standstill: str = ""  # where the training stands still, in words; empty while it does not
    leader: str = ""
    common_step: int | None = None  # newest step that all members which train together have saved
    members: list[JsonValue] = field(default_factory=list)  # name, host, state, phase, step
    restarts: int = 0
    restarts_left: int = 0
    rollbacks: int = 0

    def to_json(self) -> dict[str, JsonValue]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, body: dict[str, JsonValue]) -> Self:
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in body.items() if key in known})


def _with_best(status: Status, best: BestEpoch | None) -> Status:
    if best is None:
        return status
    return replace(status, best_metric=best.metric, best_value=best.value, best_epoch=best.epoch)


def _of_role(status: Status, role: events.RoleTaken | None) -> Status:
    if role is None or status.level:
        return status
    reason = f"process {role.pid} {role.part} and is not saved"
    return replace(status, level="not_exact", level_reason=reason)


def with_progress(status: Status, progress: Progress) -> Status:
    status = replace(status, phase=progress.phase.name.lower())
    if progress.phase is Phase.RESTORING and progress.batches_to_replay:
        return replace(
            status,
            replay_step=progress.replay_step,
            replayed_batches=progress.replayed_batches,
            batches_to_replay=progress.batches_to_replay,
        )
    if progress.phase in (Phase.STARTING, Phase.RESTORING):
        # The position on the page is that of a process which has not trained yet.
        return status
    rate = 1.0 / progress.step_seconds if progress.step_seconds > 0 else None
    return replace(
        _placed(status, progress, rate),
        snapshot_step=progress.snapshot_step if progress.snapshot_step >= 0 else None,
        loss=_json_loss(progress.loss),
    )


def _placed(status: Status, place: Progress | TrainingSample, rate: float | None) -> Status:
    total = place.epochs * place.steps_per_epoch
    done = place.epoch * place.steps_per_epoch + place.step_in_epoch
    return replace(
        status,
        step=place.step,
        epoch=place.epoch,
        epochs=place.epochs or None,
        step_in_epoch=place.step_in_epoch,
        steps_per_epoch=place.steps_per_epoch or None,
        rate=rate,
        eta_seconds=max(0, total - done) / rate if rate is not None and total else None,
    )


def with_sample(status: Status, sample: Sample | None) -> Status:
    told = sample.training if sample else None
    if sample is None or told is None:
        return status
    return replace(
        _placed(status, told, told.rate),
        phase=told.phase,
        loss=status.loss if told.loss is None else _json_loss(told.loss),
        pid=sample.trainer.pid if sample.trainer else None,
        memory_bytes=sample.memory_bytes or None,
    )


def _json_loss(loss: float) -> float | str | None:
    # NaN is "no loss yet" before the first boundary and a diverged loss after
    # it; strict JSON has no number for either.
    return loss if math.isfinite(loss) else (None if math.isnan(loss) else str(loss))


def live_status(
    identity: Status,
    state: State,
    attempt_state: AttemptState,
    progress: Progress,
    now_seconds: float,
) -> Status:
    saved_seconds = attempt_state.checkpoint_seconds
    # The clock may have been set back since.
    age_seconds = None if saved_seconds is None else max(0.0, now_seconds - saved_seconds)
    status = replace(
        identity,
        state=_PUBLIC.get(state, state).value,
        step=attempt_state.checkpoint_step,
        epoch=attempt_state.checkpoint_epoch,
        checkpoint_step=attempt_state.checkpoint_step,
        checkpoint_age_seconds=age_seconds,
        level=attempt_state.level,
        level_reason=attempt_state.level_reason,
        resumed_from_step=attempt_state.resumed_from_step,
        common_step=attempt_state.common_step,
    )
    status = _of_role(status, attempt_state.role)
    status = _with_best(status, attempt_state.best)
    if attempt_state.role is not None and progress.phase is Phase.STARTING:
        return replace(status, phase=attempt_state.role.role)
    return with_progress(status, progress)


def stored_status(folder: RunFolder) -> Status:
    """Reads journal and checkpoints; `FormatTooNew` where a newer Pitstop wrote one."""
    newest = next(iter(Catalog(folder.checkpoints).manifests()), None)
    entries = journal.read(folder.journal).entries
    return status_from(str(folder.path), entries, newest, time.time())


def status_from(
    run_dir: str, entries: Sequence[Entry], newest: Manifest | None, now_seconds: float
) -> Status:
    """The status of a run without a supervisor; an attempt without an end has failed."""
    own = journal.of_last_attempt(entries)
    started, ended = last_of(own, events.AttemptStarted), last_of(own, events.AttemptEnded)
    exited, resumed = last_of(own, events.TrainerExited), last_of(own, events.ResumeChosen)
    level, fit = last_of(own, events.LevelKnown), last_of(own, events.FitStarted)
    info = newest.info if newest else None
    place = exited if exited and (exited.step or fit) else info
    epochs = events_of(entries, events.EpochEnded)
    loss = epochs[-1].logs.get("loss") if epochs else None
    status = Status(
        state=ended.state if ended else (State.FAILED if own else State.STARTING).value,
        run_dir=run_dir,
        step=place.step if place else None,
        epoch=place.epoch if place else None,
        epochs=fit.epochs if fit else None,
        step_in_epoch=place.step_in_epoch if place else None,
        steps_per_epoch=fit.steps_per_epoch if fit else None,
        attempt=own[0].attempt if own else 0,
        checkpoint_step=info.step if info else None,
        checkpoint_age_seconds=max(0.0, now_seconds - info.created_seconds) if info else None,
        level=level.level if level else info.level if info else "",
        level_reason=level.reason if level else "",
        started_seconds=own[0].time_seconds if started else None,
        resumed_from_step=resumed.step if resumed else None,
        exit_code=ended.exit_code if ended else None,
        loss=loss if loss is None or math.isfinite(loss) else str(loss),
    )
    refused = last_of(own, events.RollbackRefused)
    if refused and status.exit_code in (EXIT_COMPLETED, EXIT_STOPPED):
        # Another run would stop at the same number.
        status = replace(status, state=State.FAILED.value, exit_code=EXIT_FAILED)
    if (common := last_of(own, events.GangSaved)) is not None:
        status = replace(status, common_step=common.step)
    if (saved := last_of(entries, events.ScriptSaved)) is not None and info is None:
        status = replace(status, checkpoint_step=saved.step)
    status = _of_role(status, last_of(own, events.RoleTaken))
    return _with_best(status, best_of(epochs))


def has_completed(task: Task, gang: Path) -> bool | None:
    """Whether the training of a task has, by its folder in that of a launch; None without one."""
    try:
        run = open_existing(member_dir(gang, task.kind, task.index))
    except PitstopError:
        return None
    return is_completed(journal.read(run.journal).entries)


def is_completed(entries: Sequence[Entry]) -> bool:
    kinds = (events.AttemptStarted, events.AttemptEnded)
    last = next((each.event for each in reversed(entries) if isinstance(each.event, kinds)), None)
    return isinstance(last, events.AttemptEnded) and last.state == State.COMPLETED.value
