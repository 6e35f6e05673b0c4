"""The lines that Pitstop itself prints during a run.  Pure."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pitstop import events
from pitstop.durations import about, duration, wait
from pitstop.exit_codes import EXIT_REFUSED, EXIT_TERMINATED
from pitstop.store.run_folder import STOP_FILE
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records import fingerprint
from pitstop.supervisor.records.attempt_state import AttemptState

NO_TRAINING = events.Notice(
    "no_training",
    "No training was detected: `stop` and `why` work, but nothing can be saved.",
    "Pitstop detects `model.fit`, custom loops and sessions of TensorFlow, and `pitstop.start`; "
    "`python -I`, `-E` and `-S` switch Pitstop off.",
)
ABANDONED = "the script ended without the training that was interrupted after step {}"
NO_TRAINING_YET = events.Notice(
    "no_training_yet",
    "No training has been detected yet; nothing is saved until one starts.",
    f"It may still be loading data. {NO_TRAINING.remedy}",
)
DAEMONIZED = events.Notice(
    "daemonized",
    "The script moved to the background; it is supervised until its last process ends.",
)
TRAINS_BESIDE = events.Notice(
    "trains_beside",
    "Two processes of the script train at the same time: only the first one is saved.",
    "Use `pitstop run` for each of them, with its own run folder, or run one after the other.",
)
NO_PERSISTER = events.Notice(
    "no_persister",
    "The process that saves checkpoints keeps dying; training continues without new checkpoints.",
    "Free memory or disk space; Pitstop retries every minute. The last checkpoint is still valid.",
)
SAVE_TAKES_LONG = events.Notice(
    "save_takes_long",
    "The last save is taking a long time; the disk may not be responding.",
    "To let it finish in the background, press Ctrl-C twice or use `pitstop stop --now`.",
)
SAVE_LEFT = events.Notice(
    "save_left",
    "The last save is not finished; its process continues in the background.",
    "Run the same command again: it waits for that process, then resumes from what it saved.",
)

_WHO_ASKS = {
    "condition": "as --stop-when requests",
    "nan": "as --on-nan rollback requests",
    "file": f"as the file {STOP_FILE} in the run folder requests",
    "preemption": "the cloud is taking this machine away",
    "pressure": "as --on-pressure requests",
    "script": "as the script requests",
    "time_limit": "the time limit is near",
}
_ACTIONS = {
    "warn": "",
    "kill": " It is being killed.",
    "restart": " It is being killed and restarted.",
}
_RESOURCES = {
    "memory": "memory",
    "disk": "disk space",
    "open_files": "open files",
    "tasks": "processes and threads",
}
_LIMITED_BY = {"cgroup": " of its cgroup", "machine": " of the machine"}
_BYTES = frozenset({"memory", "disk"})
_MOST_METRICS = 4
_MOST_WEIGHTS = 3
_LEVELS = {"exact": "exact", "exact_by_replay": "exact by replay", "not_exact": "not exact"}


def checkpoint_asked(signal_name: str, *, taken: bool, leader: str) -> events.Notice:
    """`leader`: the task that was asked, where this one saves nothing."""
    if taken:
        message = f"{signal_name}: saving a checkpoint at the next step."
        if leader:
            message = f"{signal_name}: asked {leader} to save a checkpoint, for all of the cluster."
        return events.Notice("checkpoint_asked", message)
    return nothing_to_save(f"{signal_name}: there is nothing to save: no training is running.")


def nothing_to_save(reason: str) -> events.Notice:
    return events.Notice("nothing_to_save", reason)


def line_for(event: events.Event) -> str:
    line = _LINES.get(type(event))
    return line(event) if line is not None else ""


_MEMBER_ENDS = {
    "stopped": "was stopped",
    "failed": "has failed",
    "lost": "no longer responds and is considered lost",
}


def level_text(level: str, reason: str = "") -> str:
    text = _LEVELS.get(level, level)
    return f"{text}: {reason}" if level == "not_exact" and reason else text


def final_lines(
    state: State, exit_code: int, attempt_state: AttemptState, run_dir: Path, seconds: float = 0.0
) -> tuple[str, ...]:
    after, why = f"after {duration(seconds)}", f"`pitstop why {run_dir}` explains why"
    if state is State.COMPLETED and not attempt_state.rollback_refused:
        how = f"; exit code 0, though model.fit did not return ({why})"
        outcome = _outcome(attempt_state) + (how if attempt_state.trains else "")
        return (f"complete {after}{outcome}; the run is {run_dir}.",)
    step = attempt_state.checkpoint_step
    saved = "nothing was saved" if step is None else f"saved at step {step}"
    if attempt_state.rollback_refused:
        return (f"failed {after}; {saved}; running it again would fail the same way ({why}).",)
    if state is State.FAILED and attempt_state.resume_refused:
        return (f"the run was not resumed; {saved} as before (`pitstop why {run_dir}`).",)
    released = attempt_state.released
    if state is State.STOPPED and released and attempt_state.ends_as_released:
        return (f"ended {after} because {released.leader} has ended.",)
    if state is State.FAILED and released and exit_code == EXIT_REFUSED:
        return (
            f"ended {after}; {released.leader} had completed: only --new trains again ({why}).",
        )
    if state is State.STOPPED and attempt_state.saves_nothing:
        return (f"stopped {after} with the script's own exit code, {exit_code}; {saved}.",)
    again = "run the same command again to resume" if attempt_state.checkpoint else "run it again"
    if state is State.STOPPED and exit_code == EXIT_TERMINATED:
        return (f"stopped {after}; the leader has completed: only --new trains again ({why}).",)
    if state is State.STOPPED and attempt_state.saves_itself and not attempt_state.checkpoint:
        saved, again = "its chief saves the training", "run all members again to resume"
    if state is State.STOPPED:
        return (f"stopped {after}; {saved}; {again} (details: `pitstop why {run_dir}`).",)
    how = f"with exit code {exit_code}" if exit_code else "though its command returned 0"
    return (
        f"{after} the script failed {how}; {saved}.",
        f"{why}; {again}.",
    )


def outcome_of(state: State, exit_code: int) -> str:
    if state is State.FAILED:
        return f"it failed with exit code {exit_code}"
    return "the training has completed" if state is State.COMPLETED else "it was stopped"


def _outcome(attempt_state: AttemptState) -> str:
    """The last epoch and its metrics; empty where no epoch has ended."""
    last = attempt_state.last_epoch
    if last is None:
        return ""
    shown = [f"{name} {value:.4g}" for name, value in last.logs.items()][:_MOST_METRICS]
    return f": {', '.join([f'epoch {last.epoch + 1}', *shown])}"


def _stop_line(event: events.StopRequested) -> str:
    if event.source == "setting":
        return "stopping at the step that --halt-at-step set."
    if event.urgency == "now":
        return "stopping immediately, at the last snapshot if there is one."
    if event.source in _WHO_ASKS:
        reason = f": {event.reason}" if event.reason else ""
        return f"stopping, {_WHO_ASKS[event.source]}{reason}."
    return "stopping (press Ctrl-C again to stop immediately)."


def _place(event: events.Restored | events.NonFiniteLoss) -> str:
    if event.epoch == 0 and event.step_in_epoch == event.step:
        return f"step {event.step}"  # more is not known of a custom loop
    return f"step {event.step} (epoch {event.epoch + 1}, step {event.step_in_epoch})"


def _stalled_line(event: events.TrainingStalled) -> str:
    seconds, phase = f"{event.seconds:.0f} s", event.phase.replace("_", " ")
    stacks = f" Stacks: {event.stacks_file}." if event.stacks_file else ""
    where = f"no progress for {seconds} at step {event.step} ({phase}): {event.place}."
    return f"{where}{stacks}{_ACTIONS.get(event.action, '')}"


def _bad_weights_line(event: events.NonFiniteWeights) -> str:
    more = ", ..." if len(event.names) > _MOST_WEIGHTS else ""
    names = ", ".join(event.names[:_MOST_WEIGHTS])
    last = f"step {event.finite_step}" if event.finite_step >= 0 else "none"
    return (
        f"weights hold NaN or infinite numbers at step {event.step}: {names}{more}. The training "
        f"is useless from then on, whatever its loss. The last checkpoint without them: {last}."
    )


def mirror_lost(last_words: str, *, again: bool) -> events.Notice:
    then = "Starting another one." if again else "The next attempt uploads what is missing."
    return events.Notice(
        "mirror_lost", f"the process that updates the mirror ended: {last_words}.", then
    )


def _given_up_line(event: events.UploadGivenUp) -> str:
    missing = ", ".join(event.missing) or "missing files unknown"
    return (
        f"the mirror is incomplete ({missing}): {event.error.rstrip('.')}. The local folder is "
        "complete; run the same command again to upload the rest."
    )


def _forecast_line(event: events.ExhaustionForecast) -> str:
    place = _LIMITED_BY.get(event.place, f" on {event.place}" if event.place else "")
    grown = f"use has grown by {_rate(event)} for {about(event.window_seconds)}"
    python = ", as have Python's objects" if event.growing == "python" else ""
    left = f"{_amount(event.resource, event.left)} are left{place}"
    return f"{short_forecast(event)}: {grown}{python}; {left}."


def short_forecast(event: events.ExhaustionForecast) -> str:
    name = _RESOURCES.get(event.resource, event.resource)
    return f"out of {name} in about {about(event.seconds_left)}"


def _rate(event: events.ExhaustionForecast) -> str:
    """An amount for each second, minute or hour: the first that gives a readable number."""
    for unit, size in (("second", 1), ("minute", 60), ("hour", 3600)):
        amount = event.per_second * size
        if amount >= (1e6 if event.resource in _BYTES else 1.0) or unit == "hour":
            return f"{_amount(event.resource, amount)} each {unit}"
    return ""


def _amount(resource: str, amount: float) -> str:
    if resource not in _BYTES:
        return f"{amount:,.0f}"
    return f"{amount / 1e9:,.1f} GB" if amount >= 1e9 else f"{amount / 1e6:,.1f} MB"


def _rolled_back_line(event: events.RolledBack) -> str:
    rate = f"{event.learning_rate:.4g}" if event.learning_rate else ""
    then = {
        "skip": f"the batch of step {event.step} is skipped",
        "rate": f"the learning rate is at most {rate} there",
        "clip": "gradients are clipped from there",
        "look": "searching for the step that makes the weights bad",
    }[event.action]
    place = f"step {event.to_step}" if event.checkpoint else "the beginning"
    count = f"rollback {event.rollback} of {event.rollbacks}"
    was = "was" if event.metric == "loss" else "were"
    bad = f"the {event.metric} {was} not finite at step {event.step}"
    return f"{bad}: back to {place}; {then} ({count})."


def _skipped_line(event: events.BatchSkipped) -> str:
    found = f"; {'; '.join(event.found)}" if event.found else ""
    place = f" It is in {event.file}." if event.file else ""
    number = event.step_in_epoch
    batch = f"batch {number} of the validation after" if event.in_validation else "the batch of"
    return f"{batch} step {event.step} is skipped{found}.{place}"


def _level_line(event: events.LevelKnown) -> str:
    if event.level != "not_exact":
        return ""
    what = "this run is not" if event.has_deviated else "a resume of this run will not be"
    return f"{what} exact: {event.reason}"


_LINES: Mapping[type[events.Event], Callable[[Any], str]] = {
    events.StopRequested: _stop_line,
    events.StopDeadlinePassed: lambda e: (
        f"ended after {e.waited_seconds:.1f} s of waiting: {e.reason}."
    ),
    events.Restored: lambda e: f"resuming at {_place(e)}: {level_text(e.level, e.reason)}",
    events.LevelKnown: _level_line,
    events.EnvironmentChanged: fingerprint.describe,
    events.CheckpointFailed: lambda e: (
        f"step {e.step} could not be saved: {e.error} {e.remedy}".strip() + " Training continues."
    ),
    events.CheckpointQuarantined: lambda e: (
        f"a damaged checkpoint was set aside as {e.path}: {e.reason}."
    ),
    events.InstrumentationUnavailable: lambda e: (
        f"nothing can be saved in this attempt: {e.reason} {e.remedy}".strip()
    ),
    events.Notice: lambda e: f"{e.message} {e.remedy}".strip(),
    events.TrainingStalled: _stalled_line,
    events.TrainingWentOn: lambda e: f"the training continues after {e.seconds:.0f} s.",
    events.ExhaustionForecast: _forecast_line,
    events.RestartPlanned: lambda e: (
        f"failed ({e.cause}); restart {e.restart} of {e.restarts} {wait(e.wait_seconds)}."
    ),
    events.RestartRefused: lambda e: f"not restarted: {e.reason}.",
    events.RolledBack: _rolled_back_line,
    events.RollbackRefused: lambda e: f"not rolled back: {e.reason}.",
    events.BatchSkipped: _skipped_line,
    events.BatchDivided: lambda e: (
        f"step {e.step} ran out of memory ({e.cause}): repeating it, with each batch from now on "
        f"in {e.parts} parts."
    ),
    events.BuffersReduced: lambda e: (
        f"step {e.step} ran out of memory ({e.cause}): repeating it with smaller input buffers, "
        f"in the same order: {', '.join(e.buffers)}."
    ),
    events.PrecisionReduced: lambda e: (
        f"step {e.step} ran out of memory ({e.cause}): repeating it with {e.policy} as Keras' "
        "default precision, which changes the results."
    ),
    events.DivisionRefused: lambda e: f"not computed in smaller parts: {e.reason}.",
    events.RestartCancelled: lambda _: (
        "stopped while waiting to restart; run the same command again to resume."
    ),
    events.NonFiniteLoss: lambda e: (
        f"the {e.metric} became {e.value} at {_place(e)}: the training is useless from here on."
    ),
    events.NonFiniteWeights: _bad_weights_line,
    events.UploadFailed: lambda e: (
        f"{e.error} {e.remedy}".strip() + " Pitstop retries it; training continues."
    ),
    events.UploadGivenUp: _given_up_line,
    events.MemberReleased: lambda e: f"{e.leader}: {e.reason}; this run ends too.",
    events.MemberEnded: lambda e: (
        f"{e.task} on {e.host} {_MEMBER_ENDS[e.state]}." if e.state in _MEMBER_ENDS else ""
    ),
    events.MemberRestarted: lambda e: f"{e.task} on {e.host} has ended and is being restarted.",
    # All others say more, or train, after that.
    events.RoleTaken: lambda e: (
        f"process {e.pid} {e.part}; it is not saved; a stop is passed on to it."
        if e.role == "server"
        else ""
    ),
}
