"""From the death of a trainer to the next step, with a spare process and without one.

One training is started with `pitstop run --restarts 1`, killed (SIGKILL) when its spare process
is ready, or has trained as long, and comes back by itself; with and without a spare in turn. The
restart's own wait, half a second to a second, is part of the time.

Prints a Markdown table of medians.

    python benchmarks/restart.py [--rounds N] [--megabytes N]
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pitstop import journal, steps
from pitstop.events import AttemptStarted, RestartPlanned, SpareReady, TrainerExited
from pitstop.journal import Entry

SCRIPT = Path(__file__).with_name("resumed_training.py")
PITSTOP = (sys.executable, "-m", "pitstop.cli.main", "run", "--run-dir", "run", "--restarts", "1")
EPOCHS = "100000"
WAYS = ("--spare", "--no-spare")
_LOOK_SECONDS = 0.1


def entries(folder: Path) -> tuple[Entry, ...]:
    path = folder / "run" / "journal.jsonl"
    return journal.read(path).entries if path.exists() else ()


def seen(folder: Path, kind: type) -> Entry:
    """Waits for the first event of a kind."""
    while True:
        for entry in entries(folder):
            if isinstance(entry.event, kind):
                return entry
        time.sleep(_LOOK_SECONDS)


def first_step_of_second(folder: Path) -> float:
    """When the second attempt has done its first step, in seconds since the epoch."""
    path = folder / "run" / "attempts" / "2" / steps.FILE_NAME
    while not path.exists() or (first := next(iter(steps.read(path)), None)) is None:
        time.sleep(_LOOK_SECONDS)
    return first.time_seconds


def restart(way: str, megabytes: int, train_seconds: float) -> tuple[float, float, float]:
    """Seconds of training before the kill, to the next step, and of those the restart's wait."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = (*PITSTOP, way, "--", sys.executable, str(SCRIPT), str(megabytes), EPOCHS)
        null = subprocess.DEVNULL
        with subprocess.Popen(command, cwd=folder, stdout=null, stderr=null) as supervisor:
            started = seen(folder, AttemptStarted)
            if way == "--spare":
                ready = seen(folder, SpareReady)
                train_seconds = ready.time_seconds - started.time_seconds
            else:
                time.sleep(max(0.0, started.time_seconds + train_seconds - time.time()))
            assert isinstance(started.event, AttemptStarted)
            os.kill(started.event.trainer_pid, signal.SIGKILL)
            died, planned = seen(folder, TrainerExited), seen(folder, RestartPlanned)
            seconds = first_step_of_second(folder) - died.time_seconds
            supervisor.terminate()
        assert isinstance(planned.event, RestartPlanned)
        return train_seconds, seconds, planned.event.wait_seconds


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=8, help="of state")
    arguments = parser.parse_args()
    found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    for _ in range(arguments.rounds):
        train_seconds = 0.0
        for way in WAYS:
            found[way].append(restart(way, arguments.megabytes, train_seconds))
            train_seconds = found[way][-1][0]
    print("| | killed after | to the next step | of it waited |")
    print("|---|---|---|---|")
    for way, rows in found.items():
        cells = [statistics.median(column) for column in zip(*rows, strict=True)]
        print(f"| `{way}` | {' | '.join(f'{each:.2f} s' for each in cells)} |")


if __name__ == "__main__":
    main()
