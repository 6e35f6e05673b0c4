"""How long `pitstop diagnose` takes for a log of a gigabyte, and how much memory.

    python benchmarks/diagnose_log.py [--megabytes 1000] [--rounds 3]

Each log is a training's output, repeated to its size, with an error in it: lines, a progress bar
that only returns to the start of its line, JSON records of a container runtime, UTF-16, and an
error that noise has pushed out of the log's end.  The log is in the page cache; the time is that
of the processor, the start of Python included, since others may share the machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/user/train.py", line 30, in <module>\n    model.fit(data)\n'
    "OSError: [Errno 28] No space left on device: 'model.keras'\n"
)
_CAUSE = "disk_full"


@dataclass(frozen=True)
class Shape:
    """A kind of log: what it repeats, and how its last part is written."""

    name: str
    body: Callable[[int], str]
    end: Callable[[str], str]
    after: str = ""
    encoding: str = "utf-8"


def _line(number: int) -> str:
    return f"Epoch 1/9 step {number} - 12ms/step - loss: {1 / (number + 1):.6f} - lr: 0.001\n"


def _bar(number: int) -> str:
    return f"\r{number}/900000 [=====>.......] - ETA: 2:31 - loss: {1 / (number + 1):.6f}"


def _record(number: int) -> str:
    return json.dumps({"log": _line(number), "stream": "stdout", "time": "2026-01-02T03:04:05Z"})


def _records(text: str) -> str:
    return "".join(json.dumps({"log": f"{line}\n"}) + "\n" for line in text.splitlines())


_SHAPES = (
    Shape("lines", _line, str),
    Shape("one progress bar", _bar, lambda text: f"\n{text}"),
    Shape("JSON records", lambda number: f"{_record(number)}\n", _records),
    Shape("UTF-16", _line, str, encoding="utf-16-le"),
    Shape("error, then noise", lambda _: "W keepalive: peer does not answer\n", str, after="half"),
)


def write(shape: Shape, path: Path, size_bytes: int) -> None:
    """Writes a log of that shape and about that size."""
    chunk = "".join(shape.body(number) for number in range(10_000)).encode(shape.encoding)
    count = max(1, size_bytes // len(chunk))
    error = shape.end(_TRACEBACK).encode(shape.encoding)
    with path.open("wb") as file:
        for number in range(count):
            file.write(chunk)
            if shape.after and number == count // 2:
                file.write(error)
        if not shape.after:
            file.write(error)


def measure(path: Path) -> tuple[float, float, str]:
    """Seconds of processor time, peak memory in MB, and the cause that was found."""
    command = [str(Path(sys.executable).with_name("pitstop")), "diagnose", str(path), "--json"]
    start = _children_seconds()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = _children_seconds() - start
    return seconds, _peak_mb(command), str(json.loads(done.stdout)["cause"])


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _peak_mb(command: list[str]) -> float:
    """Of one more run: what is known of children is that of the largest so far."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=-3, check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    probe = [sys.executable, "-c", program, *command]
    return int(subprocess.check_output(probe, text=True)) / 1000


def rows(size_bytes: int, rounds: int) -> Iterator[tuple[str, float, float, str]]:
    """Of each shape its name, the median of seconds, MB, and the cause."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        for shape in _SHAPES:
            write(shape, path, size_bytes)
            measured = [measure(path) for _ in range(rounds)]
            seconds = statistics.median(each[0] for each in measured)
            yield shape.name, seconds, measured[-1][1], measured[-1][2]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| log | processor, s | peak memory, MB | cause found |\n|---|---|---|---|")
    for name, seconds, peak_mb, cause in rows(options.megabytes * 1_000_000, options.rounds):
        right = "yes" if cause == _CAUSE else f"no: {cause}"
        print(f"| {name} | {seconds:.2f} | {peak_mb:.0f} | {right} |", flush=True)


if __name__ == "__main__":
    main()
