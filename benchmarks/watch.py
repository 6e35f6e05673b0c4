"""What a page that watches costs, and how soon it is there: runs of a million steps each.

Runs are written as their trainer and supervisor would have; one of them is held and grows, a
hundred steps and two samples a second, while a browser's connection listens to its page.
Counted is the processor time of the thread that makes the page.

With Chromium, the frames of the page of that run are counted while its curves change.

    python -m benchmarks.watch [--runs N] [--steps N] [--seconds N]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from pitstop.flight.files import FlightFiles
from pitstop.steps import FILE_NAME
from pitstop.store.run_folder import RunFolder
from pitstop.watch.followed_run import FollowedRun
from pitstop.watch.live_page import Pages, of_run
from pitstop.watch.server import PageServer
from tests.flight.samples import at
from tests.report.page.browser import COMMAND, Browser
from tests.watch.made_run import held, make_run, write_steps

_STEPS_A_SECOND = 100
_LATE_SECONDS = 0.025  # a frame of 1/60 s was left out
_COUNT_FRAMES = """
var frames = [];
(function count(time) { frames.push(time); requestAnimationFrame(count); })(performance.now());
"""


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


def growing(folder: RunFolder, steps: int, seconds: int) -> Iterator[None]:
    """Appends what a second brings, each time that it is asked."""
    files = FlightFiles(folder.attempt_dir(1))
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
        yield
    files.close()


def watched(folder: RunFolder, steps: int, seconds: int) -> tuple[float, int, int]:
    """The share of a processor that a page of a run that goes on takes, its updates and bytes."""
    page = of_run(FollowedRun(folder.path), "", can_control=True)
    page.html()
    seen = {part.id: part.version for part in page.changed({})}
    updates = sent = 0
    cost = 0.0
    for _ in growing(folder, steps, seconds):
        before = time.thread_time()
        page.refresh()
        cost += time.thread_time() - before
        for part in page.changed(seen):
            seen[part.id] = part.version
            updates += part.id == "curves"
            sent += len(part.html)
        time.sleep(1.0)
    return cost / seconds, updates, sent


def frames(root: Path, folder: RunFolder, steps: int, seconds: int) -> list[float]:
    """The seconds of each frame in a browser that shows the page of a run that goes on."""
    server = PageServer(root, "127.0.0.1", 0, frozenset())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with server, closing(Browser(root.parent / "profile")) as browser:
        browser.open(f"{server.link}&run={folder.path.name}", 1280, scheme="light")
        browser.value(_COUNT_FRAMES)
        for _ in growing(folder, steps, seconds):
            time.sleep(1.0)
        times = browser.value("frames")
        server.shutdown()
    return [(end - begin) / 1000 for begin, end in pairwise(times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root = Path(name) / "runs"
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
        if COMMAND is not None:
            with closing(held(folders[1])):
                found = sorted(frames(root, folders[1], given.steps, given.seconds))
            typical, late = found[len(found) // 2], sum(each > _LATE_SECONDS for each in found)
            print(f"frames: {1 / typical:.0f} a second, {late} of {len(found)} late, ", end="")
            print(f"the longest {found[-1] * 1000:.0f} ms")


if __name__ == "__main__":
    main()
