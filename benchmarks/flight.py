"""What the flight recorder costs: processor time, memory and disk, at one sample a second.

A recorder watches a process that has loaded TensorFlow, with so many children, as data
workers are.  Counted is all processor time of the recorder's process, of all its threads.

    python benchmarks/flight.py [--seconds N] [--children N ...]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pitstop.flight.files import read_spaced
from pitstop.flight.sample import TRAINER
from pitstop.flight.sampler import FlightRecorder, ProcessRoles, Sampler
from pitstop.flight.tensorboard_writer import TensorBoardWriter
from pitstop.link.beacon import Beacon, Phase

WATCHED = """
import subprocess, sys
import tensorflow as tf
held = tf.random.normal((1 << 26,))
children = [
    subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    for _ in range(int(sys.argv[1]))
]
print("ready", flush=True)
input()
for child in children:
    child.kill()
"""


@dataclass(frozen=True)
class Cost:
    """What one recording took.

    Attributes:
        share: of one processor.
        grown_bytes: by how much the recorder's process grew.
        line_bytes: mean size of a sample on disk.
    """

    children: int
    samples: int
    share: float
    grown_bytes: int
    line_bytes: float


def peak_bytes() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(children: int, seconds: float) -> Cost:
    """Records a process with so many children for so long."""
    command = [sys.executable, "-c", WATCHED, str(children)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with (
        tempfile.TemporaryDirectory() as name,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        ) as watched,
    ):
        assert watched.stdout is not None
        watched.stdout.readline()
        folder, beacon = Path(name), Beacon.create()
        beacon.write_phase(Phase.TRAIN)
        places = {"run": folder, "tmp": Path("/tmp"), "shm": Path("/dev/shm")}
        sampler = Sampler(beacon, lambda: ProcessRoles({watched.pid: TRAINER}), places)
        recorder = FlightRecorder(folder, sampler, 1.0, TensorBoardWriter(1, 0.0, lambda: None))
        before_bytes, before_cpu, began = peak_bytes(), time.process_time(), time.monotonic()
        recorder.start()
        time.sleep(seconds)
        recorder.close()
        share = (time.process_time() - before_cpu) / (time.monotonic() - began)
        found = read_spaced(folder, sys.maxsize)
        size_bytes = (folder / "flight.0.a.jsonl").stat().st_size
        watched.communicate(b"\n")
    grown_bytes = peak_bytes() - before_bytes
    return Cost(children, len(found), share, grown_bytes, size_bytes / len(found))


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--children", type=int, nargs="+", default=[0, 4, 16, 64])
    options = parser.parse_args()
    print("| children | samples | share of one processor | memory, MB | bytes a sample |")
    print("|---|---|---|---|---|")
    for children in options.children:
        cost = measure(children, options.seconds)
        print(
            f"| {cost.children} | {cost.samples} | {cost.share:.2%} "
            f"| {cost.grown_bytes / 1e6:.1f} | {cost.line_bytes:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
