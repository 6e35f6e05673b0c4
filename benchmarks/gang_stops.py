"""How soon workers that train together agree on a stop, and have all saved.

First: from the request to the last member's agreement, as their journals say, where one of
`--members` workers under `pitstop launch` is asked by SIGTERM; each time another one, in a new run.
Then, for two workers: from SIGTERM of one until both have saved, and until all processes are gone,
side by side with TensorFlow's PreemptionCheckpointHandler in the same loop.  TensorFlow's servers
listen to everybody:

    unshare -n sh -c 'ip link set lo up && python benchmarks/gang_stops.py [--stops N] [--rounds N]'
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from pitstop import journal
from pitstop.events import CheckpointCommitted, Event, GangStopped, StopRequested
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of

ROOT = Path(__file__).parents[1]
PITSTOP = (sys.executable, "-m", "pitstop.cli.main")
SCRIPT = ROOT / "benchmarks" / "gang_training.py"
PORTS = (7301, 7302)
STEPS = 30  # before each stop
PATIENCE_SECONDS = 120.0


def start(words: list[str], **variables: str) -> subprocess.Popen[str]:
    """A process whose lines are read."""
    return subprocess.Popen(
        words,
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def lines_of(process: subprocess.Popen[str]) -> IO[str]:
    """What it prints."""
    assert process.stdout is not None
    return process.stdout


def until_training(process: subprocess.Popen[str]) -> float:
    """Waits for some steps of the first worker; the usual seconds of a step."""
    times: list[float] = []
    for line in lines_of(process):
        if line.startswith(("step ", "worker 0 | step ")):
            times.append(time.monotonic())
            if len(times) == STEPS:
                return statistics.median(b - a for a, b in itertools.pairwise(times))
    raise SystemExit(f"the training ended with code {process.wait()} before its step {STEPS}")


def times_of(member: Path, kind: type[Event]) -> list[float]:
    """When such events were journaled, in seconds since the epoch."""
    entries = journal.read(open_existing(member).journal).entries
    return [each.time_seconds for each in entries if isinstance(each.event, kind)]


def stop_launch(members: int, asked: int, pause_seconds: float, folder: Path) -> dict[str, float]:
    """Launches a training and stops one member; seconds from SIGTERM."""
    words = [*PITSTOP, "launch", "--workers", str(members), "--run-dir", str(folder), "--"]
    process = start([*words, sys.executable, str(SCRIPT), f"{pause_seconds}"])
    step_seconds = until_training(process)
    runs = [folder / "members" / f"worker-{index}" for index in range(members)]
    supervisor_pid = status_of(open_existing(runs[asked])).supervisor_pid
    assert supervisor_pid is not None
    began = time.time()
    os.kill(supervisor_pid, signal.SIGTERM)
    process.communicate(timeout=PATIENCE_SECONDS)
    gone = time.time()
    requested = min(times_of(run, StopRequested)[0] for run in runs)
    agreed = max(times_of(run, GangStopped)[-1] for run in runs)
    saved = max(times_of(run, CheckpointCommitted)[-1] for run in runs)
    return {
        "step": step_seconds,
        "agreed": agreed - requested,
        "saved": saved - began,
        "gone": gone - began,
    }


def stop_handled(asked: int, pause_seconds: float, folder: Path) -> dict[str, float]:
    """The same two workers under TensorFlow's handler."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in PORTS]}
    workers = []
    for index in range(len(PORTS)):
        task = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        words = [sys.executable, str(SCRIPT), f"{pause_seconds}", str(folder / f"{index}")]
        workers.append(start(words, TF_CONFIG=task))
    step_seconds = until_training(workers[0])
    began = time.time()
    workers[asked].send_signal(signal.SIGTERM)
    saved = []
    for worker in workers:
        said = worker.communicate(timeout=PATIENCE_SECONDS)[0].splitlines()
        saved += [float(line.split()[1]) for line in said if line.startswith("saved ")]
    gone = time.time()
    all_saved = max(saved) - began if len(saved) == len(workers) else math.nan
    return {"step": step_seconds, "saved": all_saved, "gone": gone - began}


def percentile(values: list[float], share: float) -> float:
    """The least value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def main() -> None:
    """Measures, and prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--stops", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between two steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        stops = [
            stop_launch(
                options.members, n % options.members, options.pause, Path(name) / f"run-{n}"
            )
            for n in range(options.stops)
        ]
    agreed = [each["agreed"] for each in stops]
    print("| members | stops | step, s | agreed, s: median | p99 | longest |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {options.members} | {len(stops)} | {statistics.median(s['step'] for s in stops):.3f} "
        f"| {statistics.median(agreed):.3f} | {percentile(agreed, 0.99):.3f} | {max(agreed):.3f} |",
        flush=True,
    )
    found: dict[str, list[dict[str, float]]] = {"Pitstop": [], "PreemptionCheckpointHandler": []}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            found["Pitstop"].append(stop_launch(2, 1, options.pause, folder / "run"))
            handled = stop_handled(1, options.pause, folder)
            found["PreemptionCheckpointHandler"].append(handled)
    print("\n| two workers | step, s | both saved, s | all gone, s |")
    print("|---|---|---|---|")
    for way, cells in found.items():
        medians = [
            statistics.median(each[of] for each in cells) for of in ("step", "saved", "gone")
        ]
        print(f"| {way} | {' | '.join(f'{median:.3f}' for median in medians)} |")


if __name__ == "__main__":
    main()
