"""What Pitstop costs a training: the same script with and without it, in turn.

Both sides alternate in one run, so that a busy machine slows both alike; the
order inside a pair changes from pair to pair.  Prints the time per step of
every run, the ratio of each pair, and the median of the ratios.

    python benchmarks/overhead.py [--pairs N] [--width N] [--steps N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).with_name("timed_training.py")
PITSTOP = [sys.executable, "-m", "pitstop.cli.main", "run"]


def milliseconds_per_step(options: argparse.Namespace, *, supervised: bool) -> float:
    """Time of one training step, without start-up, in one run of the script."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "seconds"
        script = [sys.executable, str(SCRIPT), str(out)]
        script += ["--width", str(options.width), "--steps", str(options.steps)]
        prefix = [*PITSTOP, "--run-dir", str(Path(name) / "run"), "--"] if supervised else []
        subprocess.run([*prefix, *script], check=True, capture_output=True)
        seconds, steps = out.read_text().split()
        return float(seconds) / int(steps) * 1000


def measure_pair(options: argparse.Namespace, number: int) -> tuple[float, float]:
    """Milliseconds per step without and with Pitstop."""
    if number % 2:
        with_it = milliseconds_per_step(options, supervised=True)
        return milliseconds_per_step(options, supervised=False), with_it
    without = milliseconds_per_step(options, supervised=False)
    return without, milliseconds_per_step(options, supervised=True)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--width", type=int, default=640, help="sets the time of a step")
    parser.add_argument("--steps", type=int, default=1200)
    options = parser.parse_args()
    pairs = []
    for number in range(options.pairs):
        without, with_it = measure_pair(options, number)
        pairs.append((without, with_it))
        print(
            f"pair {number + 1}: {without:.3f} ms plain, {with_it:.3f} ms under pitstop, "
            f"ratio {with_it / without:.4f}",
            flush=True,
        )
    ratios = sorted(with_it / without for without, with_it in pairs)
    print(
        f"median: {statistics.median(pair[0] for pair in pairs):.3f} ms plain, "
        f"{statistics.median(pair[1] for pair in pairs):.3f} ms under pitstop; "
        f"median ratio {statistics.median(ratios):.4f} "
        f"(from {ratios[0]:.4f} to {ratios[-1]:.4f})"
    )


if __name__ == "__main__":
    main()
