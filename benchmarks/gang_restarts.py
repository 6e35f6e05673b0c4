"""How long two workers that train together take from the death of one to their next step.

Side by side with the start of the same workers without Pitstop, until their first step: the least
that new processes can need.  A recorded loop also repeats its Python code up to that step.
TensorFlow's servers listen to everybody:

    unshare -n sh -c 'ip link set lo up && python -m benchmarks.gang_restarts'

`--no-spare` restarts without spare processes; with `--spare`, the worker is killed when both spare
processes are ready. `--rounds N` measures so often.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.gang_stops import PITSTOP, PORTS, SCRIPT, lines_of, start, times_of, until_training
from pitstop.events import SpareReady
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of

PAUSE_SECONDS = "0"  # a recorded loop repeats the Python code of its steps, pauses too
TRAINED_SECONDS = 5.0  # before the death


def started() -> float:
    """Seconds from the start of two plain workers to their first step."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in PORTS]}
    began = time.monotonic()
    tasks = [{"type": "worker", "index": index} for index in range(len(PORTS))]
    words = [sys.executable, str(SCRIPT), PAUSE_SECONDS]
    configs = [json.dumps({"cluster": cluster, "task": task}) for task in tasks]
    workers = [start(words, TF_CONFIG=config) for config in configs]
    next(line for line in lines_of(workers[0]) if line.startswith("step "))
    seconds = time.monotonic() - began
    for worker in workers:
        worker.kill()
        worker.communicate()
    return seconds


def restarted(folder: Path, *options: str) -> float:
    """Seconds from SIGKILL of one worker's script to the next step of both."""
    words = [*PITSTOP, "launch", "--workers", "2", "--restarts", "1", *options]
    words += ["--run-dir", str(folder), "--", sys.executable, str(SCRIPT), PAUSE_SECONDS]
    launch = start(words)
    until_training(launch)
    members = [folder / "members" / f"worker-{index}" for index in range(len(PORTS))]
    until = time.monotonic() + TRAINED_SECONDS
    for _ in lines_of(launch):
        if time.monotonic() > until:
            if "--spare" not in options or all(times_of(each, SpareReady) for each in members):
                break
            until += 1.0
    pid = status_of(open_existing(members[1])).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    died = time.monotonic()
    last = died
    for line in lines_of(launch):
        now = time.monotonic()
        if line.startswith("worker 0 | step ") and now - last > 0.5:
            break
        last = now if line.startswith("worker 0 | step ") else last
    seconds = time.monotonic() - died
    launch.send_signal(signal.SIGTERM)
    launch.communicate()
    return seconds


def main() -> None:
    """Measures some rounds, and prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-spare", dest="spare", action="store_const", const="--no-spare")
    parser.add_argument("--spare", action="store_const", const="--spare", help="ready before")
    given = parser.parse_args()
    options = (given.spare,) if given.spare else ()
    rounds = []
    for number in range(given.rounds):
        with tempfile.TemporaryDirectory() as name:
            rounds.append((started(), restarted(Path(name) / "run", *options)))
        print(f"round {number + 1}: {rounds[-1][0]:.2f} and {rounds[-1][1]:.2f} s", flush=True)
    plain, again = (statistics.median(each) for each in zip(*rounds, strict=True))
    ratio = statistics.median(two / one for one, two in rounds)
    print("| plain start to the first step, s | death to the next step, s | ratio |")
    print("|---|---|---|")
    print(f"| {plain:.2f} | {again:.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
