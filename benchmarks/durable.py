"""How fast checkpoints reach the disk and come back, beside plain writing and reading.

For each size, in turns: a plain write past the page cache with fsync (O_DIRECT, 8 MiB at a time)
and a plain read of the same bytes, against Pitstop's commit of a snapshot (read from shared memory,
checksums, manifest, fsync of files and folders, rename) and its verified loading.  What
is read was dropped from the page cache before.  Printed are medians, and the ratio of the
throughputs.

    python benchmarks/durable.py [--megabytes 8 80 800 4000] [--rounds N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pitstop.link.beacon import Beacon
from pitstop.snapshot.arena import Arena, plan_arena, write_slot
from pitstop.snapshot.loading import load
from pitstop.snapshot.saving import Saver
from pitstop.store.catalog import Catalog
from pitstop.store.image import TensorSpec, plan_image

PIECE_BYTES = 8 << 20
SETTLING_SECONDS = 1.0
TENSORS = 20
STATE = {
    "position": {
        "step": 1,
        "epoch": 0,
        "step_in_epoch": 1,
        "fit": 0,
        "milestone": "",
        "stage": "steps",
    },
    "level": {"level": "exact"},
    "versions": {},
}


class Specimen:
    """A snapshot of one size in an arena, and a folder for what is written of it."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self._folder = folder
        self.size_bytes = megabytes * 1_000_000 // PIECE_BYTES * PIECE_BYTES or PIECE_BYTES
        each = self.size_bytes // TENSORS // 4
        image = plan_image([TensorSpec(f"v{n:02}", "F32", (each,)) for n in range(TENSORS)])
        self._noise = np.random.default_rng(1).random(each, np.float32)
        tensors = [memoryview(self._noise.view(np.uint8).data)] * TENSORS
        state = json.dumps(STATE).encode()
        self._arena = Arena(plan_arena(image.size_bytes + len(state), 1 << 50, 0), folder)
        self._arena.prefault(lambda: False)
        self._snapshot = (image, tensors, state)
        self._beacon = Beacon.create()
        self._saver = Saver(self._checkpoints, self._beacon, attempt=1)
        self._saver.use_arena(os.dup(self._arena.fd))
        self._taken = 0
        self._buffer = memoryview(mmap.mmap(-1, PIECE_BYTES))
        self._buffer[:] = os.urandom(PIECE_BYTES)

    def take(self) -> None:
        """A new snapshot, as the trainer leaves it in shared memory."""
        self._taken += 1
        self._noise += 1  # Nothing is as it was, or it would not be written again.
        with self._arena.slot(0, self._taken) as slot:
            write_slot(slot, self._taken, 1, *self._snapshot)

    def write_plain(self) -> None:
        """As fast as the disk takes it."""
        fd = os.open(self._folder / "plain", os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        os.posix_fallocate(fd, 0, self.size_bytes)
        for _ in range(0, self.size_bytes, PIECE_BYTES):
            os.write(fd, self._buffer)
        os.fsync(fd)
        os.close(fd)

    def write_checkpoint(self) -> None:
        """The persister's work, from a slot of the arena to a committed checkpoint."""
        self._saver.save_newest("requested")

    def read_plain(self) -> None:
        """Every byte once, into one buffer."""
        fd = os.open(self._folder / "plain", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        while os.readv(fd, [self._buffer]):
            pass
        os.close(fd)

    def load_checkpoint(self) -> None:
        """The persister's work when a run is resumed: into memory, verified."""
        [entry, *_] = Catalog(self._checkpoints).entries()
        assert entry.manifest is not None
        load(entry.path, entry.manifest).close()

    def forget_files(self) -> None:
        """Drops what was written from the page cache."""
        os.sync()
        for path in (*self._folder.rglob("*.safetensors"), self._folder / "plain"):
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def clear(self) -> None:
        """Removes all that was written, and waits until the disk has forgotten it."""
        for path in self._checkpoints.iterdir():
            shutil.rmtree(path)
        (self._folder / "plain").unlink(missing_ok=True)
        # A file system may tell the disk of freed blocks, which slows what is written next.
        os.sync()
        time.sleep(SETTLING_SECONDS)

    def close(self) -> None:
        """Gives the memory back."""
        self._arena.close()

    @property
    def _checkpoints(self) -> Path:
        folder = self._folder / "checkpoints"
        folder.mkdir(exist_ok=True)
        return folder


def seconds_of(work: Callable[[], None]) -> float:
    """The time that a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(specimen: Specimen, rounds: int) -> dict[str, float]:
    """Median seconds by kind of work."""
    took: dict[str, list[float]] = {}
    for number in range(rounds):
        specimen.take()
        writes = [specimen.write_plain, specimen.write_checkpoint]
        reads = [specimen.read_plain, specimen.load_checkpoint]
        for work in writes if number % 2 else writes[::-1]:
            took.setdefault(work.__name__, []).append(seconds_of(work))
        time.sleep(SETTLING_SECONDS)
        specimen.forget_files()
        for work in reads if number % 2 else reads[::-1]:
            took.setdefault(work.__name__, []).append(seconds_of(work))
        specimen.clear()
    return {name: statistics.median(each) for name, each in took.items()}


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, nargs="+", default=[8, 80, 800, 4000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    options = parser.parse_args()
    print("| state | plain write | commit | ratio | plain read | load, verified | ratio |")
    print("|---|---|---|---|---|---|---|")
    for megabytes in options.megabytes:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            specimen = Specimen(Path(folder), megabytes)
            took = measure(specimen, options.rounds)
            specimen.close()
        rates = {name: specimen.size_bytes / each / 1e6 for name, each in took.items()}
        write = rates["write_checkpoint"] / rates["write_plain"]
        read = rates["load_checkpoint"] / rates["read_plain"]
        print(
            f"| {megabytes} MB | {rates['write_plain']:.0f} MB/s"
            f" | {rates['write_checkpoint']:.0f} MB/s | {write:.2f}"
            f" | {rates['read_plain']:.0f} MB/s"
            f" | {rates['load_checkpoint']:.0f} MB/s | {read:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
