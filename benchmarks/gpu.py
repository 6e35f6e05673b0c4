"""Whether a training on this machine's device is restored exactly, and what saving it costs there.

First a state of each size is trained with and without Pitstop, in turn: the most memory of the
device, and the time of a step; where TensorFlow takes the whole device at its start, as it does by
default, and where it takes memory as it needs it ("grows").  Then each kind of training is
drilled: killed and stopped, resumed, and compared with the run that nobody disturbed, bit for bit;
with deterministic ops and without.

On a machine without a GPU it does the same on the CPU, and says so.  Ten minutes on a GPU.

    python benchmarks/gpu.py [--megabytes 100 1000 10000] [--rounds N] [--seconds S]
        [--jobs N] [--kills N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TRAINING = (sys.executable, str(ROOT / "benchmarks/gpu_training.py"))
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
KINDS = ("fit", "dense", "mixed", "jit", "images", "attention", "loop")
WARM_UP_STEPS = 10
DEVICE = "from pitstop.tensorflow.devices import computed_with; print(computed_with()['device'])"


def run(
    command: tuple[str, ...], folder: str, *, deterministic: bool = False, grows: bool = True
) -> str:
    """What a command prints; its environment asks for deterministic ops or does not."""
    growth = {"TF_FORCE_GPU_ALLOW_GROWTH": str(grows).lower()}
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **growth}
    environment.pop("TF_DETERMINISTIC_OPS", None)
    if deterministic:
        environment["TF_DETERMINISTIC_OPS"] = "1"
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


def drilled(kind: str, kills: int, deterministic: bool) -> str:
    """How many of the interrupted runs of a training have the bits of the one that was not."""
    with tempfile.TemporaryDirectory() as folder:
        drill = (*PITSTOP, "drill", "--json", "--kills", str(kills), "--stops", "1", "--")
        command = (*drill, *TRAINING, kind)
        found = json.loads(run(command, folder, deterministic=deterministic))
    same = sum(each["identical"] for each in found["trials"])
    return f"{same} of {len(found['trials'])}"


def trained(megabytes: int, seconds: float, *, saved: bool, grows: bool) -> dict[str, Any]:
    """One training of a state of this size, with Pitstop where it is `saved`."""
    command: tuple[str, ...] = (*TRAINING, "dense", "--megabytes", str(megabytes))
    command = (*command, "--steps", str(10**6), "--seconds", str(seconds))
    if saved:
        options = ("--run-dir", "run", "--overhead", "50%")
        command = (*PITSTOP, "run", *options, "--", *command)
    with tempfile.TemporaryDirectory() as folder:
        lines = run(command, folder, grows=grows).splitlines()
    found: dict[str, Any] = json.loads(next(line for line in lines if line.startswith("{")))
    return found


def cost_row(megabytes: int, rounds: int, seconds: float, *, grows: bool) -> str:
    """The line of one size in the second table."""
    plain, saved = [], []
    for _ in range(rounds):
        plain.append(trained(megabytes, seconds, saved=False, grows=grows))
        saved.append(trained(megabytes, seconds, saved=True, grows=grows))
    peaks = [max(each["peak_bytes"] for each in side) / 1e6 for side in (plain, saved)]
    steps = [_times(side) for side in (plain, saved)]
    medians = [statistics.median(side) for side in steps]
    more = f"{100 * (peaks[1] - peaks[0]) / megabytes:.1f} %" if peaks[0] else "no GPU"
    longest = [max(side) - medians[0] for side in steps]
    name = f"{megabytes}, grows" if grows else f"{megabytes}"
    return (
        f"| {name} | {peaks[0]:.0f} | {peaks[1]:.0f} | **{more}** | {medians[0]:.2f} "
        f"| {medians[1]:.2f} | {longest[0]:.1f} | **{longest[1]:.1f}** |"
    )


def _times(trainings: list[dict[str, Any]]) -> list[float]:
    return [ms for each in trainings for ms in each["milliseconds"][WARM_UP_STEPS:]]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--megabytes", type=int, nargs="+", default=[100, 1000, 10000])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15, help="of each training")
    parser.add_argument("--jobs", type=int, default=1, help="drills at a time")
    parser.add_argument("--kills", type=int, default=3, help="of each drill, beside one stop")
    parser.add_argument("--only", choices=("costs", "drills"))
    options = parser.parse_args()
    print(f"Device: {run((sys.executable, '-c', DEVICE), str(ROOT)).strip()}")
    if options.only != "drills":
        print_costs(options)
    if options.only != "costs":
        print_drills(options.jobs, options.kills)


def print_costs(options: argparse.Namespace) -> None:
    """The table of memory and time."""
    print("\nLongest: of all steps, beyond the median of a step without Pitstop.\n")
    print(
        "| state, MB | peak, MB | with Pitstop | more | step, ms | with Pitstop | longest | with |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for megabytes, grows in product(options.megabytes, (False, True)):
        print(cost_row(megabytes, options.rounds, options.seconds, grows=grows), flush=True)


def print_drills(jobs: int, kills: int) -> None:
    """The table of bits."""
    print("\n| training | identical, deterministic ops | identical, any ops |")
    print("|---|---|---|")
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda each: drilled(*each), product(KINDS, (kills,), (True, False)))
        for kind in KINDS:
            print(f"| {kind} | {next(found)} | {next(found)} |", flush=True)


if __name__ == "__main__":
    main()
