"""What Pitstop costs a script that calls `fit` for each batch, as in deep Q-learning.

usage: python -m benchmarks.short_fits [--rounds N] [--fits N]

Each round runs the same script without and with Pitstop, in turn. The figures are milliseconds of
processor time per `fit`, of all threads, measured inside of the script.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_PITSTOP = (sys.executable, "-m", "pitstop.cli.main", "run", "--no-status-line", "--run-dir")
_SCRIPT = Path(__file__).with_name("short_fits_training.py")
_MEMORIES = {
    "batch": "only the batch",
    "deque": "a deque of 2,000 transitions",
    "list": "a list of 5,000 transitions",
    "array": "an array of 47 MB in a global",
}


def main() -> None:
    """Measures some rounds and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fits", type=int, default=100)
    options = parser.parse_args()
    print(f"{'the script holds':<32} {'plain, ms':>10} {'Pitstop, ms':>12} {'ratio':>6}")
    for memory, words in _MEMORIES.items():
        rounds = [_round(memory, options.fits) for _ in range(options.rounds)]
        plain, watched = (statistics.median(each) for each in zip(*rounds, strict=True))
        ratio = statistics.median(two / one for one, two in rounds)
        print(f"{words:<32} {plain:>10.1f} {watched:>12.1f} {ratio:>6.2f}", flush=True)


def _round(memory: str, fits: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        words = (sys.executable, str(_SCRIPT), memory, str(fits))
        watched = (*_PITSTOP, str(Path(folder) / "run"), "--", *words)
        return _milliseconds(words), _milliseconds(watched)


def _milliseconds(words: tuple[str, ...]) -> float:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ended = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    line = next(line for line in ended.stdout.splitlines() if line.startswith("PER FIT "))
    return float(line.split()[2])


if __name__ == "__main__":
    main()
