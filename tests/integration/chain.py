"""A run that is interrupted at one point after the other, and the bits it ends with."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from pitstop.events import (
    CheckpointCommitted,
    FitRestored,
    LevelKnown,
    Notice,
    Restored,
    TrainerStopped,
)
from tests.integration.compare import assert_identical
from tests.integration.keras_run import OUT, REAL, SCRIPTS, KerasRun
from tests.integration.supervisor.launch import PITSTOP, run_alone

BY_COST: tuple[str, ...] = ()
"""Options for snapshots as any user has them."""

STEPS = 20
VALIDATION_BATCHES = 6
EXIT_CODES = {"kill": 128 + 9, "stop": 75}
_POINT = re.compile(r"(kill|stop)@(batch|test|epoch|fit):(\d+)")


@dataclass(frozen=True)
class Point:
    """Where an attempt ends: in the callbacks of the count-th batch, validation batch or epoch."""

    action: str
    place: str
    count: int

    @classmethod
    def parse(cls, text: str) -> Point:
        found = _POINT.fullmatch(text)
        assert found, text
        return cls(found[1], found[2], int(found[3]))

    def step(self, steps_per_execution: int, steps_per_fit: int) -> int:
        """The last boundary that the attempt reaches; a stop still reaches the next one."""
        steps = {
            "batch": self.count - (steps_per_execution if self.action == "kill" else 0),
            "test": STEPS * -(-self.count // VALIDATION_BATCHES),
            "epoch": STEPS * self.count,
            "fit": steps_per_fit * self.count,
        }
        return steps[self.place]


@dataclass(frozen=True)
class Chain:
    """Interruptions of one configuration of `train.py`, in the order they happen.

    Attributes:
        arguments: for the script.
        points: such as "kill@batch:5 stop@test:2", counted over the whole run.
        options: for `pitstop run`.
        level: how exact every resume must say it is.
        paced: the steps are slowed down, so that snapshots by cost happen too.
    """

    arguments: tuple[str, ...]
    points: str
    # With less, epochs this short would not have a cut held before each validation.
    options: tuple[str, ...] = ("--every", "1steps", "--overhead", "50%")
    level: str = "exact"
    paced: bool = False

    def parsed(self) -> list[Point]:
        return [Point.parse(point) for point in self.points.split()]

    def number(self, argument: str, otherwise: int) -> int:
        """The value of a numeric argument of the script."""
        if argument not in self.arguments:
            return otherwise
        return int(self.arguments[self.arguments.index(argument) + 1])

    def run_in(self, folder: Path, interpreter: tuple[str, ...] = REAL) -> KerasRun:
        """The run, not started yet."""
        pace = ("--pace", "0.02") if self.paced else ()
        environment = {
            "FAULTS": self.points,
            "FAULTS_DONE": str(folder / "faults"),
            "STOP_COMMAND": f"{' '.join(PITSTOP)} stop run --no-wait",
        }
        return KerasRun(
            folder,
            "train.py",
            (OUT, *self.arguments, *pace),
            self.options,
            environment,
            interpreter=interpreter,
        )


def interrupt_everywhere(
    chain: Chain, folder: Path, baseline: Path, interpreter: tuple[str, ...] = REAL
) -> None:
    """Runs a chain and fails when an attempt or the final bits are not as they must be."""
    run = chain.run_in(folder, interpreter)
    points = chain.parsed()
    for attempt, point in enumerate(points, start=1):
        ended = run.attempt()
        assert ended.returncode == EXIT_CODES[point.action], (point, ended.stderr)
        _check_end(chain, run, attempt, point)
        _check_restored(chain, run, attempt)
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    _check_restored(chain, run, len(points) + 1)
    _check_levels(chain, run)
    assert_identical(baseline, folder / OUT)
    assert "random_generators_missing" not in {notice.code for notice in run.events(Notice)}
    assert all(row["problem"] == "" for row in run.verify())
    assert run.processes() == []


def _check_end(chain: Chain, run: KerasRun, attempt: int, point: Point) -> None:
    stride = chain.number("--steps-per-execution", 1)
    step = point.step(stride, STEPS * chain.number("--epochs", 3))
    assert run.reached_step(attempt) == step, point
    saved = run.saved_step(attempt)
    if point.action == "stop":
        assert saved == step, point
        assert run.last(TrainerStopped, attempt).step == step, point
    elif "1steps" in chain.options:
        # The copy of the last boundary runs beside the step that is killed.
        assert (saved or 0) >= step - stride, point


def _check_restored(chain: Chain, run: KerasRun, attempt: int) -> None:
    """An attempt goes on at what was saved, and says what is done again."""
    saved = run.saved_step(attempt - 1)
    told = run.events(Restored, attempt)
    if saved is None:
        assert told == []
    elif _finished_a_fit(run, attempt - 1):
        assert told == []
        assert run.last(FitRestored, attempt).step == saved
    else:
        lost = run.reached_step(attempt - 1) - saved
        found = [(each.step, each.lost_steps, each.level) for each in told]
        assert found == [(saved, lost, chain.level)], told


def _finished_a_fit(run: KerasRun, attempt: int) -> bool:
    """Whether the newest checkpoint of an attempt is the end of a fit."""
    saved = [event for n in range(attempt + 1) for event in run.events(CheckpointCommitted, n)]
    manifest = run.folder / "run" / "checkpoints" / saved[-1].path / "manifest.json"
    # One that is gone by now was no end of a fit: those are kept.
    return manifest.exists() and bool(json.loads(manifest.read_text())["info"]["milestone"])


def _check_levels(chain: Chain, run: KerasRun) -> None:
    assert {event.level for event in run.events(LevelKnown)} == {chain.level}


def train_alone(
    folder: Path, arguments: tuple[str, ...], interpreter: tuple[str, ...] = REAL
) -> Path:
    """What the script writes without Pitstop, never interrupted."""
    out = folder / OUT
    run_alone(folder, *interpreter, SCRIPTS / "train.py", out, *arguments)
    return out
