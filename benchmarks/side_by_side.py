"""What a kill costs a training under Pitstop, Keras' BackupAndRestore, and tf.train.Checkpoint.

One script, killed after the same step and run again by the same command; each
way is compared with its own uninterrupted run. Prints a Markdown table:

- done again: steps computed a second time, because the kill lost them;
- too many: updates that the final weights hold beyond those that were asked for;
- other bits: of the steps, how many left another loss or other weights behind;
- History: whether it has every epoch, with the same bits. A loop has none.

    python benchmarks/side_by_side.py [--kill-at STEP]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("interrupted_training.py")
PITSTOP = (sys.executable, "-m", "pitstop.cli.main", "run")


@dataclass(frozen=True)
class Way:
    """A way to keep a training.

    Attributes:
        name: as the table calls it.
        options: for the script.
        pitstop: options for `pitstop run`; None without it.
    """

    name: str
    options: tuple[str, ...] = ()
    pitstop: tuple[str, ...] | None = None


WAYS = (
    Way("Pitstop, as it comes", pitstop=()),
    Way("Pitstop, every step", pitstop=("--every", "1steps")),
    Way("BackupAndRestore, every epoch", ("--keep", "backup")),
    Way("BackupAndRestore, every step", ("--keep", "backup", "--every-steps", "1")),
    Way("tf.train.Checkpoint with iterator, every epoch", ("--keep", "loop")),
    Way("tf.train.Checkpoint with iterator, every step", ("--keep", "loop", "--every-steps", "1")),
)

Step = dict[str, Any]


@dataclass(frozen=True)
class Trained:
    """What a training left behind: its steps in the order they ran, and its History."""

    steps: list[Step]
    history: dict[str, list[float]]

    @classmethod
    def read(cls, folder: Path) -> Trained:
        """Reads what the script wrote."""
        lines = (folder / "steps.jsonl").read_text().splitlines()
        history = json.loads((folder / "end.json").read_text())
        return cls([json.loads(line) for line in lines], history)

    @property
    def updates(self) -> int:
        """Updates that the final weights hold."""
        return int(self.steps[-1]["updates"])

    def lasting(self) -> dict[int, Step]:
        """Of every update, the step that computed it last."""
        return {int(step["updates"]): step for step in self.steps}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    done_again: int
    too_many: int
    other_bits: int
    steps: int
    history: str

    @classmethod
    def of(cls, name: str, whole: Trained, resumed: Trained) -> Row:
        """Compares a resumed training with the uninterrupted one."""
        expected, actual = whole.lasting(), resumed.lasting()
        return cls(
            name,
            done_again=len(resumed.steps) - len(actual),
            too_many=resumed.updates - whole.updates,
            other_bits=sum(actual.get(update) != step for update, step in expected.items()),
            steps=len(expected),
            history=_history(whole.history, resumed.history),
        )

    def markdown(self) -> str:
        """The line."""
        return (
            f"| {self.name} | {self.done_again} | {self.too_many} "
            f"| {self.other_bits} of {self.steps} | {self.history} |"
        )


def _history(whole: dict[str, list[float]], resumed: dict[str, list[float]]) -> str:
    if not whole:
        return "none to keep"
    if whole == resumed:
        return "whole"
    epochs, kept = whole["epoch"], resumed["epoch"]
    return f"{len(kept)} of {len(epochs)} epochs" if kept != epochs else "other values"


def train(way: Way, folder: Path, kill_at: int, attempts: int) -> Trained:
    """Runs the script in a folder as often as it takes, once unless it is killed."""
    folder.mkdir()
    command = [sys.executable, str(SCRIPT), str(folder), *way.options, "--kill-at", str(kill_at)]
    if way.pitstop is not None:
        command = [*PITSTOP, "--run-dir", str(folder / "run"), *way.pitstop, "--", *command]
    for _ in range(attempts):
        subprocess.run(command, capture_output=True, check=False)
    return Trained.read(folder)


def measure(way: Way, kill_at: int) -> Row:
    """The line of one way."""
    with tempfile.TemporaryDirectory() as name:
        whole = train(way, Path(name) / "whole", kill_at=0, attempts=1)
        resumed = train(way, Path(name) / "resumed", kill_at, attempts=2)
        return Row.of(way.name, whole, resumed)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kill-at", type=int, default=33, help="step; an epoch has 20, a run 80")
    options = parser.parse_args()
    print("| | done again | too many | other bits | History |")
    print("|---|---|---|---|---|", flush=True)
    for way in WAYS:
        print(measure(way, options.kill_at).markdown(), flush=True)


if __name__ == "__main__":
    main()
