"""From SIGTERM to the process gone, in every phase and with states of several sizes.

Pitstop (`fit` under `pitstop run`) side by side with TensorFlow's PreemptionCheckpointHandler on a
loop of the script's own.  Each cell is the median of the rounds: when the process was gone, and
when the state was safe on the disk ("nothing": there was nothing yet, or it had to be killed).
The bound is one step, the state's bytes at the speed of this disk (twice where it is being
written already), and half a second; where the training thread reaches no boundary, it is
Pitstop's own patience instead, which the table names.

    python benchmarks/stop_latency.py [--megabytes 1 100 800] [--phases training ...] [--rounds N]
"""

from __future__ import annotations

import argparse
import mmap
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pitstop import journal
from pitstop.events import CheckpointCommitted, Event, StopDeadlinePassed

ROOT = Path(__file__).parents[1]
PHASES = ("training", "validation", "predict", "compile", "stall", "saving", "between")
OPTIONS = {"saving": ("--every", "8steps"), "between": ("--grace", "5s")}
"""Of `pitstop run`: a checkpoint behind each eighth step; a patience that is less than the wait."""

PITSTOP = (sys.executable, "-m", "pitstop.cli.main", "run", "--run-dir")
MARGIN_SECONDS = 0.5
PATIENCE_SECONDS = 40.0
"""A process that is still there after it is killed."""
PIECE_BYTES = 8 << 20


@dataclass(frozen=True)
class Stop:
    """How one stop went.

    Attributes:
        seconds: from SIGTERM to the process gone.
        step_seconds: of the last steps before it, in the middle; 0 before the first.
        waited_seconds: how long Pitstop waited for a boundary in vain, 0 when it did not.
        saved_seconds: from SIGTERM to the checkpoint on disk; None when there is none.
        killed: it had to be.
    """

    seconds: float
    step_seconds: float
    waited_seconds: float
    saved_seconds: float | None
    killed: bool


def stop(way: str, phase: str, megabytes: int, folder: Path) -> Stop:
    """Starts a training, waits until it is in the phase, and stops it."""
    checkpoints, run = folder / "ckpt", folder / "run"
    command = [sys.executable, "-m", "benchmarks.stopped_training", "--way", way]
    command += ["--phase", phase, "--megabytes", str(megabytes), "--folder", str(checkpoints)]
    launcher = [*PITSTOP, str(run), *OPTIONS.get(phase, ()), "--"] if way == "fit" else []
    process = subprocess.Popen(
        [*launcher, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    step_seconds = until_ready(process)
    began = time.time()
    process.send_signal(signal.SIGTERM)
    killed = not ends(process)
    seconds = time.time() - began
    if way == "fit":
        entries = journal.read(run / "journal.jsonl").entries
        commits = [each for each in entries if isinstance(each.event, CheckpointCommitted)]
        saved = max((each.time_seconds for each in commits), default=None)
        waits = waited([each.event for each in entries])
    else:
        saved = max((file.stat().st_mtime for file in checkpoints.glob("*.index")), default=None)
        waits = 0.0
    after = None if saved is None else max(0.0, saved - began)
    return Stop(seconds, step_seconds, waits, after, killed)


def until_ready(process: subprocess.Popen[str]) -> float:
    """Waits for the phase; the usual time of a step until then."""
    steps: list[float] = []
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step "):
            steps.append(float(line.split()[1]))
        elif line.startswith("ready"):
            return statistics.median(steps) if steps else 0.0
    raise SystemExit(f"the training ended with code {process.wait()} before its phase")


def ends(process: subprocess.Popen[str]) -> bool:
    """Whether it ends by itself; it is killed if it does not."""
    try:
        process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return False
    return True


def waited(events: list[Event]) -> float:
    """How long it was waited for a boundary in vain."""
    return sum(event.waited_seconds for event in events if isinstance(event, StopDeadlinePassed))


def disk_seconds(size_bytes: int, folder: Path) -> float:
    """What this disk takes to write so many bytes, past the page cache, and to sync them."""
    buffer = memoryview(mmap.mmap(-1, PIECE_BYTES))
    path = folder / "probe"
    began = time.monotonic()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
    for _ in range(-(-size_bytes // PIECE_BYTES)):
        os.write(fd, buffer)
    os.fsync(fd)
    os.close(fd)
    seconds = time.monotonic() - began
    path.unlink()
    return seconds


def cell(stops: list[Stop]) -> str:
    """The stops of one way, for the table."""
    seconds = statistics.median(each.seconds for each in stops)
    if any(each.killed for each in stops):
        return f"> {PATIENCE_SECONDS:.0f} (killed)"
    saved = [each.saved_seconds for each in stops if each.saved_seconds is not None]
    return f"{seconds:.2f} ({f'saved {statistics.median(saved):.2f}' if saved else 'nothing'})"


def row(phase: str, megabytes: int, rounds: int) -> str:
    """One line of the table."""
    found: dict[str, list[Stop]] = {"fit": [], "loop": []}
    disk: list[float] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            disk.append(disk_seconds(megabytes * 10**6, Path(name)))
            for way, stops in found.items():
                (Path(name) / way).mkdir()
                stops.append(stop(way, phase, megabytes, Path(name) / way))
    ours = found["fit"]
    step = statistics.median(each.step_seconds for each in ours)
    waited_seconds = statistics.median(each.waited_seconds for each in ours)
    writes = (2 if phase == "saving" else 1) * statistics.median(disk)
    bound = max(step, waited_seconds) + writes + MARGIN_SECONDS
    holds = statistics.median(each.seconds for each in ours) <= bound
    why = f" (of it {waited_seconds:.1f} patience)" if waited_seconds else ""
    return (
        f"| {phase} | {megabytes} | {cell(ours)} | {bound:.2f}{why} | {'yes' if holds else 'no'} "
        f"| {cell(found['loop'])} |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 100, 800])
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=list(PHASES))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| phase | state, MB | Pitstop, s | bound, s | holds | PreemptionCheckpointHandler, s |")
    print("|---|---|---|---|---|---|")
    for phase in options.phases:
        for megabytes in options.megabytes:
            print(row(phase, megabytes, options.rounds), flush=True)


if __name__ == "__main__":
    main()
