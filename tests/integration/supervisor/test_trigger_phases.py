"""Every way to ask for a stop in every phase of a trainer: one rule, whoever asks and wherever.

The trainer speaks the protocol, and says that it is in the phase; what TensorFlow does in them
is in `test_stopping.py`.  A few cells are for every day, the whole table is torture.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from pitstop.events import AttemptEnded, StopDeadlinePassed, StopRequested, TrainerStopped
from pitstop.supervisor.stops.cloud import ENV_URL
from tests.integration.supervisor.launch import (
    TRAINER,
    call,
    events,
    finish,
    last,
    processes_in,
    start,
    until,
    until_line,
)
from tests.supervisor.metadata import Google, Metadata, serving

PHASES = (*("FIRST_STEP", "TRAIN", "VALIDATION", "PREDICT", "BETWEEN_FITS", "RESTORING", "SAVING"),)
# What a busy machine takes to end three processes.
_SOON_SECONDS = 5.0
_GRACE_SECONDS = 1.0

Run = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Asked:
    """A run that trains, and where it can be asked to stop."""

    folder: Path
    run: Run
    metadata: Metadata


@dataclass(frozen=True)
class Trigger:
    """A way to ask.

    Attributes:
        source: what the journal says of it.
        ask: asks, unless the run does so itself.
        options: for `pitstop run`.
        trainer_options: for the trainer.
    """

    source: str
    ask: Callable[[Asked], object] = lambda _: None
    options: tuple[str, ...] = ()
    trainer_options: tuple[str, ...] = ()


def _signal(number: signal.Signals) -> Trigger:
    return Trigger("signal", lambda asked: asked.run.send_signal(number))


def _preempt(asked: Asked) -> None:
    asked.metadata.said = "TRUE"


TRIGGERS = {
    "SIGINT": _signal(signal.SIGINT),
    "SIGTERM": _signal(signal.SIGTERM),
    "SIGHUP": _signal(signal.SIGHUP),
    "SIGUSR1": _signal(signal.SIGUSR1),
    "command": Trigger("command", lambda asked: call(asked.folder, "stop", "run", "--no-wait")),
    "file": Trigger("file", lambda asked: (asked.folder / "run" / "stop").touch()),
    "script": Trigger("script", trainer_options=("--asks-at", "12")),
    # Two seconds are for the stop; the start of a busy machine takes as much.
    "time-limit": Trigger("time_limit", options=("--max-time", "9s")),
    "cloud": Trigger("preemption", _preempt, ("--preemption", "gce")),
}

_TABLE = [(trigger, phase) for phase in PHASES for trigger in TRIGGERS]
# Each phase once, by another way each.
_DAILY = set(zip(TRIGGERS, PHASES, strict=False))


_CELLS = [
    pytest.param(*cell, marks=[] if cell in _DAILY else [pytest.mark.torture]) for cell in _TABLE
]


def _train(folder: Path, trigger: Trigger, phase: str, *more: str) -> tuple[Run, float]:
    """Starts a training, waits until it is under way, and asks it to stop; when that was."""
    trainer = (sys.executable, TRAINER, "--phase", phase, *trigger.trainer_options, *more)
    options = (*trigger.options, "--grace", f"{_GRACE_SECONDS}s") if more else trigger.options
    with ExitStack() as stack:
        metadata = stack.enter_context(serving(Google, "FALSE"))
        words = ("run", "--run-dir", "run", *options, "--", *trainer)
        run = start(folder, *words, **{ENV_URL: metadata.url})
        until_line(run, b"step 5\n")
        trigger.ask(Asked(folder, run, metadata))
        # The server must not be gone before it was asked.
        until(lambda: events(folder, StopRequested))
    return run, time.monotonic()


@pytest.mark.parametrize(("name", "phase"), _CELLS)
def test_a_stop_is_obeyed_at_the_next_boundary(tmp_path: Path, name: str, phase: str) -> None:
    trigger = TRIGGERS[name]
    run, began = _train(tmp_path, trigger, phase)
    ended = finish(run)
    assert time.monotonic() - began < _SOON_SECONDS
    assert ended.returncode == 75, ended.stderr
    assert last(tmp_path, StopRequested).source == trigger.source
    end = last(tmp_path, AttemptEnded)
    assert end.checkpoint_step == end.step == last(tmp_path, TrainerStopped).step
    assert events(tmp_path, StopDeadlinePassed) == []
    assert processes_in(tmp_path) == []


@pytest.mark.torture
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", ["SIGTERM", "script", "cloud"])
def test_where_no_boundary_comes_the_newest_snapshot_is_saved(
    tmp_path: Path, name: str, phase: str
) -> None:
    run, began = _train(tmp_path, TRIGGERS[name], phase, "--deaf")
    ended = finish(run)
    assert time.monotonic() - began < _GRACE_SECONDS + _SOON_SECONDS
    assert ended.returncode == 75, ended.stderr
    waited = last(tmp_path, StopDeadlinePassed)
    assert waited.phase == phase.lower()
    assert waited.waited_seconds < _GRACE_SECONDS + 1.0
    end = last(tmp_path, AttemptEnded)
    assert end.checkpoint_step is not None
    assert end.step - end.checkpoint_step <= 1
    assert processes_in(tmp_path) == []
