"""What a page that watches costs, and how soon it is there: runs of a million steps each.

Runs are written as their trainer and supervisor would have; one of them is held and grows, a
hundred steps and two samples a second, while a browser's connection listens to its page.
Counted is the processor time of the thread that makes the page.

    python -m benchmarks.watch [--runs N] [--steps N] [--seconds N]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from pitstop.flight.files import FlightFiles
from pitstop.steps import FILE_NAME
from pitstop.store.run_folder import RunFolder
from pitstop.watch.followed_run import FollowedRun
from pitstop.watch.live_page import Pages, of_run
from tests.flight.samples import at
from tests.watch.made_run import held, make_run, write_steps

_STEPS_A_SECOND = 100


def peak_mb() -> float:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def first_paint(pages: Pages, name: str | None) -> tuple[float, int]:
    """Seconds until a page is there, and its size."""
    before = time.perf_counter()
    page = pages.page(name)
    assert page is not None
    size = len(page.html())
    return time.perf_counter() - before, size


def watched(folder: RunFolder, steps: int, seconds: int) -> tuple[float, int, int]:
    """The share of a processor that a page of a run that goes on takes, its updates and bytes."""
    page = of_run(FollowedRun(folder.path), "", can_control=True)
    page.html()
    seen = {part.id: part.version for part in page.changed({})}
    files = FlightFiles(folder.attempt_dir(1))
    updates = sent = 0
    cost = 0.0
    for second in range(seconds):
        for half in range(2):
            sample = at(1000 + 2 * second + half, training={"step": steps})
            files.append(replace(sample, time_seconds=time.time()))
        noise = np.random.default_rng(second).normal(0.3, 0.01, _STEPS_A_SECOND)
        write_steps(
            folder.attempt_dir(1) / FILE_NAME,
            noise,
            steps + 1,
            time.time() - steps - _STEPS_A_SECOND,
        )
        steps += _STEPS_A_SECOND
        before = time.thread_time()
        page.refresh()
        cost += time.thread_time() - before
        for part in page.changed(seen):
            seen[part.id] = part.version
            updates += part.id == "curves"
            sent += len(part.html)
        time.sleep(1.0)
    files.close()
    return cost / seconds, updates, sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folders = [
            make_run(root / f"run-{number:03}", steps=given.steps, start=time.time() - given.steps)
            for number in range(given.runs)
        ]
        pages = Pages(root, "token", can_control=True)
        for what, run in (("all runs", None), ("one run", "run-000"), ("another", "run-001")):
            seconds, size = first_paint(pages, run)
            print(f"{what}: {seconds:.2f} s, {size / 1000:.0f} kB, {peak_mb():.0f} MB at most")
        with closing(held(folders[0])):
            share, updates, sent = watched(folders[0], given.steps, given.seconds)
        print(f"watching: {share:.2%} of a processor, {updates} times new curves, ", end="")
        print(f"{sent / given.seconds / 1000:.1f} kB a second, {peak_mb():.0f} MB at most")


if __name__ == "__main__":
    main()
