"""What saving costs a training: Pitstop beside every other way, in one training, turn by turn.

Starts `saving_training.py` under `pitstop run` for every size and kind of state, and prints a table
for each: how long the training thread was kept per save, and what a save cost in all, which is how
much longer a turn took than the turn of the same round in which nobody saved.  "control" saves
nothing, too: what it costs is the error of the measurement.  Medians over the rounds.

    python benchmarks/saving.py [--kinds dense sparse] [--megabytes 8 80 800 4000] [--rounds N]
        [--only NAME ...] [--plot FILE]

A state of 4 GB does not fit into 24 GB beside all of them: `--only` takes some.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TRAINING = [sys.executable, "-m", "benchmarks.saving_training"]
NO_SNAPSHOTS = "0.0001%"
"""Pitstop saves when it is its turn, and not by its own cadence."""
STEPS = {8: 60, 80: 30, 800: 6, 4000: 4}
"""Steps of a turn, by megabytes of state: about two seconds."""


WARM_UP_ROUNDS = 1
"""Contenders make their buffers and files in it; it does not count."""


@dataclass(frozen=True)
class Cost:
    """What one contender cost, in milliseconds; the spread is half of that of the middle half."""

    name: str
    kept: float
    added: float
    spread: float


def run(kind: str, megabytes: int, rounds: int, only: list[str]) -> list[dict[str, Any]]:
    """The turns of one training; of every contender unless some are named."""
    steps = STEPS.get(megabytes, 6)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pitstop.cli.main", "run", "--overhead", NO_SNAPSHOTS]
        command += ["--run-dir", f"{folder}/run", "--", *TRAINING]
        command += ["--kind", kind, "--megabytes", str(megabytes)]
        command += ["--rounds", str(WARM_UP_ROUNDS + rounds), "--steps", str(steps)]
        command += ["--only", "nothing", *only] if only else []
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def costs(turns: list[dict[str, Any]]) -> list[Cost]:
    """What each contender cost, against the turn of its round in which nobody saved."""
    names = list(dict.fromkeys(turn["name"] for turn in turns))
    turns = turns[WARM_UP_ROUNDS * len(names) :]
    rounds = [turns[start : start + len(names)] for start in range(0, len(turns), len(names))]
    added: dict[str, list[float]] = defaultdict(list)
    for each in rounds:
        [plain] = [turn["turn"] for turn in each if turn["name"] == "nothing"]
        for turn in each:
            added[turn["name"]].append((turn["turn"] - plain) * 1e3)
    kept = {
        name: statistics.median(turn["kept"] for turn in turns if turn["name"] == name) * 1e3
        for name in names
    }
    return [
        Cost(name, kept[name], statistics.median(added[name]), _spread(added[name]))
        for name in names
    ]


def _spread(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / 2


def table(kind: str, megabytes: int, found: list[Cost]) -> str:
    """A table of the costs, in Markdown."""
    lines = [f"\n**{megabytes} MB, {kind}**\n", "| | kept, ms | in all, ms |", "|---|---|---|"]
    lines += [
        f"| {cost.name} | {cost.kept:.1f} | {cost.added:.0f} ± {cost.spread:.0f} |"
        for cost in sorted(found, key=lambda cost: cost.kept)
        if cost.name != "nothing"
    ]
    return "\n".join(lines)


def plot(results: dict[tuple[str, int], list[Cost]], path: Path) -> None:
    """Bars of the time that the training thread is kept, for every size of a kind."""
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(kind for kind, _ in results))
    figure, axes = plt.subplots(1, len(kinds), figsize=(6 * len(kinds), 4.5), squeeze=False)
    for axis, kind in zip(axes[0], kinds, strict=True):
        sizes = [size for each, size in results if each == kind]
        names = [
            cost.name for cost in results[kind, sizes[0]] if cost.name not in ("nothing", "control")
        ]
        for name in names:
            kept = [next(c.kept for c in results[kind, size] if c.name == name) for size in sizes]
            axis.plot(sizes, kept, marker="o", label=name, linewidth=3 if "Pitstop" in name else 1)
        axis.set(
            xscale="log",
            yscale="log",
            title=kind,
            xlabel="state, MB",
            ylabel="training thread kept, ms",
        )
        axis.grid(visible=True, which="major", alpha=0.3)
    axes[0][-1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=["dense", "sparse"])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[8, 80, 800])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", default=[], help="contenders by name, not all")
    parser.add_argument("--plot", type=Path, help="an SVG or PNG file")
    options = parser.parse_args()
    results = {}
    for kind in options.kinds:
        for megabytes in options.megabytes:
            results[kind, megabytes] = costs(run(kind, megabytes, options.rounds, options.only))
            print(table(kind, megabytes, results[kind, megabytes]), flush=True)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
