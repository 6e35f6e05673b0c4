"""What Pitstop costs a training: the same script with and without it, turn by turn.

Three trainings live at the same time and take turns of a few hundred steps, so
that whatever else slows the machine slows all alike: one as it is, one more as
it is (the control: what it differs by is the error of the measurement), and one
under Pitstop.  Several such groups are started one after the other, because two
processes of one program differ too.  Reported are

- wall: the median, over all rounds, of the ratio of a turn's time;
- cpu: the ratio of all processor time, of every process of that side (with
  Pitstop: trainer, supervisor and persister), with its 95 % bootstrap interval.

Processor time counts what is copied and written beside the steps, which on idle
cores delays nobody; it is an upper bound of what a training can lose.

Pitstop budgets by the clock, and its training waits two thirds of the time; so
it is given a third of the default budget, which is the default's rate of
snapshots per second of training.

    python benchmarks/overhead.py [--groups N] [--rounds N] [--width N] [--batch N] [--steps N]
        [--options "--every=1steps"]
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

SCRIPT = Path(__file__).with_name("timed_training.py")
SIDES = ("plain", "control", "pitstop")
PITSTOP = [sys.executable, "-m", "pitstop.cli.main", "run"]
BUDGET = "--overhead=0.333%"
WARM_UP_TURNS = 2
RESAMPLES = 2000


@dataclass(frozen=True)
class Turn:
    """What one turn of one side took."""

    wall_seconds: float
    cpu_seconds: float


class Side:
    """One of the trainings of a group."""

    def __init__(self, prefix: list[str], options: argparse.Namespace) -> None:
        command = [*prefix, sys.executable, str(SCRIPT)]
        command += ["--width", str(options.width), "--batch", str(options.batch)]
        command += ["--steps", str(options.steps)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._root = psutil.Process(self._process.pid)
        for _ in range(WARM_UP_TURNS):
            self.turn()

    def turn(self) -> Turn:
        """Lets the training do a turn."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        before = self._cpu_seconds()
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        wall_seconds = float(self._process.stdout.readline())
        return Turn(wall_seconds, self._cpu_seconds() - before)

    def end(self) -> None:
        """Lets the training end as it likes to."""
        self._process.communicate(timeout=60)

    def _cpu_seconds(self) -> float:
        times = [p.cpu_times() for p in [self._root, *self._root.children(recursive=True)]]
        return sum(each.user + each.system for each in times)


Round = tuple[Turn, ...]


def measure_group(options: argparse.Namespace) -> list[Round]:
    """One turn of every side in `SIDES`, round by round."""
    with tempfile.TemporaryDirectory() as folder:
        words = options.options.split()
        supervised = [*PITSTOP, *words, "--run-dir", str(Path(folder) / "run"), "--"]
        sides = [Side(prefix, options) for prefix in ([], [], supervised)]
        rounds = []
        for number in range(options.rounds):
            order = [(number + place) % len(sides) for place in range(len(sides))]
            turns = {place: sides[place].turn() for place in order}
            rounds.append(tuple(turns[place] for place in range(len(sides))))
        for side in sides:
            side.end()
        return rounds


def wall_ratio(rounds: list[Round], side: int) -> float:
    """The median ratio of a turn's time to that of the plain side."""
    return statistics.median(each[side].wall_seconds / each[0].wall_seconds for each in rounds)


def cpu_ratio(rounds: list[Round], side: int) -> float:
    """All processor time of a side over that of the plain side."""
    plain, other = (sum(each[place].cpu_seconds for each in rounds) for place in (0, side))
    return other / plain


def interval(rounds: list[Round], side: int) -> tuple[float, float]:
    """The 95 % bootstrap interval of `cpu_ratio`."""
    chance = random.Random(1)
    drawn = sorted(cpu_ratio(chance.choices(rounds, k=len(rounds)), side) for _ in range(RESAMPLES))
    return drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)]


def report(rounds: list[Round], steps: int) -> None:
    """Prints a line for each side."""
    for place, name in enumerate(SIDES):
        step_ms = statistics.median(each[place].wall_seconds for each in rounds) / steps * 1000
        low, high = interval(rounds, place)
        print(
            f"{name:8} {step_ms:.3f} ms per step; wall {wall_ratio(rounds, place):.4f}, "
            f"cpu {cpu_ratio(rounds, place):.4f} (95 %: {low:.4f} to {high:.4f})"
        )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=60, help="turns of each side of a group")
    parser.add_argument("--width", type=int, default=1100, help="sets the time of a step")
    parser.add_argument("--batch", type=int, default=64, help="sets the time of a step, too")
    parser.add_argument("--steps", type=int, default=100, help="steps of a turn")
    parser.add_argument("--options", default=BUDGET, help="for `pitstop run`")
    options = parser.parse_args()
    every: list[Round] = []
    for number in range(options.groups):
        rounds = measure_group(options)
        every += rounds
        ratios = ", ".join(
            f"{name} wall {wall_ratio(rounds, place):.4f} cpu {cpu_ratio(rounds, place):.4f}"
            for place, name in enumerate(SIDES[1:], start=1)
        )
        print(f"group {number + 1}: {ratios}", flush=True)
    report(every, options.steps)


if __name__ == "__main__":
    main()
