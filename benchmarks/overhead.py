"""What supervision costs: a training script alone against the same under `pitstop run`.

Runs both in turn, so that a busy machine slows both alike, and prints the
seconds of every run and the medians.  Usage: overhead.py [REPETITIONS [SCRIPT]].
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEFAULT_SCRIPT = Path(__file__).parent.parent / "examples" / "digits_cnn.py"
DEFAULT_REPETITIONS = 3


def plain(script: Path, folder: Path) -> list[str]:
    """The command that trains without Pitstop."""
    return [sys.executable, str(script), "--out", str(folder / "out")]


def supervised(script: Path, folder: Path) -> list[str]:
    """The command that trains the same under supervision."""
    pitstop = str(Path(sys.executable).with_name("pitstop"))
    return [pitstop, "run", "--run-dir", str(folder / "run"), "--", *plain(script, folder)]


def seconds_of(command: list[str]) -> float:
    """Wall-clock seconds of a command, from its start to its end.

    Raises:
        SystemExit: the command failed; says how, with the end of its output.
    """
    start = time.monotonic()
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    seconds = time.monotonic() - start
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout[-2000:]}")
    return seconds


def measure_pair(script: Path) -> tuple[float, float]:
    """Seconds of one plain and one supervised run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return seconds_of(plain(script, folder)), seconds_of(supervised(script, folder))


def main() -> None:
    """Measures and prints."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_REPETITIONS
    script = Path(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT_SCRIPT
    pairs: list[tuple[float, float]] = []
    for number in range(1, repetitions + 1):
        pairs.append(measure_pair(script))
        print(f"run {number}: plain {pairs[-1][0]:.2f} s, supervised {pairs[-1][1]:.2f} s")
    plain_seconds = statistics.median(pair[0] for pair in pairs)
    supervised_seconds = statistics.median(pair[1] for pair in pairs)
    overhead = supervised_seconds / plain_seconds - 1
    print(
        f"median: plain {plain_seconds:.2f} s, supervised {supervised_seconds:.2f} s, "
        f"overhead {supervised_seconds - plain_seconds:+.2f} s ({overhead:+.1%})"
    )


if __name__ == "__main__":
    main()
